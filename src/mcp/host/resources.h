/* Resources, for the server's other files. */
#pragma once
#include "mcp/host/serve.h"
#include "value/list.h"

#define SERVE_ARTIFACT "artifact://"
#define SERVE_ARTIFACTS SERVE_ARTIFACT "{run}/{key}"     /* link of a cut result */

Str serve_resources_type(Str name);       /* by its extension; empty: unknown */
bool serve_resources_known(Runtime *rt, Str uri);             /* of the project, or a listed file: can be subscribed
                                                               * to */
/* Appends the content, in the form of resources/read; fails with q->code and q->data set when the URI is unknown. */
bool serve_resources_contents(McpRequest *q, Str uri, List *out, Error *err);
bool serve_resources_missing(McpRequest *q, Str uri, Error *err);         /* the error; always false */
