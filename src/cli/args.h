/* Parses the command line by the command table. Global flags may come before or after the command. Accepts "--flag
 * value", "--flag=value", "-C dir" and "-Cdir"; "--" ends the flags. */
#pragma once
#include "base/error.h"
#include "cli/command.h"

typedef struct { const Flag *flag; const char *value; } ArgsFlag;     /* value is NULL for a flag without a value */

typedef struct Args {
    const Command *command;      /* NULL: none given */
    const char *group;           /* the first word of a two-word command whose second is missing */
    ArgsFlag *flags;             /* as given, in order */
    const char **operands;
    size_t n_flags, n_operands;
} Args;

/* Everything in `out` points into argv, or is freed by args_clear, which may be called after a failure too. Does not
 * check the number of operands: see args_check. */
bool args_parse(int argc, char **argv, Args *out, Error *err);
bool args_check(const Args *a, Error *err);            /* checks the number of operands and their allowed values */
void args_clear(Args *a);

bool args_has(const Args *a, const char *name);        /* by long name */
const char *args_value(const Args *a, const char *name); /* of the last one given; NULL: not given */
