/* The files that harness new writes, one of each kind. */
#pragma once
#include <stdbool.h>

typedef struct NewFile {
    const char *kind;            /* "tool" */
    const char *folder, *file;   /* FOLDER/NAME and then file: ".md" or "/SKILL.md" */
    const char *text;            /* with @NAME@ for the name */
    const char *next;            /* what to do then, with @NAME@ */
} NewFile;

const NewFile *new_files_find(const char *kind);      /* NULL: there is no such kind */
static inline bool new_files_is(const char *kind) { return new_files_find(kind) != 0; }
