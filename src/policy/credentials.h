/* Credentials that are written literally into configuration files: which names say that a value is one, and where a text holds one. */
#pragma once
#include "base/str.h"

/* Does the last word of the name of a header, variable, parameter or option say so ("X-Api-Key", "GITHUB_TOKEN", "access_token")? */
bool credentials_name(Str name);

/* Calls `add` for each: user and password of a URL ("https://USER:PASSWORD@host"), parameters of a URL ("?token=VALUE") and options
 * ("--api-key=VALUE") whose names say so. References to variables ("${NAME}") are none. */
void credentials_find(Str text, void (*add)(void *ctx, Str value), void *ctx);
/* Replaces each by [redacted]. JSON stays JSON. */
void credentials_mask(Buf *text);
/* The same for compact JSON of a map or of arguments, where names tell more: {"X-Api-Key":"VALUE"}, ["--token","VALUE"]. */
void credentials_mask_json(Buf *json);
