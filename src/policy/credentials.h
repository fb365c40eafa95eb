/* Literal credentials in configuration files: names that indicate one, and where credentials are in a text. */
#pragma once
#include "base/str.h"

/* True if the last word of the name of a header, variable, parameter or option means a credential ("X-Api-Key", "GITHUB_TOKEN", "access_token"). */
bool credentials_name(Str name);

/* Calls `add` for each: user and password of a URL ("https://USER:PASSWORD@host"), parameters of a URL ("?token=VALUE"), options
  * ("--api-key=VALUE", "--token VALUE"), variables ("GITHUB_TOKEN=VALUE") and headers ("Bearer VALUE") whose names
  * indicate one. References to variables ("${NAME}") are not credentials. */
void credentials_find(Str text, void (*add)(void *ctx, Str value), void *ctx);
/* Replaces each by [redacted]. JSON stays JSON. */
void credentials_mask(Buf *text);
/* The same for compact JSON of a map or of arguments, where keys and options are the names: {"X-Api-Key":"VALUE"}, ["--token","VALUE"]. */
void credentials_mask_json(Buf *json);
