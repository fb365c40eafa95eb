#include "sandbox/displaced.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "base/file.h"
#include "base/random.h"
#include "sandbox/snapshot.h"

enum { DEPTH_MAX = 16 };

typedef struct Keep { int to; const char *root; size_t left, kept; } Keep;

static bool put(int dir, const char *name, Str text) {
    int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool ok = fd >= 0;
    while (ok && text.n) {
        ssize_t n = write(fd, text.at, text.n);
        ok = n > 0 || (n < 0 && errno == EINTR);
        if (n > 0) text = str_sub(text, (size_t)n, text.n);
    }
    if (fd >= 0) close(fd);
    return ok;
}

static void remove_files(int dir) {
    (void)unlinkat(dir, "path", 0);
    (void)unlinkat(dir, "project", 0);
    (void)unlinkat(dir, "content", 0);
}

static void keep_one(Keep *k, Str path, Str content) {
    char name[64];
    snprintf(name, sizeof name, "%lld-%08x", (long long)time(NULL), (unsigned)random_u64());
    if (mkdirat(k->to, name, 0700) < 0) return;
    int fd = openat(k->to, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool ok = fd >= 0 && put(fd, "path", path) && put(fd, "project", str_from(k->root)) && put(fd, "content", content);
    if (!ok && fd >= 0) remove_files(fd);
    if (fd >= 0) close(fd);
    if (!ok) (void)unlinkat(k->to, name, AT_REMOVEDIR);
    k->kept += ok;
    k->left--;
}

static void keep(Keep *k, int dir, const char *name, Str path, int depth) {
    struct statx st;
    Buf content = { 0 };
    if (k->left == 0 || depth > DEPTH_MAX || !walk_stat(dir, name, &st)) return;
    char kind = snapshot_kind(&st);
    if (kind == 'f' ? snapshot_read_file(dir, name, DISPLACED_BYTES_MAX, &st, &content) : kind == 'l' && snapshot_read_link(dir, name, &content))
        keep_one(k, path, buf_str(&content));
    buf_clear(&content);
    SnapshotNames names = { 0 };
    int fd = kind == 'd' ? walk_open(dir, name, O_PATH | O_DIRECTORY, 0) : -1;
    if (fd < 0) return;
    (void)snapshot_list(fd, &names);
    for (size_t i = 0; i < names.n; i++) {
        Buf below = { 0 };
        buf_add_fmt(&below, STR_FMT "/%s", STR_ARG(path), names.at[i]);
        keep(k, fd, names.at[i], buf_str(&below), depth + 1);
        buf_clear(&below);
    }
    snapshot_names_clear(&names);
    close(fd);
}

/* Names start with the time: removes those that are too old. Returns how many are left. */
static size_t expire(int dir) {
    SnapshotNames names = { 0 };
    size_t stay = 0;
    (void)snapshot_list(dir, &names);
    for (size_t i = 0; i < names.n; i++) {
        stay++;
        if (strtoll(names.at[i], NULL, 10) > (long long)time(NULL) - DISPLACED_DAYS * 86400) continue;
        int fd = openat(dir, names.at[i], O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0) continue;
        remove_files(fd);
        close(fd);
        stay -= unlinkat(dir, names.at[i], AT_REMOVEDIR) == 0;
    }
    snapshot_names_clear(&names);
    return stay;
}

size_t displaced_keep(const char *folder, const char *root, int dir, const char *name, Str path, DisplacedRoom *room) {
    char to[PATH_MAX];
    int error = errno;
    Keep k = { .to = -1, .root = root ? root : "" };
    if (folder && snprintf(to, sizeof to, "%s/displaced", folder) < (int)sizeof to) {
        (void)mkdir(to, 0700);
        k.to = open(to, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    }
    if (k.to >= 0) {
        size_t there = room->counted ? 0 : expire(k.to);
        if (!room->counted) *room = (DisplacedRoom){ true, there < DISPLACED_MAX ? DISPLACED_MAX - there : 0 };
        k.left = room->left;
        keep(&k, dir, name, path, 0);
        room->left = k.left;
        close(k.to);
    }
    errno = error;
    return k.kept;
}

static void list_one(const char *at, const char *name, DisplacedEach *each, void *ctx) {
    char file[PATH_MAX + 300];
    Buf path = { 0 }, project = { 0 };
    snprintf(file, sizeof file, "%s/%s/path", at, name);
    bool ok = file_read(file, PATH_MAX, &path, NULL);
    snprintf(file, sizeof file, "%s/%s/project", at, name);
    (void)file_read(file, PATH_MAX, &project, NULL);
    snprintf(file, sizeof file, "%s/%s/content", at, name);
    if (ok) each(ctx, &(Displaced){ strtoll(name, NULL, 10), buf_str(&path), buf_str(&project), file });
    buf_clear(&path);
    buf_clear(&project);
}

void displaced_list(const char *folder, DisplacedEach *each, void *ctx) {
    char at[PATH_MAX];
    SnapshotNames names = { 0 };
    if (snprintf(at, sizeof at, "%s/displaced", folder) >= (int)sizeof at) return;
    int dir = open(at, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0) return;
    (void)expire(dir);
    (void)snapshot_list(dir, &names);
    for (size_t i = 0; i < names.n; i++) list_one(at, names.at[i], each, ctx);
    snapshot_names_clear(&names);
    close(dir);
}
