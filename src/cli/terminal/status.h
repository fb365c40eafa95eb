/* The line before a prompt: "claude-sonnet-4-5 · 12 % of context · $0.04". */
#pragma once
#include "agent/session.h"
#include "cli/cli.h"

typedef struct Status {
    Str model;                           /* unescaped */
    int64_t tokens, limit;               /* of the context; limit 0: not known, then the tokens are shown; both 0: nothing is */
    bool priced; double usd;
} Status;

Status status_of(Session *session);
void status_add(Buf *out, const Status *s);              /* the text, without a newline */
void status_show(const Cli *cli, const Status *s);       /* on standard error, dimmed, cut to the terminal's width */
