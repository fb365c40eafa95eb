/* Files and folders that no loader reads. A guard in `hook/`, `Hooks/` or `hooks/x.yaml` would have no effect, so they
 * stop the load. Hidden files and README* are ignored (document_entries omits them). */
#pragma once
#include "artifact/loader.h"

typedef struct StrayFolder {
    Str path;                        /* relative to docs.root_fd */
    const char *suffix;              /* suffix of the files read there; NULL: `known` has the valid names */
    const Str *known;                /* names for "did you mean", with `n` */
    size_t n;
    const char *hint;                /* for every file; NULL: from suffix or known names */
    bool guards;                     /* the folder may hold guards: its files are reported even if the project names them */
} StrayFolder;

/* Records an entry that no loader reads. */
void stray_note(Loader *l, const StrayFolder *in, const DocumentEntry *e);
/* True if it looks like a definition in the wrong format or folder, and not like a program that a command runs. */
bool stray_is_definition(Loader *l, const StrayFolder *in, const DocumentEntry *e);
/* Reports files of a folder that read like a hook, including those in subfolders. */
void stray_hooks(Loader *l, Str folder);
void stray_readmes(Loader *l, Str folder, StrList names);  /* the same for its files README* */
bool stray_hook(Loader *l, Str folder, Str name);          /* the same for one file; true if it was reported */
/* Records entries of the project's root whose names resemble those of files that are read there. */
void stray_root(Loader *l);
/* Reports recorded entries, except files that the project names itself (the script of a model, the file of a
 * resource). */
void stray_report(Loader *l);
