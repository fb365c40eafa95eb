/* Opens a web page for the user at this terminal. */
#pragma once
#include "base/error.h"
#include "base/str.h"

/* Prints the address on stderr and starts a browser: $BROWSER (words; %s is replaced by the address, which is else
 * appended; no shell), else xdg-open if there is a display. Otherwise the user opens it. Does not wait. For
 * OAuthConfig.open; `ctx` is not used. */
bool browser_open(void *ctx, Str url, Error *err);
/* The same without the message; false: there is no browser. */
bool browser_start(Str url);
