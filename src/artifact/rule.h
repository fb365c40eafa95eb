/* `rules:` of harness.md, bundles and guard.md: policy as rows. This header reads and checks them; policy/rules.h applies
 * them. A rule that cannot match, an unknown key or a wrong value stops the load. */
#pragma once
#include "artifact/call_kind.h"
#include "artifact/field.h"
typedef struct Glob Glob;                /* base/glob.h */

typedef enum RuleVerdict { RULE_NONE, RULE_ALLOW, RULE_ASK, RULE_DENY } RuleVerdict;       /* in order of strength */
const char *rule_verdict_name(RuleVerdict v);            /* "none", "allow", "ask", "deny" */

/* A path pattern. Relative ones apply below the root; `**` at the start also matches outside of it. */
typedef struct RulePath {
    Str text;                    /* as written */
    const Glob *glob, *folded;   /* folded: in lower case, for rows that deny or ask */
    bool absolute, home;         /* starts with /, with ~/ */
} RulePath;

typedef struct RuleDef {
    Str name, because;           /* because: may be empty */
    Str file;                    /* where it is written */
    uint32_t line;
    RuleVerdict decide;
    RuleVerdict otherwise;       /* RULE_NONE: not given */
    uint32_t vendors;            /* VENDOR_BITs; 0: all */
    uint32_t kinds;              /* CALL_KIND_BITs of the calls that it can match; 0: all */
    StrList tools;               /* globs over names of tools; empty: all */
    const Place *tool_places;
    StrList shell;               /* the program and the words that its command must have; empty: none needed */
    const char *path_key;        /* "file", "file.write" …; NULL: no paths */
    RulePath *paths;
    size_t n_paths;
    StrList hosts, urls;
    bool pulled;                 /* from an artifact source: its allow answers only asks of such rules */
} RuleDef;
typedef struct RuleRows { RuleDef *at; size_t n, cap; } RuleRows;      /* for VEC_PUSH; the texts live in the arena and the heap of the context */

/* Reads the list `rules` (the value of the key `rules` of d->root, or of another map) and appends to *out. `path` is the prefix
 * of messages: "rules". False: problems were reported. A name that occurs twice in *out is one. Does not need a project, and does not
 * look up names of tools. */
bool rule_rows_read(DocumentContext *c, const Document *d, Value rules, const char *path, bool pulled, RuleRows *out);
/* For `tool` of a rule about other agents: a hint if it matches no name of calls (call_tools.def) but resembles one, such as Bash; else empty.
 * Other names are allowed, because agents have tools of their own. */
Str rule_near_call(Arena *arena, Str tool);
void rule_rows_clear(RuleRows *l);

/* The CALL_KIND_BITs of a path key: "file.write" covers writing, editing and deleting. */
uint32_t rule_path_kinds(const char *path_key);
/* One line: `shell: [git, push, "--force*"]`; what the rule matches, for listings. */
void rule_describe(const RuleDef *r, Buf *out);
