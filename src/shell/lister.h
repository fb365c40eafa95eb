/* Private to shell_commands(): the list being built, and the state at the current position. */
#pragma once
#include "shell/words.h"

/* What a command reads from its standard input. */
typedef enum { LISTER_INPUT_NONE, LISTER_INPUT_TEXT, LISTER_INPUT_UNKNOWN } ListerInputKind;
typedef struct ListerInput { ListerInputKind kind; ShellWord text; } ListerInput;

typedef struct ListerPlace {
    ListerInput in;
    Str function;
    uint32_t pipeline, stage, stages, depth, loop;
    bool background;
    unsigned level;                     /* total nesting: bounds the recursion */
} ListerPlace;

typedef struct Lister {
    Arena *arena;
    VEC(ShellCommand) list;
    size_t work;
    uint32_t pipelines, loops;
    const char *problem;
} Lister;

/* commands.c */
void lister_problem(Lister *l, const char *why);                /* only the first one is kept */
bool lister_spend(Lister *l, size_t work);                      /* false: too complex, which is recorded as the
                                                                 * problem */
/* Adds a command and returns its index. `certain`: these are its words, however the words before them expand. */
size_t lister_add(Lister *l, const ShellWord *words, size_t n, bool certain, const ListerPlace *p);
/* Shell text that the command at `index` runs. */
void lister_text(Lister *l, size_t index, const ShellWord *text, const ListerPlace *p);

/* unwrap.c: lists the command that the one at `index` runs, recursively. */
void lister_unwrap(Lister *l, size_t index, const ListerPlace *p);
