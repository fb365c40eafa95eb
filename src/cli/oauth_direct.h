/* Tokens for a server that the command line names by its URL. They are kept with the state of the folder where harness runs, like those of a
 * project's servers; nothing is opened or made before there is something to keep. */
#pragma once
#include "cli/cli.h"
#include "mcp/oauth.h"

typedef struct OAuthDirect { OAuth *oauth; Store *store; Rules *rules; Buf path; bool ephemeral; } OAuthDirect;    /* zero-initialise, close at the end */

/* --oauth JSON or --oauth FILE. Values live in `heap`. `d` must stay where it is. */
bool oauth_direct_open(OAuthDirect *d, const Cli *cli, Str url, Client *http, Heap *heap, Error *err);
void oauth_direct_close(OAuthDirect *d);
