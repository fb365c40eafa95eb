#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "sandbox/reach.h"
#include "sandbox/sandbox.h"
#include "sandbox/path_walk.h"

static bool is_below(const char *path, const char *folder) {
    size_t n = strlen(folder);
    return strcmp(folder, "/") == 0 || (strncmp(path, folder, n) == 0 && (path[n] == '/' || path[n] == 0));
}

/* Walks the path as written. A name inside the workspace that leads out of it, other than "..", is a link. */
bool sandbox_root(const char *workspace, const char *path, char real[PATH_MAX], Error *err) {
    Buf walked = { 0 };
    char here[PATH_MAX];
    bool inside = path[0] != '/';
    if (inside) buf_add(&walked, str_from(workspace));
    bool ok = true;
    for (const char *at = path; ok && *at;) {
        size_t name = strcspn(at, "/");
        buf_add_char(&walked, '/');
        buf_add(&walked, (Str){ at, name });
        at += name + (at[name] == '/');
        if (!realpath(walked.at, here)) ok = error_set(err, ERR_IO, "%s: %m", path);
        else if (inside && !is_below(here, workspace) && !(name == 2 && memcmp(walked.at + walked.n - 2, "..", 2) == 0))
            ok = error_set(err, ERR_SANDBOX, "%s: a link leads from the workspace to %s; write that path instead if you want it", path, here);
        inside = ok && is_below(here, workspace);
    }
    ok = ok && (realpath(walked.n ? walked.at : workspace, real) || error_set(err, ERR_IO, "%s: %m", path));
    buf_clear(&walked);
    return ok;
}

typedef struct Leading { const char *const *places; const char *path, *real; } Leading;

static bool stays_inside(void *ctx, const PathStep *step, Error *err) {
    const Leading *l = ctx;
    const char *held = NULL;
    if (step->kind != 'l') return true;
    for (size_t i = 0; l->places && l->places[i]; i++) {
        const char *const one[] = { l->places[i], NULL };
        if (!reach_holds(one, step->at, NULL)) continue;
        if (reach_is_below(l->real, l->places[i])) return true;
        held = l->places[i];
    }
    return !held || error_set(err, ERR_SANDBOX,
        "%s: the link %s lies inside %s, where tools can write, and leads to %s; write that path instead if you want it", l->path, step->at,
        held, l->real);
}

bool sandbox_root_steady(const char *const *places, const char *path, Error *err) {
    char real[PATH_MAX];
    PathEnd end;
    if (!realpath(path, real)) return error_set(err, ERR_IO, "%s: %m", path);
    if (!path_walk(path, stays_inside, &(Leading){ places, path, real }, &end, err)) return false;
    close(end.folder);
    return true;
}
