/* Escape attempts as small functions; escapes.txt describes each, main.c runs them one by one.
 *
 * An attempt proves its success by its effect: a changed canary in $OUT, a secret in its output, or the word ESCAPED.
 * It runs in its own folder with its own $OUT. */
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
/* Reports the result of a call: below zero it was stopped, else it has escaped. */
void want(const char *what, long rc);
void show(int fd);                                      /* prints what can be read from it */
void show_file(const char *path);
int victim_main(const char *folder);
int hold_main(char **argv);                             /* hold.c */
void mean_it(void);                                     /* a file "mine" in this folder */
