/* A scanner for shell text, fed character by character, that knows at each point what a value put there would be.
 *
 * It reads the grammar that dash and bash share, and holds with both where they differ. Where it cannot be sure it sets
 * `unsure`, and from then on refuses every parameter: reading too little must never be unsafe. The state is plain data:
 * the branches of a block are scanned from copies of it, and equal states are merged. */
#pragma once
#include "template/ast.h"

typedef enum {
    SHELL_OK,
#define R(name, what, advice) SHELL_##name,
#include "template/refusals.def"
#undef R
    SHELL_REFUSALS
} ShellRefusal;

const char *shell_refusal_text(ShellRefusal why);
const char *shell_refusal_advice(ShellRefusal why);

typedef enum { SHELL_BARE, SHELL_SINGLE, SHELL_DOUBLE, SHELL_DOLLAR_SINGLE, SHELL_IN_COMMENT, SHELL_IN_HEREDOC } ShellQuote;

enum { SHELL_WORD_MAX = 64, SHELL_NEST_MAX = 8, SHELL_HEREDOCS_MAX = 2 };

/* The word being read. `text` is what it starts with, unquoted, as far as it is known. */
typedef struct ShellWord {
    const AstNode *only;                /* a parameter that may be absent or several words: nothing may join it */
    uint8_t n;
    char text[SHELL_WORD_MAX];
    bool on;                            /* inside a word */
    bool quoted;                        /* part of it is quoted */
    bool expands;                       /* has an expansion outside quotes: may become any number of words */
    bool dynamic;                       /* continues behind `text` with what is not known */
    bool param;                         /* has a parameter */
    bool special;                       /* has unquoted characters that can give plain ones a meaning */
    bool brace, brace_open;             /* has { or } other than {}; just read a { */
    bool equals;                        /* has an unquoted = */
    bool fresh;                         /* just a quote that was opened */
    bool closing;                       /* `only` still needs its closing quote */
} ShellWord;

typedef struct ShellProgram ShellProgram;                 /* programs.def */

/* Where in a command the next word stands. */
typedef enum {
    SHELL_AT_COMMAND, SHELL_AT_INNER, SHELL_AT_ARGS, SHELL_AT_FOR_NAME, SHELL_AT_FOR_IN, SHELL_AT_CASE_WORD, SHELL_AT_CASE_IN,
    SHELL_AT_PATTERN, SHELL_AT_CONDITION, SHELL_AT_FUNCTION, SHELL_AT_END,
} ShellPlace;
typedef enum { SHELL_TO_NOTHING, SHELL_TO_FILE, SHELL_TO_HEREDOC, SHELL_TO_HEREDOC_TABS, SHELL_TO_HERESTRING } ShellRedirect;

typedef struct ShellCommand {
    const ShellProgram *program;        /* whose arguments these are, if it is one with rules */
    uint8_t place, redirect, stage, operands;
    bool dashdash;                      /* a -- stands in front */
    bool guess;                         /* the program's name was an argument of another one */
    bool in_find;                       /* behind -exec */
    bool magic;                         /* perl -n: a file's name may be a command */
    bool code_next;                     /* sh -c was read: the first operand is code */
    bool no_args;                       /* nothing behind the program's name yet */
    bool maybe_code;                    /* the option before may take code, or be a flag */
    bool keeps;                         /* `set` and `for`: its arguments go into variables */
    bool has_code;                      /* an option gave the program its code */
    bool from_input;                    /* its code is standard input: sh -s, python3 - */
    bool by_input;                      /* behind xargs: standard input becomes arguments */
} ShellCommand;

typedef enum {
    SHELL_PAREN, SHELL_CASE, SHELL_IN_SUBSTITUTION, SHELL_IN_PROCESS, SHELL_IN_BACKTICK, SHELL_IN_EXPANSION, SHELL_IN_ARITHMETIC,
} ShellFrameKind;
typedef struct ShellFrame { ShellWord word; ShellCommand command; uint32_t opened; uint8_t kind, quote; uint16_t parens; } ShellFrame;

typedef struct ShellHeredoc { char text[SHELL_WORD_MAX]; uint8_t n; bool tabs, quoted; } ShellHeredoc;

typedef struct ShellState {
    ShellWord word;
    ShellCommand command;
    ShellFrame frame[SHELL_NEST_MAX];
    ShellHeredoc heredoc[SHELL_HEREDOCS_MAX];
    uint32_t opened;                    /* offset of the quote or bracket that is open */
    uint8_t depth, heredocs, quote;
    char pending;                       /* an operator that the next character may continue; see shell.c */
    bool escape;                        /* just read a backslash */
    bool in_name;                       /* inside $NAME */
    bool locale;                        /* inside $"…" */
    bool unsure;
    bool integer, assigned;             /* declare -i was read; a variable may hold what a parameter said */
    bool used;                          /* a parameter stood somewhere before */
    bool piped;                         /* and a pipe behind it: what follows may read it */
    bool flows;                         /* and a program there takes it as code */
    int16_t line;                       /* here-document: characters of the line that match its end, or -1 */
    bool line_escape;
    uint8_t lead;                       /* AstLead: what the text fed since the last shell_text_start means */
} ShellState;

void shell_start(ShellState *s);
void shell_text_start(ShellState *s);
ShellRefusal shell_feed(ShellState *s, char c, uint32_t at);      /* literal text; a refusal is about the parameter before */
void shell_settle(ShellState *s);                                 /* no character will continue the operator read last */
ShellRefusal shell_end(ShellState *s);                            /* the template ends here */

typedef struct ShellValue { const AstNode *node; bool maybe_absent, array, constrained; } ShellValue;
/* A parameter stands here: may it? Fills in how the renderer must quote it, for this state: flags only get stricter. */
ShellRefusal shell_value(ShellState *s, const ShellValue *v, AstNode *node);
void shell_raw(ShellState *s);

bool shell_same(const ShellState *a, const ShellState *b);
bool shell_same_quoting(const ShellState *a, const ShellState *b);

/* programs.c: what the words of a command mean to the program that gets them. */
void shell_program_start(ShellState *s, const ShellWord *w);      /* w is the program's name */
void shell_program_word(ShellState *s, const ShellWord *w);       /* w is a finished argument */
void shell_program_end(ShellState *s);                            /* the command is complete */
ShellRefusal shell_program_value(ShellState *s, const ShellValue *v, AstNode *node);
bool shell_variable_is_safe(Str name);                            /* may a parameter be its value? */
const char *shell_program_name(const ShellState *s);              /* "" when it has no rules */
bool shell_assignment(const ShellWord *w, Str *name);             /* does the word start with NAME= or NAME+=, literally? */
