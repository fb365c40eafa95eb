#include "sandbox/snapshot.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>
#include "base/fault.h"
#include "base/mem.h"
#include "base/nearly.h"
#include "sandbox/git_steps.h"

enum { READ_STEP = 64 << 10 };

/* ---- reading ---- */

char snapshot_kind(const struct statx *st) { return walk_describe(st).type; }

/* The kernel's file clock ticks every few milliseconds, that of some file systems every two seconds: a change within a
 * tick does not change the time. */
bool snapshot_settled(const struct statx *st) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    int64_t age = (now.tv_sec - st->stx_ctime.tv_sec) * 1000000000 + now.tv_nsec - st->stx_ctime.tv_nsec;
    return age > (st->stx_ctime.tv_nsec == 0 ? 3000000000 : 50000000);
}

bool snapshot_read_file(int dir, const char *name, size_t limit, struct statx *st, Buf *out) {
    int fd = walk_open(dir, name, O_RDONLY | O_NONBLOCK, 0), error = 0;
    if (fd < 0)
        return false;
    if (!walk_stat(fd, "", st))
        error = errno;
    else if (!S_ISREG(st->stx_mode))
        error = EINVAL;
    else if (st->stx_size > limit)
        error = EFBIG;
    for (ssize_t n = 1; !error && n != 0; ) {
        size_t step = out->n == 0 && st->stx_size < limit ? (size_t)st->stx_size + 1 : READ_STEP;
        n = fault_hit() ? (errno = EIO, -1) : read(fd, buf_room(out, step), step);
        if (n > 0)
            buf_commit(out, (size_t)n);
        error = n < 0 && errno != EINTR ? errno : out->n > limit ? EFBIG : 0;
    }
    close(fd);
    return errno = error, error == 0;
}

bool snapshot_read_link(int dir, const char *name, Buf *out) {
    char text[PATH_MAX];
    ssize_t n = fault_hit() ? (errno = EIO, -1) : readlinkat(dir, name, text, sizeof text);
    if (n < 0)
        return false;
    buf_add(out, (Str){ text, (size_t)n });
    return true;
}

static int compare_names(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

bool snapshot_list(int dir, SnapshotNames *out) {
    struct dirent *e;
    int fd = walk_open(dir, ".", O_RDONLY | O_DIRECTORY, 0);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (!d) {
        int error = errno;
        return fd >= 0 ? close(fd) : 0, errno = error, false;
    }
    while ((errno = 0, e = readdir(d)))
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            VEC_PUSH(out, mem_dup(e->d_name, strlen(e->d_name)));
    int error = errno;
    closedir(d);
    if (out->n)
        qsort(out->at, out->n, sizeof *out->at, compare_names);
    return errno = error, error == 0;
}

void snapshot_names_clear(SnapshotNames *names) {
    for (size_t i = 0; i < names->n; i++)
        free(names->at[i]);
    VEC_CLEAR(names);
}

bool snapshot_is_step(const SnapshotNode *n) { return n->whole && n->parent && !n->parent->whole && git_steps_is(n->parent->name, n->name); }

/* ---- taking ---- */

typedef struct Take { Snapshot *s; size_t limit; Error *err; } Take;

SnapshotNode *snapshot_node(SnapshotNode *parent, Str name) {
    SnapshotNode *n = mem_zero(1, sizeof *n);
    n->name = mem_dup(name.at, name.n);
    n->parent = parent;
    n->kind = '-';
    if (parent)
        VEC_PUSH(&parent->child, n);
    return n;
}

void snapshot_path(const SnapshotNode *n, Buf *out) {
    if (!n->parent)
        return;
    snapshot_path(n->parent, out);
    buf_add_fmt(out, "/%s", n->name);
}

static bool fail_take(const Take *t, const SnapshotNode *n, int error) {
    Buf path = { 0 };
    snapshot_path(n, &path);
    if (error == EFBIG && !error_set(t->err, ERR_LIMIT, "protected files exceed %zu bytes, at %s", t->limit, buf_str(&path).at))
        error_hint(t->err, "keep large files apart from the folders of programs that hooks and servers run");
    else if (error == ELOOP)
        error_set(t->err, ERR_LIMIT, "%s: protected folders are nested more than %d deep", buf_str(&path).at, SNAPSHOT_DEPTH_MAX);
    else
        walk_fail(buf_str(&path), error, t->err);
    buf_clear(&path);
    return false;
}

static bool take(Take *t, SnapshotNode *n, int dir, const FenceNode *f, int depth);

static bool take_file(Take *t, SnapshotNode *n, int dir) {
    if (!snapshot_read_file(dir, n->name, t->limit - t->s->bytes, &n->st, &n->content)) {
        int error = errno;
        buf_clear(&n->content);
        return error == EACCES || error == EPERM || fail_take(t, n, error);
    }
    n->known = true;
    t->s->bytes += n->content.n;
    return true;
}

/* Records a missing path; everything below it was missing too. */
static void take_missing(SnapshotNode *n, const FenceNode *f) {
    FenceNode *const *child = NULL;
    n->whole = fence_is_closed(f);
    size_t count = n->whole ? 0 : fence_children(f, &child);
    for (size_t i = 0; i < count; i++)
        take_missing(snapshot_node(n, fence_name(child[i])), child[i]);
}

bool snapshot_is_star(const SnapshotNode *n) { return n->kind == '-' && (strcmp(n->name, "*") == 0 || strcmp(n->name, NEARLY_NAMES) == 0); }

/* Also matches an entry that has the wildcard's own name: it would be taken for the wildcard the next time. */
bool snapshot_means(const SnapshotNode *star, int dir, const char *name) {
    struct statx st;
    if (strcmp(star->name, NEARLY_NAMES) != 0 || strcmp(name, NEARLY_NAMES) == 0)
        return true;
    bool folder = nearly_project_file(str_from(name), true).n > 0, file = nearly_project_file(str_from(name), false).n > 0;
    if ((!folder && !file) || !walk_stat(dir, name, &st))
        return folder || file;
    char kind = snapshot_kind(&st);
    return kind == 'd' ? folder : kind == 'l' ? folder || file : file;
}

void snapshot_index(const SnapshotNode *folder, const SnapshotNode *except, Table *out) {
    for (size_t i = 0; i < folder->child.n; i++)
        if (folder->child.at[i] != except)
            table_put(out, str_from(folder->child.at[i]->name), folder->child.at[i]);
}

/* Records the existing entries that `star` matches. Their content may change, but no entry may be added to the folder. */
static bool take_present(SnapshotNode *n, const SnapshotNode *star, int fd) {
    SnapshotNames names = { 0 };
    Table known = { 0 };
    bool ok = snapshot_list(fd, &names);
    snapshot_index(n, NULL, &known);
    for (size_t i = 0; ok && i < names.n; i++)
        if (!table_has(&known, str_from(names.at[i])) && snapshot_means(star, fd, names.at[i]))
            snapshot_node(n, str_from(names.at[i]));
    table_clear(&known);
    snapshot_names_clear(&names);
    return ok;
}

/* If this process cannot list the folder, the loader cannot either, so the names in it have no effect. */
static bool passes_over(const FenceNode *f, int fd) {
    return str_eq(fence_name(f), STR(NEARLY_NAMES)) && faccessat(fd, ".", R_OK, AT_EACCESS) != 0 && errno == EACCES;
}

static bool take_stars(SnapshotNode *n, int fd) {
    bool ok = true;
    for (size_t i = 0, count = n->child.n; ok && i < count; i++)
        ok = !n->child.at[i]->whole || !snapshot_is_star(n->child.at[i]) || take_present(n, n->child.at[i], fd);
    return ok;
}

/* Below a protected folder everything counts; above, only the names that lead to one. */
static bool take_folder(Take *t, SnapshotNode *n, int dir, const FenceNode *f, int depth) {
    SnapshotNames names = { 0 };
    FenceNode *const *child = NULL;
    int fd = depth > SNAPSHOT_DEPTH_MAX ? (errno = ELOOP, -1)
           : n->parent ? walk_open(dir, n->name, O_PATH | O_DIRECTORY, 0) : walk_open(dir, ".", O_PATH | O_DIRECTORY, 0);
    bool ok = (fd >= 0 && (!n->whole || snapshot_list(fd, &names))) || fail_take(t, n, errno);
    for (size_t i = 0; ok && i < names.n; i++)
        ok = take(t, snapshot_node(n, str_from(names.at[i])), fd, NULL, depth + 1);
    size_t count = f && !n->whole ? fence_children(f, &child) : 0;
    for (size_t i = 0; ok && i < count; i++)
        ok = passes_over(child[i], fd) || take(t, snapshot_node(n, fence_name(child[i])), fd, child[i], depth + 1);
    if (ok && count)
        ok = take_stars(n, fd) || fail_take(t, n, errno);
    snapshot_names_clear(&names);
    if (fd >= 0)
        close(fd);
    return ok;
}

static bool take(Take *t, SnapshotNode *n, int dir, const FenceNode *f, int depth) {
    bool ok = true;
    if (f && fence_is_free(f)) return true;
    n->whole = f ? fence_is_closed(f) : true;
    if (!walk_stat(dir, n->parent ? n->name : "", &n->st)) {
        if (errno != ENOENT && errno != ENOTDIR && errno != ENAMETOOLONG)
            return fail_take(t, n, errno);
        if (f)
            take_missing(n, f);
        return true;
    }
    n->kind = snapshot_kind(&n->st);
    n->recent = !snapshot_settled(&n->st);
    n->needed = (n->whole && !snapshot_is_step(n)) || n->kind == 'l';
    if (n->kind == 'd')
        ok = take_folder(t, n, dir, f, depth);
    else if (n->kind == 'l')
        ok = snapshot_read_link(dir, n->name, &n->content) || fail_take(t, n, errno);
    else if (n->kind == 'f' && n->whole)
        ok = take_file(t, n, dir);
    if (n->kind != 'd' && f && !n->whole)
        take_missing(n, f);
    for (size_t i = 0; i < n->child.n; i++)
        n->needed |= n->child.at[i]->needed;
    return ok;
}

bool snapshot_open(Snapshot *s, Error *err) {
    struct statx st;
    *s = (Snapshot){ .nowhere = { .fence = fence_new() } };
    Jail *j = &s->nowhere;
    j->top = fault_hit() ? (errno = EMFILE, -1) : open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (j->top < 0 || !walk_stat(j->top, "", &st))
        return error_set(err, ERR_IO, "open /: %m");
    j->top_id = fence_id(&st);
    fence_sort(j->fence);
    return true;
}

bool snapshot_take(Snapshot *s, const char *const *paths, size_t limit, Error *err) {
    Take t = { .s = s, .limit = limit, .err = err };
    if (!snapshot_open(s, err))
        return false;
    s->top = snapshot_node(NULL, STR(""));
    Fence *f = fence_new();
    walk_fence(&s->nowhere, f, paths, false);
    bool ok = take(&t, s->top, s->nowhere.top, fence_top(f), 0);
    fence_free(f);
    return ok;
}

void snapshot_node_free(SnapshotNode *n) {
    for (size_t i = 0; i < n->child.n; i++)
        snapshot_node_free(n->child.at[i]);
    VEC_CLEAR(&n->child);
    buf_clear(&n->content);
    free(n->name);
    free(n);
}

void snapshot_clear(Snapshot *s) {
    if (s->top)
        snapshot_node_free(s->top);
    if (s->nowhere.top >= 0)
        close(s->nowhere.top);
    fence_free(s->nowhere.fence);
    *s = (Snapshot){ .nowhere = { .top = -1 } };
}
