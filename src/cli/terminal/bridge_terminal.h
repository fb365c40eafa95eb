/* Notifications, dialogs and file pickers on the terminal. */
#pragma once
#include "tool/bridge/bridge.h"

/* For Person.bridge; `terminal` is a Terminal. */
bool bridge_terminal_show(void *terminal, const BridgeAsk *ask, BridgeAnswer *out, Cancel *cancel, Error *err);

/* What the user typed at a list of names: the names that it selects by number ("2", "1,3"), else those that it completes: that are equal to it, else
 * begin with it, else contain it. Writes at most `max` indexes and returns how many there are. *exact: by number, or one equal name. */
size_t bridge_terminal_select(const Str *names, size_t n, Str typed, size_t *at, size_t max, bool *exact);
