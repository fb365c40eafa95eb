/* Inside the guard: what is known while a script is judged, and the pieces that judge it. */
#pragma once
#include "base/table.h"
#include "base/vec.h"
#include "tool/guard.h"
#include "tool/guard_ast.h"

/* A word as a program will get it. What is not known of it is a GUARD_HOLE in `text`. */
typedef struct GuardField {
    Str text;
    bool exact;                         /* no holes */
    bool splits;                        /* a hole outside quotes: may become any number of words */
    bool glob;                          /* has wildcards outside quotes */
    const GuardNode *process;           /* it is <( … ): the script */
} GuardField;
typedef struct GuardFields { GuardField *at; size_t n, cap; } GuardFields;

/* What a command reads. */
typedef enum { GUARD_INPUT_NONE, GUARD_INPUT_TEXT, GUARD_INPUT_UNKNOWN } GuardInputKind;
typedef struct GuardInput { GuardInputKind kind; Str text; bool exact; } GuardInput;

/* A script is judged twice. The first time nothing is guessed: a variable can be anything. The second time (`guess`)
 * variables have the values that the script gave them, functions run with their arguments, $(echo …) is its text; that
 * finds what is hidden behind them, and only makes the verdict worse. */
typedef struct Guard {
    Arena *arena;
    GuardVerdict verdict;
    Str reason;
    bool guess;
    unsigned only_worst;                /* > 0: what is looked at may not run as it is read: only GUARD_REFUSE counts */
    unsigned depth, calls;              /* nodes, and functions, that are being judged */
    size_t work;                        /* what may still be done; 0: give up, and say so */
    Table variables;                    /* name: GuardField *, when guessing */
    Table aliases;                      /* the same */
    Table functions;                    /* name: const GuardNode * */
    Table files;                        /* path: GuardField *, what the script wrote there, when guessing */
} Guard;

/* guard_judge.c */
void guard_judge_raise(Guard *j, GuardVerdict v, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
bool guard_judge_spend(Guard *j, size_t work);                       /* false: enough; the verdict says so */
void guard_judge_script(Guard *j, const GuardField *code, GuardInput in);   /* text that a shell will run */
void guard_judge_node(Guard *j, const GuardNode *node, GuardInput in);

/* guard_word.c */
void guard_word_expand(Guard *j, const GuardWord *w, GuardFields *out);     /* appends; braces and values may give many */
GuardField guard_word_one(Guard *j, const GuardWord *w);                    /* as one field: a target, a value */
void guard_word_split(Guard *j, Str text, GuardFields *out);                /* at white space */
GuardField guard_word_join(Guard *j, const GuardField *at, size_t n);       /* with spaces */
void guard_word_push(GuardFields *list, GuardField f);

/* guard_run.c: argv will run; `in` is its input. */
void guard_run_argv(Guard *j, const GuardField *argv, size_t n, GuardInput in);

/* guard_rules.c: what is destructive. Each looks at the arguments behind the name. */
typedef void GuardRule(Guard *j, const GuardField *args, size_t n);
GuardRule *guard_rules_find(Str name);                                           /* NULL: nothing special */
void guard_rules_target(Guard *j, const GuardField *path, const char *how); /* will be written to */

/* guard_git.c */
void guard_git(Guard *j, const GuardField *args, size_t n);

/* guard_code.c: text for an interpreter that is no shell. */
void guard_code_judge(Guard *j, Str language, const GuardField *code);

/* guard_text.c: commands as text: of programs (true: it is one of them), of variables, of git's and ssh's settings. */
bool guard_text_run(Guard *j, Str name, const GuardField *argv, size_t n, GuardInput in);
void guard_text_variable(Guard *j, Str name, Str value);
void guard_text_git_setting(Guard *j, Str name, Str value);
void guard_text_ssh_option(Guard *j, Str option);

/* guard_output.c: what a command prints, where that can be told. */
GuardInput guard_output_of(Guard *j, const GuardNode *node, GuardInput in);
void guard_run_hidden(Guard *j, Str text);                   /* guard_run.c: text that a shell may expand later */
void guard_run_note_file(Guard *j, const GuardField *path, Str text);   /* guard_run.c: the script writes that text to a file */
GuardInput guard_output_written(Guard *j, const GuardNode *node, GuardInput in);    /* guard_output.c: the same where it goes to a file */
