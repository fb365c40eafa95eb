/* Lists the commands in shell text, without running anything.
 *
 * The text is parsed as bash would. Every simple command is listed: in lists, pipelines, compound commands, function
 * bodies, substitutions, and in inline shell text: `sh -c TEXT`, `eval TEXT`, `trap TEXT`, a here-document or
 * here-string read by a shell. A program that runs another one (sudo, env, xargs, find -exec ...; see wrappers.def) is
 * listed, and so is the command that it runs.
 *
 * Nothing is guessed. Values of variables, output of commands, contents of files, aliases and code in other languages
 * are unknown; whatever depends on them is marked as not exact. Callers decide what that means: a rule that denies or
 * asks should treat an unknown word as a match, a rule that allows should not. */
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
    Str text;                           /* without quotes; a pattern is unexpanded */
    bool exact;                         /* `text` is the word, byte for byte */
    bool splits;                        /* may expand to any number of words, including none */
    bool pattern;                       /* has an unquoted *, ? or [: may expand to file names */
    bool process;                       /* contains <(...) or >(...) */
    uint32_t from, to;                  /* its position in the text; for inline text, that of the word that contains
                                         * it */
} ShellWord;

typedef struct ShellAssign {
    Str name;                           /* NAME=value before the command, or alone */
    ShellWord value;                    /* for an array: its items, joined with spaces and not exact */
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

/* The shell text that a shell (or eval, trap, source, ssh ...) runs. */
typedef enum {
    SHELL_RUNS_NOTHING,                 /* none */
    SHELL_RUNS_TEXT,                    /* known: its commands are listed after this one */
    SHELL_RUNS_FILE,                    /* a script file, which is not read */
    SHELL_RUNS_UNKNOWN,                 /* unknown, or only partly known: the commands in the known part are listed */
} ShellRuns;

typedef struct ShellCommand {
    const ShellWord *words;             /* the program and its arguments. None: only assignments or redirections, or
                                         * those of a compound command, `{ ...; } > file` */
    const ShellAssign *assigns;
    const ShellRedirect *redirects;
    uint32_t words_n, assigns_n, redirects_n;
    Str program;                        /* the last part of the path in words[0]; "" if unknown */
    bool exact;                         /* `program` is known, and these are its arguments */
    bool wrapper;                       /* runs another command, which is listed after this one. Assignments and
                                         * redirections are listed with the wrapper only */
    bool background;                    /* it, or an enclosing command in the same function, ends with & */
    ShellRuns runs;
    uint32_t operand;                   /* index of the first word that is neither an option nor, if wrappers.def lists
                                         * the option, its value; words_n: none */
    uint32_t pipeline;                  /* number of its pipeline */
    uint32_t stage, stages;             /* index in it from 0, and its length. A command alone in its pipeline has those
                                         * of the enclosing compound command: in `(a) | b`, a is stage 0 of 2 */
    uint32_t depth;                     /* enclosing levels of substitution and inline text */
    uint32_t loop;                      /* number of the enclosing endless loop (while true, until false, for ((;;))),
                                         * or 0 */
    Str function;                       /* name of the enclosing function, or ""; "?": the name is not literal */
    uint32_t from, to;                  /* its position in the text; for inline text, that of the word that contains
                                         * it */
} ShellCommand;

typedef struct ShellCommands {
    const ShellCommand *at;             /* in the order of the text; nested commands follow the outer one */
    size_t n;
    bool exact;                         /* every command that the text can run is listed, with a known program */
    const char *problem;                /* why the text could not be parsed to its end, or not unambiguously; NULL if it
                                         * was */
} ShellCommands;

/* Accepts any bytes, in time and memory linear in the text up to the limits above. Malformed, too long, too deep or too
 * complex text has a `problem`, is not exact, and lists the commands up to that point. The result lives in `arena` and
 * does not refer to `text`. */
ShellCommands shell_commands(Str text, Arena *arena);

/* The word as one argument: `text` equals `literal` and is exact. */
bool shell_word_is(const ShellWord *w, const char *literal);
