/* Notifications, dialogs and file pickers on the terminal. */
#pragma once
#include "tool/bridge/bridge.h"

/* For Person.bridge; `terminal` is a Terminal. */
bool bridge_terminal_show(void *terminal, const BridgeAsk *ask, BridgeAnswer *out, Cancel *cancel, Error *err);
