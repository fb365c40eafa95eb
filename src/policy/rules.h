/* Decides about a call by the rows of `rules:` (artifact/rule.h). Needs no runtime: the pipeline and `harness guard` both use
 * it. The only file system access is to resolve links in the paths of the call. Thread-safe.
 *
 * First deny, then ask, then allow. A row that denies or asks applies if any simple command of a shell command, or any path,
 * matches; a part that is unknown before the command runs counts as a match. Rows that allow apply only if every simple command, or
 * every path, is matched by one of them; unknown parts never match. An allow answers ask rows of its own layer. */
#pragma once
#include "artifact/rule.h"

/* What the call does with a path. */
typedef enum RulesRole { RULES_READS, RULES_WRITES, RULES_EDITS, RULES_DELETES } RulesRole;
typedef struct RulesPath { Str path; RulesRole role; } RulesPath;      /* as the caller wrote it: absolute, or relative to `cwd` */

typedef struct RulesCall {
    Vendor vendor;                       /* VENDOR_HARNESS: our own call */
    Str tool;                            /* in our vocabulary: "bash", "mcp:SERVER:TOOL" */
    const Str *aliases;                  /* other names of the tool */
    size_t n_aliases;
    Str ambiguous;                       /* an additional name, matched only by rows that deny or ask; "": none */
    CallKind kind;
    Str command;                         /* CALL_SHELL: the shell text. at == NULL: unknown */
    const RulesPath *paths;              /* file kinds and CALL_SEARCH. None for such a kind: unknown */
    size_t n_paths;
    Str url;                             /* CALL_NET_FETCH. at == NULL: unknown */
    Str root;                            /* absolute: relative patterns apply below it */
    Str workspace;                       /* absolute: relative patterns apply below it, too; "": none */
    Str original, copy;                  /* absolute: `copy` is a copy of `original`, so rows that deny or ask apply to both names of a file; "": none */
    Str cwd;                             /* absolute: relative paths start there; "": root */
    Str home;                            /* absolute: what ~/ means; "": such patterns match nothing */
} RulesCall;

typedef struct RulesVerdict {
    RuleVerdict verdict;                 /* RULE_NONE: no row is about this call */
    const RuleDef *rule;                 /* the row that decided: its name, file, line and because; NULL: RULE_NONE */
    bool otherwise;                      /* decided by `otherwise`: no row of its set allows the call */
    const char *unknown;                 /* the unknown part that made the row match; NULL: none. In the arena */
    const RuleDef *answered;             /* RULE_ALLOW: the ask row that it answers; else NULL */
} RulesVerdict;

/* Never fails. `arena` holds the texts of the answer. The rows of one list are one layer. */
RulesVerdict rules_judge(const RuleRows *rules, const RulesCall *call, Arena *arena);
/* The stronger verdict of two layers; the first one if they are equal. */
RulesVerdict rules_stronger(RulesVerdict a, RulesVerdict b);
/* `rule "no-force-push" (harness.md:7): history is shared`, with `unknown` if set. */
void rules_explain(const RulesVerdict *v, Buf *out);

/* The role of a file kind. */
RulesRole rules_role(CallKind kind);
