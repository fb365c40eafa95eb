/* Private to rules_judge(): how a row matches shell commands and paths.
 *
 * "may": the row matches for some value of the unknown parts; for rows that deny or ask. "must": it matches whatever
 * the unknown parts are; for rows that allow. */
#pragma once
#include "base/glob.h"
#include "policy/rules.h"
#include "shell/shell.h"

typedef enum { RULES_NO, RULES_MAYBE /* something is unknown */, RULES_YES } RulesMatch;

/* rules_word.c. `*` in a pattern is any text, `?` any character. */
bool rules_word_may(Str pattern, Str text, bool glob);      /* `text` has SHELL_UNKNOWN; glob: *, ? and [...] in it are unknown too */

/* rules_shell.c */
RulesMatch rules_shell_may(const StrList *pattern, const ShellCommands *list, const char **unknown, Arena *arena);
bool rules_shell_must(const StrList *pattern, const ShellCommand *c);
/* True if an allow row need not name the command, because it only starts the next one, unchanged. */
bool rules_shell_passes(const ShellCommand *c);
/* True if no allow row can cover the command, because it has effects beyond its words: assignments, written files, unknown words. */
bool rules_shell_hides(const ShellCommand *c);

/* rules_path.c: the spellings of a path, absolute; all of them name the same file. */
typedef struct RulesSpelling { Str lexical, real, tilde; Str original; } RulesSpelling;    /* tilde: "" unless the path starts with ~/; original: the
                                                                                           * name in RulesCall.original of a file in its copy; else "" */
enum { RULES_ROOTS_MAX = 4 };
typedef struct RulesRoots { Str at[RULES_ROOTS_MAX]; size_t n; Str home; } RulesRoots;      /* of the root and the workspace, both spellings */
RulesRoots rules_path_roots(const RulesCall *call, Arena *arena);
RulesSpelling rules_path_spell(const RulesCall *call, Str path, Arena *arena);
bool rules_path_may(const RulePath *p, const RulesRoots *roots, const RulesSpelling *s, Arena *arena);
/* folder: every path below it must match, too. */
bool rules_path_must(const RulePath *p, const RulesRoots *roots, Str spelling, bool folder, Arena *arena);
