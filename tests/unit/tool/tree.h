/* A folder tree for tests of the searches, made in a temporary folder and removed again. */
#pragma once
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include "unit.h"

typedef struct Tree { char path[64]; int fd; } Tree;

static inline Tree tree_new(void) {
    Tree t = { .path = "/tmp/test-tree-XXXXXX" };
    assert_non_null(mkdtemp(t.path));
    t.fd = open(t.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(t.fd >= 0);
    return t;
}

/* Also creates the parent folders. */
static inline void tree_put(const Tree *t, const char *path, const char *text, size_t n) {
    char part[512];
    for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
        snprintf(part, sizeof part, "%.*s", (int)(slash - path), path);
        mkdirat(t->fd, part, 0755);
    }
    int fd = openat(t->fd, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, n), n);
    close(fd);
}

static inline void tree_text(const Tree *t, const char *path, const char *text) { tree_put(t, path, text, strlen(text)); }

static inline int tree_remove_one(const char *path, const struct stat *st, int type, struct FTW *at) {
    (void)st, (void)type, (void)at;
    return remove(path);
}

static inline void tree_free(Tree *t) {
    close(t->fd);
    nftw(t->path, tree_remove_one, 32, FTW_DEPTH | FTW_PHYS);
}

static inline size_t tree_open_fds(void) {
    size_t n = 0;
    DIR *d = opendir("/proc/self/fd");
    while (readdir(d)) n++;
    closedir(d);
    return n;
}
