/* The parts of protect_shell.c: which program does what to its operands, and where a copy goes. */
#pragma once
#include "base/vec.h"
#include "guard/protect.h"
#include "shell/shell.h"

typedef enum Effect {
    EFFECT_UNKNOWN, EFFECT_READS, EFFECT_WRITES, EFFECT_WRITES_TREE, EFFECT_COPIES, EFFECT_MOVES, EFFECT_LINKS, EFFECT_CODE, EFFECT_FETCHES, EFFECT_UNPACKS,
} Effect;

typedef struct Judge {
    const GuardProtect *p;
    Str text;                            /* of the whole command */
    VEC(Str) folders;                    /* where relative words may start: the working folder, and where a cd leads */
    bool lost;                           /* a cd to an unknown place */
    GuardVerdict verdict;
    Buf *why;
} Judge;

/* ---- protect_programs.c ---- */

Effect judge_effect(const ShellCommand *c);
/* True if a word of the command may be one of these options, separated by blanks: "-o" also in a bundle, "--output" also abbreviated or with
 * a value, "-delete" as it is; "-fprint*" is a prefix. */
bool judge_has_option(const ShellCommand *c, const char *options);
/* The value of the option at words[i], in the same word or the next one (*used is then 2); false if it is another option. */
bool judge_option_value(const ShellCommand *c, uint32_t i, char letter, const char *name, ShellWord *value, uint32_t *used);
static inline bool judge_is_option(const ShellWord *w) { return w->text.n > 1 && w->text.at[0] == '-'; }

/* ---- protect_copy.c ---- */

/* cp, mv, install, ln, rsync, scp: the target, and the entries of it with the names of the sources. */
void judge_copy(Judge *j, const ShellCommand *c, Effect effect);
Str judge_last_part(Str path);                          /* the last name of a path */
/* find -delete: what it may remove. */
void judge_find(Judge *j, const ShellCommand *c);

/* ---- protect_shell.c ---- */

/* Decides if the word names a protected file, or is unknown. */
void judge_operand(Judge *j, const ShellWord *written, Effect effect);
void judge_unknown(Judge *j, Str word);                  /* asks: which file it writes is known only when it runs */
ShellWord judge_with_home(const Judge *j, const ShellWord *w);       /* with ~ as the home folder */
/* The name of a protected file, whether it exists or not, for each one that rows list: calls `each` with its absolute path until that is true. */
typedef bool JudgeEach(void *ctx, Str path);
bool judge_each_name(const Judge *j, JudgeEach *each, void *ctx);
bool judge_below(Str path, Str folder);
/* Part by part; the shorter one may be a folder above the other. */
bool judge_parts_match(const Judge *j, Str pattern, Str name);
