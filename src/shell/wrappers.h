/* The table of programs that run other commands: wrappers.def. */
#pragma once
#include "base/str.h"

typedef enum {
    WRAPPER_WRAPPER, WRAPPER_SHELL, WRAPPER_JOIN, WRAPPER_TEXT, WRAPPER_TEXT_OR_COMMAND, WRAPPER_STDIN, WRAPPER_XARGS, WRAPPER_PARALLEL,
    WRAPPER_FIND, WRAPPER_SUBCOMMAND,
} WrapperKind;

typedef struct Wrapper { const char *name; WrapperKind kind; uint8_t operands; const char *values, *text, *code; } Wrapper;

const Wrapper *wrappers_find(Str program);                          /* by base name; NULL: none */
const Wrapper *wrappers_find_sub(const Wrapper *w, Str operand);    /* row of "NAME OPERAND", else of "NAME *", else
                                                                     * NULL */
bool wrappers_reads_text(const Wrapper *w);                         /* runs its standard input when it has no command */

/* What an option word means. */
typedef enum { WRAPPER_FLAG, WRAPPER_VALUE, WRAPPER_TEXT_VALUE } WrapperOption;
/* inside: where the value starts in the word; 0: the next word is the value. Flags have none. */
WrapperOption wrappers_option(const Wrapper *w, Str word, size_t *inside);
