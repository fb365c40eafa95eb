/* A conversation in the terminal, and what is shown while an agent works. */
#pragma once
#include "agent/session.h"
#include "cli/cli.h"

/* Does the answer appear piece by piece while it is made? (Standard output is a terminal, and not --json.) */
bool talk_streams(const Cli *cli);
/* Shows text as it comes, tool lines and retries on a terminal; nothing elsewhere. */
SessionWatch talk_watch(Cli *cli);
/* Until the person leaves. Exit status. `first`: what is said first; NULL: nothing. */
int talk(Cli *cli, Session *s, const char *first);
