/* Escape attempts as small functions; escapes.txt says what each is, main.c runs them one by one.
 *
 * An attempt proves its success by what it leaves or shows: a changed canary in $OUT, a secret on its output, or the word
 * ESCAPED. It is run in a folder of its own, $OUT belongs to it alone. */
#pragma once
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef struct Attempt { const char *name; void (*run)(void); } Attempt;
extern const Attempt file_attempts[], race_attempts[], process_attempts[], kernel_attempts[], mount_attempts[], network_attempts[], limit_attempts[];

const char *out_path(const char *name);                 /* $OUT/name */
int number(const char *name);                           /* a variable's value; 0 when it is not set */
void say_escaped(const char *how);
/* Says how a call ended: below zero it was stopped, else it has escaped. */
void want(const char *what, long rc);
void show(int fd);                                      /* prints what can be read from it */
void show_file(const char *path);
int victim_main(const char *folder);
int hold_main(char **argv);                             /* hold.c */
void mean_it(void);                                     /* a file "mine" in this folder */
