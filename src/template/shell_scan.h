/* A scanner for shell text, fed one character at a time. At each point it knows how a value inserted there would be
 * read.
 *
 * It reads the grammar common to dash and bash, and follows both where they differ. Where it is not sure, it sets
 * `unsure` and rejects all further parameters, so that incomplete parsing is never unsafe. The state is plain data: the
 * branches of a block are scanned from copies of it, and equal states are merged. */
#pragma once
#include "template/ast.h"

typedef enum {
    SHELL_OK,
#define R(name, what, advice) SHELL_##name,
#include "template/refusals.def"
#undef R
    SHELL_REFUSALS
} ShellRefusal;

const char *shell_scan_refusal_text(ShellRefusal why);
const char *shell_scan_refusal_advice(ShellRefusal why);

typedef enum { SHELL_BARE, SHELL_SINGLE, SHELL_DOUBLE, SHELL_DOLLAR_SINGLE, SHELL_IN_COMMENT, SHELL_IN_HEREDOC } ShellQuote;

enum { SHELL_WORD_MAX = 64, SHELL_NEST_MAX = 8, SHELL_HEREDOCS_MAX = 2 };

/* The current word. `text` is its known literal beginning, unquoted. */
typedef struct ShellWord {
    const AstNode *only;                /* a parameter that may be absent or several words: the word must contain nothing else */
    uint8_t n;
    char text[SHELL_WORD_MAX];
    bool on;                            /* inside a word */
    bool quoted;                        /* part of it is quoted */
    bool expands;                       /* has an unquoted expansion: may become any number of words */
    bool dynamic;                       /* has an unknown part after `text` */
    bool param;                         /* has a parameter */
    bool special;                       /* has unquoted characters that can change the meaning of plain ones */
    bool brace, brace_open;             /* has { or } other than {}; just read a { */
    bool equals;                        /* has an unquoted = */
    bool fresh;                         /* only an opening quote so far */
    bool closing;                       /* `only` still needs its closing quote */
} ShellWord;

typedef struct ShellProgram ShellProgram;                 /* programs.def */

/* Role of the next word in a command. */
typedef enum {
    SHELL_AT_COMMAND, SHELL_AT_INNER, SHELL_AT_ARGS, SHELL_AT_FOR_NAME, SHELL_AT_FOR_IN, SHELL_AT_CASE_WORD, SHELL_AT_CASE_IN,
    SHELL_AT_PATTERN, SHELL_AT_CONDITION, SHELL_AT_FUNCTION, SHELL_AT_END,
} ShellPlace;
typedef enum { SHELL_TO_NOTHING, SHELL_TO_FILE, SHELL_TO_HEREDOC, SHELL_TO_HEREDOC_TABS, SHELL_TO_HERESTRING } ShellRedirect;

typedef struct ShellCommand {
    const ShellProgram *program;        /* the program, if it has rules */
    uint8_t place, redirect, stage, operands;
    bool dashdash;                      /* a -- came before */
    bool guess;                         /* the program's name was an argument of another program */
    bool in_find;                       /* after -exec */
    bool magic;                         /* perl -n: a file name may be a command */
    bool code_next;                     /* after sh -c: the first operand is code */
    bool no_args;                       /* no word after the program's name yet */
    bool maybe_code;                    /* the previous option may take code, or be a flag */
    bool keeps;                         /* `set` and `for`: arguments are stored in variables */
    bool has_code;                      /* an option supplied the program's code */
    bool from_input;                    /* its code comes from standard input: sh -s, python3 - */
    bool by_input;                      /* after xargs: standard input becomes arguments */
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
    uint32_t opened;                    /* offset of the open quote or bracket */
    uint8_t depth, heredocs, quote;
    char pending;                       /* an operator that the next character may continue; see shell_scan.c */
    bool escape;                        /* the last character was a backslash */
    bool in_name;                       /* inside $NAME */
    bool locale;                        /* inside $"…" */
    bool unsure;
    bool integer, assigned;             /* declare -i was read; a variable may hold a parameter's value */
    bool used;                          /* a parameter occurred before */
    bool piped;                         /* and a pipe after it: later programs may read it */
    bool flows;                         /* and one of them takes it as code */
    int16_t line;                       /* here-document: number of characters of the line that match its end, or -1 */
    bool line_escape;
    uint8_t lead;                       /* AstLead: effect of the text fed since the last shell_scan_text_start */
} ShellState;

void shell_scan_start(ShellState *s);
void shell_scan_text_start(ShellState *s);
ShellRefusal shell_scan_feed(ShellState *s, char c, uint32_t at);      /* literal text; an error is about the parameter before it */
void shell_scan_settle(ShellState *s);                                 /* completes the last operator: no character continues it */
ShellRefusal shell_scan_end(ShellState *s);                            /* end of the template */

typedef struct ShellValue { const AstNode *node; bool maybe_absent, array, constrained; } ShellValue;
/* Checks whether a parameter is allowed here. Sets how the renderer must quote it in this state: flags only get
 * stricter. */
ShellRefusal shell_scan_value(ShellState *s, const ShellValue *v, AstNode *node);
void shell_scan_raw(ShellState *s);

bool shell_scan_same(const ShellState *a, const ShellState *b);
bool shell_scan_same_quoting(const ShellState *a, const ShellState *b);

/* programs.c: how programs interpret the words of a command. */
void shell_scan_program_start(ShellState *s, const ShellWord *w);      /* w is the program's name */
void shell_scan_program_word(ShellState *s, const ShellWord *w);       /* w is a complete argument */
void shell_scan_program_end(ShellState *s);                            /* the command is complete */
ShellRefusal shell_scan_program_value(ShellState *s, const ShellValue *v, AstNode *node);
bool shell_scan_variable_is_safe(Str name);                            /* true if a parameter may be its value */
const char *shell_scan_program_name(const ShellState *s);              /* "" if it has no rules */
bool shell_scan_assignment(const ShellWord *w, Str *name);             /* true if the word starts with a literal NAME= or NAME+= */
