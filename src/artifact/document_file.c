/* Opens files of a project without reading anything outside of it and without blocking. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "artifact/document.h"
#include "base/fault.h"
#include "base/mem.h"
#include "base/vec.h"
#include "sandbox/view.h"

enum { TRIES = 64 };                 /* openat2 fails with EAGAIN during a concurrent rename */

/* Without openat2 (old kernels): opens one component at a time and follows no links. */
static int open_by_steps(int root, char *path, int flags) {
    int at = dup(root);
    for (char *part = path, *next; at >= 0; part = next) {
        size_t n = strcspn(part, "/");
        next = part + n + strspn(part + n, "/");
        bool last = *next == 0;
        part[n] = 0;
        if (strcmp(part, "..") == 0) { close(at); errno = EXDEV; return -1; }
        int fd = openat(at, *part ? part : ".", O_NOFOLLOW | O_CLOEXEC | (last ? flags : O_PATH | O_DIRECTORY));
        int saved = errno;
        close(at);
        errno = saved;
        if (last || fd < 0) return fd;
        at = fd;
    }
    return -1;
}

int document_open(const DocumentContext *c, Str path, int flags) {
    if (fault_hit()) { errno = EMFILE; return -1; }
    if (path.n >= PATH_MAX || memchr(path.at, 0, path.n)) { errno = ENOENT; return -1; }
    char text[PATH_MAX];
    memcpy(text, path.at, path.n);
    text[path.n] = 0;
    if (path.n == 0) memcpy(text, ".", 2);
    flags |= O_CLOEXEC | (flags & O_PATH ? 0 : O_NONBLOCK | O_NOCTTY);
    struct open_how how = { .flags = (uint64_t)flags, .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS };
    for (int i = 0; i < TRIES; i++) {
        long fd = syscall(SYS_openat2, c->root_fd, text, &how, sizeof how);
        if (fd >= 0) return (int)fd;
        if (errno == ENOSYS) return open_by_steps(c->root_fd, text, flags);
        if (errno != EAGAIN && errno != EINTR) return -1;
    }
    return -1;
}

/* True if the view has the valid content of this path. */
static bool in_view(const DocumentContext *c, Str path, ViewEntry *e) { return c->view && view_find(c->view, c->base, path, e); }

bool document_exists(const DocumentContext *c, Str path) {
    ViewEntry e;
    if (in_view(c, path, &e)) return e.node || (e.error != ENOENT && e.error != ENOTDIR);
    int fd = document_open(c, path, O_PATH);
    if (fd < 0) return errno != ENOENT && errno != ENOTDIR;   /* it exists: reading it will report the problem */
    close(fd);
    return true;
}

bool document_is_folder(const DocumentContext *c, Str path) {
    ViewEntry e;
    if (in_view(c, path, &e)) {
        if (e.node && e.node->kind == 'd') return true;
        errno = e.node ? ENOTDIR : e.error;
        return false;
    }
    int fd = document_open(c, path, O_PATH | O_DIRECTORY);
    if (fd < 0) return false;
    close(fd);
    return true;
}

static const char *kind_of(mode_t mode) {
    return S_ISDIR(mode) ? "a directory" : S_ISFIFO(mode) ? "a pipe" : S_ISSOCK(mode) ? "a socket"
         : S_ISCHR(mode) || S_ISBLK(mode) ? "a device" : "not a regular file";
}

static bool explain(int number, Error *err) {
    if (number == EXDEV) return error_set(err, ERR_IO, "it leads out of the project");
    if (number == ELOOP) return error_set(err, ERR_IO, "too many symbolic links");
    if (number == ENXIO) return error_set(err, ERR_IO, "it is a socket");
    char text[128];
    const char *said = strerror_r(number, text, sizeof text);
    error_set(err, ERR_IO, "%s", said);
    if (err) err->msg[0] = (char)tolower((unsigned char)err->msg[0]);
    return false;
}

/* A read that returns all `size` bytes and less than there was room for has seen the end. A file without a size is read until a read returns nothing. */
static bool read_all(int fd, size_t size, size_t limit, Buf *out, Error *err) {
    for (;;) {
        size_t step = out->cap > out->n + 1 ? out->cap - out->n - 1 : 4096;
        char *room = buf_room(out, step);
        ssize_t n = fault_hit() ? (errno = EIO, -1) : read(fd, room, step);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return explain(errno, err);
        buf_commit(out, (size_t)n);
        if (out->n > limit) return error_set(err, ERR_LIMIT, "it is larger than %zu bytes", limit);
        if (n == 0 || (size && out->n == size && (size_t)n < step)) return true;
    }
}

static bool read_checked(int fd, size_t limit, Buf *out, struct stat *st, Error *err) {
    if (fstat(fd, st) < 0) return explain(errno, err);
    if (!S_ISREG(st->st_mode)) return error_set(err, ERR_IO, "it is %s", kind_of(st->st_mode));
    if ((uintmax_t)st->st_size > limit) return error_set(err, ERR_LIMIT, "it is larger than %zu bytes", limit);
    buf_room(out, (size_t)st->st_size + 1);            /* + 1: so that a read can return less than there is room for */
    return read_all(fd, (size_t)st->st_size, limit, out, err);
}

static void note_file(const DocumentContext *c, Str path, Str bytes, uid_t owner) {
    if (!c->files) return;
    LoadedFile f = { .path = arena_concat(c->arena, c->shown, path), .owner = owner };
    sha256_of(bytes, f.digest);
    VEC_PUSH(c->files, f);
}

static bool read_disk(const DocumentContext *c, Str path, size_t limit, Buf *out, struct stat *st, Error *err) {
    int fd = document_open(c, path, O_RDONLY);
    if (fd < 0) return explain(errno, err);
    bool ok = read_checked(fd, limit, out, st, err);
    close(fd);
    return ok;
}

/* Reads the recorded content. If only a digest was recorded, reads the file once and accepts it if the digest matches. */
static bool read_view(const DocumentContext *c, Str path, const ViewEntry *e, size_t limit, Buf *out, struct stat *st, Error *err) {
    if (!e->node) return explain(e->error, err);
    if (e->node->kind != 'f') return error_set(err, ERR_IO, "it is %s", kind_of(e->node->st.stx_mode));
    if (!e->node->known) {
        if (!read_disk(c, path, limit, out, st, err)) return false;
        if (view_is_content(e, buf_str(out))) return true;
        return error_set(err, ERR_SANDBOX, "it changed while a call could write it, and its old content was not recorded, only a digest");
    }
    if (e->node->content.n > limit) return error_set(err, ERR_LIMIT, "it is larger than %zu bytes", limit);
    st->st_uid = e->node->st.stx_uid;
    buf_add(out, buf_str(&e->node->content));
    return true;
}

bool document_read_bytes(const DocumentContext *c, Str path, size_t limit, Buf *out, Error *err) {
    Buf content = { 0 };
    ViewEntry e;
    struct stat st;
    bool ok = in_view(c, path, &e) ? read_view(c, path, &e, limit, &content, &st, err) : read_disk(c, path, limit, &content, &st, err);
    if (!ok) return buf_clear(&content), false;
    note_file(c, path, buf_str(&content), st.st_uid);
    buf_clear(out);
    *out = content;
    return true;
}

/* ---- folders ---- */

static int by_bytes(const void *a, const void *b) { return str_cmp(((const DocumentEntry *)a)->name, ((const DocumentEntry *)b)->name); }

static bool is_folder(int fd, const struct dirent *e) {
    struct stat st;
    if (e->d_type != DT_UNKNOWN) return e->d_type == DT_DIR;
    return fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

typedef struct Entries { VEC(DocumentEntry) all, readmes; } Entries;

static bool add_entry(DocumentContext *c, Entries *entries, const char *name, bool folder, Error *err) {
    if (name[0] == '.') return true;
    bool readme = !folder && str_starts(str_from(name), STR("README"));
    if (!vec_limit(entries->all.n + entries->readmes.n, DOCUMENT_FILES_MAX, "files", err)) return false;
    DocumentEntry e = { arena_str(c->arena, str_from(name)), folder };
    if (readme) VEC_PUSH(&entries->readmes, e);
    else VEC_PUSH(&entries->all, e);
    return true;
}

static bool list_disk(DocumentContext *c, DIR *dir, Entries *entries, Error *err) {
    struct dirent *e;
    bool ok = true;
    while (ok && (errno = 0, e = readdir(dir))) ok = add_entry(c, entries, e->d_name, is_folder(dirfd(dir), e), err);
    return ok && errno ? explain(errno, err) : ok;
}

static bool list_view(DocumentContext *c, const SnapshotNode *n, Entries *entries, Error *err) {
    bool ok = n->kind == 'd' || explain(ENOTDIR, err);
    for (size_t i = 0; ok && i < n->child.n; i++)
        if (n->child.at[i]->kind != '-') ok = add_entry(c, entries, n->child.at[i]->name, n->child.at[i]->kind == 'd', err);
    return ok;
}

static void hand_over(DocumentContext *c, const Entries *entries, DocumentEntry **out, size_t *n) {
    *n = entries->all.n;
    *out = ARENA_ARRAY(c->arena, DocumentEntry, *n ? *n : 1);
    if (*n) memcpy(*out, entries->all.at, *n * sizeof(DocumentEntry));
    qsort(*out, *n, sizeof(DocumentEntry), by_bytes);
}

static StrList names_of(DocumentContext *c, const DocumentEntry *entries, size_t n) {
    StrList names = { ARENA_ARRAY(c->arena, Str, n ? n : 1), n };
    for (size_t i = 0; i < n; i++) names.at[i] = entries[i].name;
    return names;
}

static void report_folder(DocumentContext *c, Str folder, const Error *err) {
    problems_add(c->problems, PROBLEM_ERROR, arena_concat(c->arena, c->shown, folder),
                 (Place){ 0 }, (Str){ 0 }, "read folder: %s", err->msg);
}

static bool open_folder(const DocumentContext *c, Str folder, DIR **dir, Error *err) {
    int fd = document_open(c, folder, O_RDONLY | O_DIRECTORY);
    *dir = NULL;
    if (fd < 0 && errno == ENOENT) return true;
    if (fd < 0) return explain(errno, err);
    *dir = fdopendir(fd);
    if (*dir) return true;
    explain(errno, err);
    close(fd);
    return false;
}

bool document_entries(DocumentContext *c, Str folder, DocumentEntry **out, size_t *n, StrList *readmes) {
    Error err = { 0 };
    Entries entries = { 0 };
    ViewEntry e;
    DIR *dir = NULL;
    bool ok;
    *out = NULL;
    *n = 0;
    if (in_view(c, folder, &e)) ok = e.node ? list_view(c, e.node, &entries, &err) : e.error == ENOENT || explain(e.error, &err);
    else ok = open_folder(c, folder, &dir, &err) && (!dir || list_disk(c, dir, &entries, &err));
    if (dir) closedir(dir);
    if (ok) hand_over(c, &entries, out, n);
    else report_folder(c, folder, &err);
    if (ok && readmes) *readmes = names_of(c, entries.readmes.at, entries.readmes.n);
    VEC_CLEAR(&entries.all);
    VEC_CLEAR(&entries.readmes);
    return ok;
}

static void each_in_view(const ViewEntry *e, void (*visit)(void *ctx, Str name, bool folder), void *ctx) {
    for (size_t i = 0; e->node && i < e->node->child.n; i++) {
        const SnapshotNode *n = e->node->child.at[i];
        if (n->kind != '-') visit(ctx, str_from(n->name), n->kind == 'd');
    }
}

void document_each(DocumentContext *c, Str folder, void (*visit)(void *ctx, Str name, bool folder), void *ctx) {
    Error err = { 0 };
    ViewEntry seen;
    if (in_view(c, folder, &seen)) return each_in_view(&seen, visit, ctx);
    int fd = document_open(c, folder, O_RDONLY | O_DIRECTORY);
    if (fd < 0 && errno == EACCES) return;
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    bool ok = dir || explain(errno, &err);
    if (fd >= 0 && !dir) close(fd);
    struct dirent *e;
    while (dir && (errno = 0, e = readdir(dir))) {
        Str name = str_from(e->d_name);
        if (!str_eq(name, STR(".")) && !str_eq(name, STR(".."))) visit(ctx, name, is_folder(fd, e));
    }
    if (dir && errno) ok = explain(errno, &err);
    if (dir) closedir(dir);
    if (!ok) report_folder(c, folder, &err);
}
