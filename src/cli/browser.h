/* Sends the person at this terminal to a web page. */
#pragma once
#include "base/error.h"
#include "base/str.h"

/* Says the address on stderr and starts a browser with it: $BROWSER (words; %s or the end is where the address goes; no shell), else xdg-open
 * where there is a display. Without one the person opens it. Does not wait. For OAuthConfig.open; `ctx` is not used. */
bool browser_open(void *ctx, Str url, Error *err);
