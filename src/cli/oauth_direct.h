/* Tokens for a server named by URL on the command line. They are stored with the state of the current folder, like
 * those of a project's servers; the store is opened only when there is something to store. */
#pragma once
#include "cli/cli.h"
#include "mcp/oauth/oauth.h"

typedef struct OAuthDirect { OAuth *oauth; Store *store; Rules *rules; Buf path; bool ephemeral; } OAuthDirect;    /* zero-initialise, close at the end */

/* --oauth JSON or --oauth FILE. Values live in `heap`. `d` must not be moved. */
bool oauth_direct_open(OAuthDirect *d, const Cli *cli, Str url, Client *http, Heap *heap, Error *err);
void oauth_direct_close(OAuthDirect *d);
