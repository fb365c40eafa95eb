/* Asks the user whether to trust a project. */
#pragma once
#include "cli/terminal/confirm_terminal.h"

RuntimeAskTrust trust_prompt_ask;                  /* ctx is a Terminal */
MarkAsk trust_prompt_changed;                      /* ctx is a Terminal */
/* The text shown before the decision: what the project asks for, and what changed. Escaped for a terminal. */
void trust_prompt_screen(const TrustSubject *s, TrustState state, Buf *out);
/* Opens a project for inspection: without trust, without a store, and without restricting this process. NULL with *err;
 * an invalid project is reported, and *err says so. */
Runtime *trust_prompt_read(Cli *cli, const char *dir, Error *err);
bool trust_prompt_trusted(const Runtime *rt, bool *out, Error *err);   /* by the record, or by HARNESS_TRUST */
/* Without a terminal: prints what the project of this folder asks for to standard error. */
void trust_prompt_explain(Cli *cli);
