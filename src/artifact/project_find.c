#include "artifact/project_find.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool has(const char *dir, const char *name) {
    char path[PATH_MAX];
    struct stat st;
    int n = snprintf(path, sizeof path, "%s/%s", strcmp(dir, "/") == 0 ? "" : dir, name);
    return n > 0 && (size_t)n < sizeof path && lstat(path, &st) == 0;
}

static bool has_one(const char *dir, const char *const *names, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (has(dir, names[i])) return true;
    return false;
}

static bool has_settings(const char *dir) {
    static const char *const names[] = { PROJECT_SETTINGS };
    return has_one(dir, names, sizeof names / sizeof *names);
}

bool project_here(const char *dir) {
    static const char *const names[] = { PROJECT_NAMES };
    return has_one(dir, names, sizeof names / sizeof *names);
}

static bool same_folder(const char *a, const char *b) {
    struct stat x, y;
    return a && b && stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

bool project_above(const char *dir, char out[static PATH_MAX]) {
    char at[PATH_MAX];
    const char *home = getenv("HOME");
    struct stat here, up;
    if (!realpath(dir, at) || stat(at, &here) != 0) return false;
    for (;;) {
        char *slash = strrchr(at, '/');
        if (!slash || slash == at || has(at, ".git") || same_folder(at, home)) return false;
        *slash = 0;
        if (stat(at, &up) != 0 || up.st_dev != here.st_dev || same_folder(at, home)) return false;
        if (has_settings(at)) return memcpy(out, at, strlen(at) + 1), true;
    }
}

bool project_between(const char *root, const char *folder, char out[static PATH_MAX]) {
    size_t n = strlen(root), least = strlen(folder);
    if (n >= PATH_MAX) return false;
    memcpy(out, root, n + 1);
    for (char *slash; (slash = strrchr(out, '/')) && slash != out && (size_t)(slash - out) >= least;) {
        *slash = 0;
        if (project_here(out)) return true;
    }
    return false;
}
