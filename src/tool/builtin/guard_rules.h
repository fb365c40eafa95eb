/* Private to the guard: the verdict so far, and rules that do not fit a row of guard.def. */
#pragma once
#include "shell/shell.h"
#include "tool/builtin/guard.h"

typedef struct Guard { Arena *arena; GuardVerdict verdict; Str reason; } Guard;

/* guard.c: raises the verdict; keeps the first reason for the worst verdict. */
void guard_raise(Guard *g, GuardVerdict v, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* guard_rules.c */
void guard_rules_write(Guard *g, const ShellWord *path, const char *what);    /* `path` will be written to */
void guard_rules_replace(Guard *g, const ShellWord *path, const char *what);  /* the name `path` will be removed or
                                                                               * replaced */
void guard_rules_find(Guard *g, const ShellCommand *c);
void guard_rules_kill(Guard *g, const ShellCommand *c);
void guard_rules_bombs(Guard *g, const ShellCommands *list);
