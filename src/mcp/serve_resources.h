/* Resources, for the other files of the server. */
#pragma once
#include "mcp/serve.h"
#include "value/list.h"

#define SERVE_ARTIFACT "artifact://"
#define SERVE_ARTIFACTS SERVE_ARTIFACT "{run}/{key}"     /* what a cut result links to */

Str serve_resources_type(Str name);       /* by how it ends; empty: not known */
bool serve_resources_known(Runtime *rt, Str uri);             /* of the project, or a listed file: what can be subscribed to */
/* Appends what is in it, in the form of resources/read; fails with q->code and q->data set when there is none of that URI. */
bool serve_resources_contents(McpRequest *q, Str uri, List *out, Error *err);
bool serve_resources_missing(McpRequest *q, Str uri, Error *err);         /* the error; always false */
