/* For --explain: the supervisor sees calls that name files before they run. It records those outside of what the
 * program may read or write, and lets them proceed: Landlock refuses them in any case. */
#include "sandbox/ask.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "sandbox/prepare.h"

/* The path arguments of a call: `base` the folder's descriptor (-1: the current folder), `path` the string. */
typedef enum { TELL_READ, TELL_WRITE, TELL_BY_FLAGS } TellKind;
static const struct Tell { int call; int8_t base, path; TellKind kind; int8_t flags; } tells[] = {
    { SYS_open, -1, 0, TELL_BY_FLAGS, 1 }, { SYS_openat, 0, 1, TELL_BY_FLAGS, 2 }, { SYS_creat, -1, 0, TELL_WRITE, 0 },
    { SYS_mkdir, -1, 0, TELL_WRITE, 0 }, { SYS_mkdirat, 0, 1, TELL_WRITE, 0 }, { SYS_rmdir, -1, 0, TELL_WRITE, 0 },
    { SYS_unlink, -1, 0, TELL_WRITE, 0 }, { SYS_unlinkat, 0, 1, TELL_WRITE, 0 }, { SYS_rename, -1, 0, TELL_WRITE, 0 },
    { SYS_rename, -1, 1, TELL_WRITE, 0 }, { SYS_renameat, 0, 1, TELL_WRITE, 0 }, { SYS_renameat, 2, 3, TELL_WRITE, 0 },
    { SYS_renameat2, 0, 1, TELL_WRITE, 0 }, { SYS_renameat2, 2, 3, TELL_WRITE, 0 }, { SYS_link, -1, 1, TELL_WRITE, 0 },
    { SYS_linkat, 2, 3, TELL_WRITE, 0 }, { SYS_symlink, -1, 1, TELL_WRITE, 0 }, { SYS_symlinkat, 1, 2, TELL_WRITE, 0 },
    { SYS_execve, -1, 0, TELL_READ, 0 },
};
enum { TELLS = sizeof tells / sizeof *tells };

/* The path without links and dots; for a missing file, its folder's path plus the name. False when it leads to no file
 * at all. *exists says which. */
static bool resolve(const Ask *a, const struct seccomp_notif *q, const struct Tell *t, char out[PATH_MAX], bool *exists) {
    int base = t->base < 0 ? AT_FDCWD : (int)q->data.args[t->base];
    char path[PATH_MAX], link[40];
    if (!ask_read_path(a, q, q->data.args[t->path], path)) return false;
    int fd = ask_open(a, q, base, path, true);
    *exists = fd >= 0;
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    char folder[PATH_MAX] = ".";
    if (fd < 0) {
        if (errno != ENOENT) return false;
        if (slash) snprintf(folder, sizeof folder, "%.*s", slash == path ? 1 : (int)(slash - path), path);
        fd = ask_open(a, q, base, folder, true);
        if (fd < 0) return false;
    }
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    char found[PATH_MAX];
    ssize_t n = readlink(link, found, sizeof found - 1);
    close(fd);
    if (n <= 0 || found[0] != '/') return false;
    found[n] = 0;
    return snprintf(out, PATH_MAX, *exists ? "%s" : "%s/%s", found, name) < PATH_MAX;
}

static bool may_read(const Ask *a, const char *path) {
    if (strncmp(path, "/dev/", 5) == 0 || ask_is_inside(a, path)) return true;
    for (const char *const *p = prepare_system_read; *p; p++) {
        char real[PATH_MAX];
        if (realpath(*p, real) && ask_is_below(path, real)) return true;
    }
    for (const char **p = a->request->list[REQUEST_READ]; *p; p++)
        if (ask_is_below(path, *p)) return true;
    return ask_is_below(path, "/proc");
}

static void note(Ask *a, const char *what, const char *path, const char *flag, const char *target) {
    char line[2 * PATH_MAX + 64];
    snprintf(line, sizeof line, "%s %s\t%s %s\n", what, path, flag, target);
    for (char *c = line; *c; c++)
        if ((unsigned char)*c < ' ' && *c != '\t' && *c != '\n') *c = '?';
    if (str_find(buf_str(&a->denied), str_from(line)) < 0) buf_add(&a->denied, str_from(line));
}

/* Names the folder, since flags grant folders. */
static void note_path(Ask *a, bool write, const char *path) {
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%s", path);
    char *slash = strrchr(folder, '/');
    if (slash && slash != folder) *slash = 0;
    note(a, write ? "write" : "read", path, write ? "--write" : "--read", folder);
}

void ask_tell(Ask *a, const struct seccomp_notif *q) {
    for (size_t i = 0; i < TELLS; i++) {
        const struct Tell *t = &tells[i];
        char path[PATH_MAX];
        bool exists;
        if (t->call != q->data.nr) continue;
        uint64_t flags = t->kind == TELL_BY_FLAGS ? q->data.args[t->flags] : 0;
        bool write = t->kind == TELL_WRITE || (flags & (O_CREAT | O_TRUNC)) || (flags & O_ACCMODE) != O_RDONLY;
        if ((flags & O_PATH) || !resolve(a, q, t, path, &exists)) continue;
        if (write ? !ask_is_inside(a, path) && strncmp(path, "/dev/", 5) != 0 : exists && !may_read(a, path)) note_path(a, write, path);
    }
}

/* Only the internet families: many programs try a name service on a unix socket and work without it. */
void ask_tell_socket(Ask *a, const struct seccomp_notif *q) {
    if ((int)q->data.args[0] != AF_INET && (int)q->data.args[0] != AF_INET6) return;
    static const char line[] = "use the network\t--allow-domain HOST, or --network\n";
    if (str_find(buf_str(&a->denied), STR("use the network")) < 0) buf_add(&a->denied, str_from(line));
}
