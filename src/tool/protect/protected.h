/* Which paths a call may not write (protected.def): what the loader looked at, whether it exists or not, the programs that the
 * project's files name, with the folders of those that hooks and servers run (uses.h), files of other agents, and what git runs.
 *
 * A path with a part "*" means each name there that no other protected path has, and a last part "?" frees a name from that: see
 * sandbox/snapshot.h. */
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
    size_t config_bytes;                 /* of them */
    const Project *project;              /* NULL: none could be loaded */
    Str root, workspace;
    const char *const *write_roots;      /* NULL: none */
    const Str *more;                     /* more files of the project, relative to the root: record_configs */
    size_t n_more;
    bool self_edit;                      /* sandbox.allow_self_edit: files of the project are free */
    int depth;                           /* of protected_git: a repository may name others */
} ProtectedList;

/* Absolute paths, NULL-terminated, in the list's arena. Clears `at`. */
const char *const *protected_paths(ProtectedList *l);
const char *const *protected_programs(ProtectedList *l);                /* programs alone, with the folders that uses.h adds */

/* For protected*.c. */
void protected_add(ProtectedList *l, const char *path);
const char *protected_path(ProtectedList *l, Str base, Str path);       /* absolute, normal */
bool protected_is_sign(const char *name);                               /* "*" or "?": it would mean more than a file of that name */
bool protected_writable(const ProtectedList *l, const char *path);      /* could a call write it: inside the project, the workspace, a write root */
void protected_words(ProtectedList *l, Str folder, Str text);           /* every file of the workspace that a word of a shell text names */
void protected_git(ProtectedList *l, Str folder);                       /* protected_git.c: of the repository whose top is `folder`, or that could be made there */
void protected_git_below(ProtectedList *l, Str folder);                 /* of those whose top is in `folder` */
