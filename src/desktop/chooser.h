/* The file chooser of the desktop's portal (org.freedesktop.portal.FileChooser). */
#pragma once
#include "base/arena.h"
#include "base/cancel.h"
#include "base/str.h"

enum { CHOOSER_FILES_MAX = 100 };

typedef struct Chooser {
    Str title;                           /* plain text; NUL-terminated */
    bool multiple;
    const Str *globs; size_t n_globs;    /* patterns of file names, NUL-terminated; none: all files */
    Str folder;                          /* where it starts; NUL-terminated */
    int64_t wait_ms;                     /* then it is closed */
} Chooser;

/* Waits until the user has chosen or closed it (*closed). The paths come from the portal: absolute, otherwise unchecked, in `arena`. When
 * `cancel` fires, the chooser is closed. */
bool chooser_pick(const Chooser *c, Arena *arena, Str *paths, size_t *n, bool *closed, Cancel *cancel, Error *err);   /* room for CHOOSER_FILES_MAX */
/* The path of a file: URI; ERR_IO for another scheme, another machine, or a path that cannot be one. In `arena`. */
bool chooser_path(Str uri, Arena *arena, Str *out, Error *err);
