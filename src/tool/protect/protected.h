/* Paths that a call may not write (protected.def): files that the loader looked at, whether or not they exist; programs that the project's files
 * name, with the folders of those that hooks and servers run (uses.h); files of other agents; and files that git runs. A part "*" of a path
 * matches every name that no other protected path has there; a last part "?" excludes a name from that: see sandbox/snapshot.h. */
#pragma once
#include "artifact/project.h"
#include "base/arena.h"
#include "base/table.h"

/* Each path once, in `arena`. */
typedef struct ProtectedList {
    Arena *arena;
    Table at;
    Table repositories;                  /* folders that protected_git has looked at */
    Table configs;                       /* configuration files of git that were read, each for its repository */
    size_t config_bytes;                 /* size of these files */
    const Project *project;              /* NULL: none could be loaded */
    Str root, workspace;
    const char *const *write_roots;      /* NULL: none */
    const Str *more;                     /* more files of the project, relative to the root: record_configs */
    size_t n_more;
    bool self_edit;                      /* sandbox.allow_self_edit: files of the project are not protected */
    int depth;                           /* recursion depth of protected_git: a repository may name others */
} ProtectedList;

/* Absolute paths, NULL-terminated, in the list's arena. Clears `at`. */
const char *const *protected_paths(ProtectedList *l);
const char *const *protected_programs(ProtectedList *l);                /* only the programs, with the folders that uses.h adds */

/* True if harness may write this file, which the user named for events or a report. False for files that the next start reads, which calls
 * may not write either. */
bool protected_allows(const Project *p, const char *path, Error *err);

/* For protected*.c. */
void protected_add(ProtectedList *l, const char *path);
const char *protected_path(ProtectedList *l, Str base, Str path);       /* absolute, normal */
bool protected_is_sign(const char *name);                               /* the name is "*" or "?", which would match more than that file */
/* true if a call could write it: it is inside the project, the workspace or a write root */
bool protected_writable(const ProtectedList *l, const char *path);
void protected_words(ProtectedList *l, Str folder, Str text);           /* every file of the workspace that a word of a shell text names */
void protected_git(ProtectedList *l, Str folder);                       /* protected_git.c: protects the repository whose top is `folder`, or that
                                                                         * could be created there */
void protected_git_below(ProtectedList *l, Str folder);                 /* protects the repositories directly below `folder` */
