/* Lists the commands in a piece of shell text, without running anything.
 *
 * The text is parsed as bash reads it. Every simple command is listed: in lists, pipelines, compound commands, function
 * bodies, substitutions, and in shell text that is given inline: `sh -c TEXT`, `eval TEXT`, `trap TEXT`, a here-document or
 * here-string that a shell reads. A program that runs another one (sudo, env, xargs, find -exec ...; see wrappers.def) is
 * listed, and so is the command that it runs.
 *
 * Nothing is guessed. Values of variables, output of commands, contents of files, aliases and code in other languages are
 * not known; whatever depends on them is marked as not exact. Callers decide what that means: a rule that denies or asks
 * should count an unknown word as a match, a rule that allows should not. */
#pragma once
#include "base/arena.h"
#include "base/str.h"

enum {
    SHELL_TEXT_MAX = 1 << 18,           /* longer text is not parsed */
    SHELL_DEPTH_MAX = 64,               /* nesting of syntax, of inline text and of wrappers */
    SHELL_WORK_MAX = 1 << 22,           /* bytes of text that one call parses or builds, nested text included */
    SHELL_UNKNOWN = 1,                  /* in ShellWord.text: a part that exists only at run time */
};

typedef struct ShellWord {
    Str text;                           /* without quotes; a pattern is kept as it is written */
    bool exact;                         /* `text` is the word, byte for byte */
    bool splits;                        /* may become any number of words, also none */
    bool pattern;                       /* has an unquoted *, ? or [: may become file names */
    bool process;                       /* contains <(...) or >(...) */
    uint32_t from, to;                  /* its bytes in the text; for inline text, those of the word that holds it */
} ShellWord;

typedef struct ShellAssign {
    Str name;                           /* NAME=value in front of the command, or alone */
    ShellWord value;                    /* of an array: its items, joined with spaces and not exact */
    bool append;                        /* += */
} ShellAssign;

typedef enum {
    SHELL_READ,                         /* <  */
    SHELL_WRITE,                        /* > and >| */
    SHELL_APPEND,                       /* >> */
    SHELL_READ_WRITE,                   /* <> */
    SHELL_HEREDOC,                      /* << and <<-: `target` is the body */
    SHELL_HERESTRING,                   /* <<< */
    SHELL_DUPLICATE,                    /* >&2, <&3, >&-: `target` is the number or "-" */
} ShellRedirectKind;

/* `&> FILE` is listed as bash defines it: `> FILE` and `2>&1`. */
typedef struct ShellRedirect {
    ShellRedirectKind kind;
    int fd;                             /* -1: the shell chooses it, as in {name}>file */
    ShellWord target;
} ShellRedirect;

/* What a shell (or eval, trap, source, ssh ...) is given to run. */
typedef enum {
    SHELL_RUNS_NOTHING,                 /* this command runs no shell text */
    SHELL_RUNS_TEXT,                    /* all of it is known: its commands are listed behind this one */
    SHELL_RUNS_FILE,                    /* a script file, which is not read */
    SHELL_RUNS_UNKNOWN,                 /* not known, or only in part: the commands in the known part are listed */
} ShellRuns;

typedef struct ShellCommand {
    const ShellWord *words;             /* the program and its arguments. None: it only assigns or redirects, or the
                                         * redirections are those of a compound command, `{ ...; } > file` */
    const ShellAssign *assigns;
    const ShellRedirect *redirects;
    uint32_t words_n, assigns_n, redirects_n;
    Str program;                        /* the last part of the path in words[0]; "" when it is not known */
    bool exact;                         /* `program` is known, and these are its arguments */
    bool wrapper;                       /* runs another command, which is listed behind this one. Assignments and
                                         * redirections are listed with the wrapper only */
    bool background;                    /* it, or a command around it in the same function, ends with & */
    ShellRuns runs;
    uint32_t operand;                   /* index of the first word that is neither an option nor, where wrappers.def lists the
                                         * option, its value; words_n: none */
    uint32_t pipeline;                  /* number of its pipeline */
    uint32_t stage, stages;             /* place in it from 0, and its length. A command that is alone in its pipeline has
                                         * those of the compound command around it: in `(a) | b`, a is stage 0 of 2 */
    uint32_t depth;                     /* levels of substitution and of inline text around it */
    uint32_t loop;                      /* number of the endless loop around it (while true, until false, for ((;;))), or 0 */
    Str function;                       /* name of the function whose body it is in, or ""; "?": the name is not literal */
    uint32_t from, to;                  /* its bytes in the text; for inline text, those of the word that holds it */
} ShellCommand;

typedef struct ShellCommands {
    const ShellCommand *at;             /* in the order of the text; commands inside of one follow it */
    size_t n;
    bool exact;                         /* every command that the text can run is listed, with a known program */
    const char *problem;                /* why the text could not be read to its end, or not with certainty; NULL: it was */
} ShellCommands;

/* Total: any bytes give a result, in time and memory linear in the text up to the limits above. Text that is malformed, too
 * long, too deep or too complex has a `problem`, is not exact, and lists the commands up to there. The result lives in
 * `arena` and points into it, never into `text`. */
ShellCommands shell_commands(Str text, Arena *arena);

/* The word as one argument: `text` equals `literal` and is exact. */
bool shell_word_is(const ShellWord *w, const char *literal);
