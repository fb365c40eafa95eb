/* Files and folders that no loader reads. A guard in `hook/`, `Hooks/` or `hooks/x.yaml` would guard nothing, so they stop the
 * load. Hidden files and README* are free (document_entries leaves them out). */
#pragma once
#include "artifact/loader.h"

typedef struct StrayFolder {
    Str path;                        /* relative to docs.root_fd */
    const char *suffix;              /* of the files that are read there; NULL: any name may be meant, `known` has the right ones */
    const Str *known;                /* names for "did you mean", with `n` */
    size_t n;
    bool guards;                     /* what stands there may guard something: it is never free, even when the project names it */
} StrayFolder;

/* Remembers an entry that no loader reads. */
void stray_note(Loader *l, const StrayFolder *in, const DocumentEntry *e);
/* Does it look like a definition in the wrong format or place, and not like a program that a command runs? */
bool stray_is_definition(Loader *l, const StrayFolder *in, const DocumentEntry *e);
/* Reports files of a folder that have the frontmatter of a hook: those that are free (README*), or all. */
void stray_hooks(Loader *l, Str folder, bool free_only);
/* Remembers entries of the project's root whose names are nearly those of files that are read there. */
void stray_root(Loader *l);
/* Reports what was remembered, but for files that the project names itself (the script of a model, the file of a resource). */
void stray_report(Loader *l);
