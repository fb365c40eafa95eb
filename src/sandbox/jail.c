#include "sandbox/jail.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>
#include "base/fault.h"
#include "base/mem.h"
#include "sandbox/walk.h"

#ifdef HARNESS_HOSTILE
enum { READ_STEP = 5 };
#else
enum { READ_STEP = 64 << 10 };
#endif
enum { ENTRIES_MAX = 1000000, OPEN_TRIES = 16 };

/* ---- creating ---- */

/* Appends "/a/b": the names of the steps after `from`, of the target and of the missing parts. */
static void add_names(const Walk *w, size_t from, Buf *out) {
    for (size_t i = from + 1; i < w->step.n; i++) {
        buf_add_char(out, '/');
        buf_add(out, (Str){ w->names.at + w->step.at[i].name, w->step.at[i].length });
    }
    if (w->name[0])
        buf_add_fmt(out, "/%s", w->name);
    if (w->missing.n)
        buf_add_fmt(out, "/%s", w->missing.at);
}

static bool add_root(Jail *j, const char *path, bool writable, const char *what, Error *err) {
    Walk w;
    Buf names = { 0 };
    JailRoot root = { .fd = -1, .writable = writable };
    if (path[0] != '/')
        return error_set(err, ERR_CONFIG, "%s %s: not an absolute path", what, path);
    errno = 0;
    bool ok = strlen(path) < PATH_MAX && walk_anywhere(&w, j, str_from(path), WALK_FOLLOW);
    if (ok && !S_ISDIR(w.st.stx_mode))
        ok = false, errno = ENOTDIR;
    if (ok) {
        add_names(&w, 0, &names);
        root.id = w.at.id;
        root.match = w.at.match;
        ok = (root.fd = fcntl(walk_target(&w), F_DUPFD_CLOEXEC, 0)) >= 0;
    } else {
        ok = errno == EOPNOTSUPP;                      /* programs may read /proc, this process may not: an empty
                                                        * root */
    }
    int error = errno;
    walk_end(&w);
    root.path = mem_dup(buf_str(&names).at, names.n);
    buf_clear(&names);
    VEC_PUSH(&j->root, root);                          /* also a failed one: jail_free() frees it */
    if (ok)
        return true;
    walk_fail(str_from(path), error == ENOENT || error == 0 ? ENOENT : error, err);
    if (err)
        err->kind = ERR_CONFIG;
    return error_wrap(err, "%s", what);
}

static bool add_roots(Jail *j, const char *const *paths, bool writable, const char *what, Error *err) {
    for (; paths && *paths; paths++)
        if (!add_root(j, *paths, writable, what, err))
            return false;
    return true;
}

bool jail_new(const JailInput *in, Jail **out, Error *err) {
    Jail *j = mem_zero(1, sizeof *j);
    struct statx st;
    j->read_only = in->read_only;
    j->placing = mem_alloc(sizeof(pthread_mutex_t));
    pthread_mutex_init(j->placing, NULL);
    j->fence = fence_new();
    j->top = fault_hit() ? (errno = EMFILE, -1) : open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    bool ok = j->top >= 0 && walk_stat(j->top, "", &st);
    if (!ok)
        error_set(err, ERR_IO, "open /: %m");
    else
        j->top_id = fence_id(&st);
    if (ok) {
        walk_fence(j, j->fence, in->protect, false);
        walk_fence(j, j->fence, in->hidden, true);
        j->any_hidden = in->hidden && *in->hidden;
    }
    fence_sort(j->fence);
    ok = ok && add_root(j, in->workspace, true, "workspace", err) && add_roots(j, in->read_roots, false, "read root", err)
         && add_roots(j, in->write_roots, true, "write root", err);
    if (!ok)
        return jail_free(j), false;
    return *out = j, true;
}

void jail_free(Jail *j) {
    if (!j)
        return;
    if (j->picks) {
        jail_picks_free(j->picks);
        free(j);
        return;
    }
    for (size_t i = 0; i < j->root.n; i++) {
        if (j->root.at[i].fd >= 0)
            close(j->root.at[i].fd);
        free(j->root.at[i].path);
    }
    VEC_CLEAR(&j->root);
    fence_free(j->fence);
    if (j->top >= 0)
        close(j->top);
    pthread_mutex_destroy(j->placing);
    free(j->placing);
    free(j);
}

/* ---- lookup ---- */

bool jail_place(const Jail *j, Str path, bool may_be_missing, Arena *arena, JailPlace *out, Error *err) {
    Walk w;
    Buf below = { 0 };
    bool ok = walk_to(&w, j, path, WALK_FOLLOW | (may_be_missing ? WALK_MISSING | WALK_PARENTS : 0), err);
    if (ok && w.at.root < 0) {                         /* picked */
        add_names(&w, 0, &below);
        Str absolute = arena_str(arena, buf_str(&below));
        *out = (JailPlace){ .root = UINT32_MAX, .path = absolute, .absolute = absolute, .exists = true, .picked = true };
    } else if (ok) {
        const JailRoot *root = &j->root.at[w.at.root];
        out->picked = false;
        size_t from = w.step.n;                        /* index of the step that is the root; past the end: the target
                                                        * is */
        for (size_t i = w.step.n; i-- > 0; )
            if (fence_same(w.step.at[i].id, root->id))
                from = i;
        if (from < w.step.n)
            add_names(&w, from, &below);
        out->root = (uint32_t)w.at.root;
        out->path = arena_str(arena, below.n ? str_sub(buf_str(&below), 1, below.n) : STR("."));
        out->absolute = str_from(arena_fmt(arena, "%s%s", root->path, buf_str(&below).at));
        if (!out->absolute.n)
            out->absolute = STR("/");
        out->exists = walk_exists(&w);
    }
    buf_clear(&below);
    walk_end(&w);
    return ok;
}

bool jail_stat(const Jail *j, Str path, JailStat *out, Error *err) {
    Walk w;
    bool ok = walk_to(&w, j, path, WALK_FOLLOW, err);
    if (ok)
        *out = walk_describe(&w.st);
    walk_end(&w);
    return ok;
}

bool jail_exists(const Jail *j, Str path, bool *out, Error *err) {
    Walk w;
    Error why = { 0 };
    bool ok = walk_to(&w, j, path, WALK_FOLLOW | WALK_MISSING | WALK_PARENTS, &why);
    bool missing = !ok && why.kind == ERR_IO && (errno == ENOENT || errno == ENOTDIR);  /* below a file, "none/.." */
    bool there = ok && walk_exists(&w);
    walk_end(&w);
    if (ok || missing)
        return *out = there, true;
    if (err)
        *err = why;
    return false;
}

bool jail_may_write(const Jail *j, Str path, Error *err) {
    Walk w;
    bool ok = walk_to(&w, j, path, WALK_FOLLOW | WALK_MISSING | WALK_PARENTS, err) && walk_may_write(&w, path, false, err);
    if (ok && walk_exists(&w))
        ok = walk_right_kind(&w, path, false, err);
    if (ok && (faccessat(w.dir, ".", W_OK, AT_EACCESS) < 0 || (walk_exists(&w) && faccessat(w.dir, w.name, W_OK, AT_EACCESS) < 0)))
        ok = walk_fail(path, errno, err);
    walk_end(&w);
    return ok;
}

/* ---- opening ---- */

static int open_path(const Jail *j, Str path, bool folder, JailStat *st, Error *err) {
    int fd = -1, flags = folder ? O_RDONLY | O_DIRECTORY : O_RDONLY | O_NONBLOCK;
    for (int i = 0; i < OPEN_TRIES; i++) {
        Walk w;
        bool found = walk_to(&w, j, path, WALK_FOLLOW, err) && walk_right_kind(&w, path, folder, err);
        fd = found ? walk_open_target(&w, flags, st) : -1;
        int error = errno;
        walk_end(&w);
        if (!found || fd >= 0)
            return fd;
        if (error != EAGAIN && error != ENOENT && error != ELOOP)
            return walk_fail(path, error, err), -1;
    }
    walk_fail(path, EAGAIN, err);
    return -1;
}

int jail_open_read(const Jail *j, Str path, JailStat *st, Error *err) {
    JailStat ignored;
    return open_path(j, path, false, st ? st : &ignored, err);
}

int jail_open_dir(const Jail *j, Str path, Error *err) {
    JailStat ignored;
    return open_path(j, path, true, &ignored, err);
}

/* Checks one entry by its own identity and that of its folder, without its path: enough for files that are hidden themselves. */
static bool is_hidden(const Jail *j, int dir, const char *name, const struct statx *st) {
    struct statx above;
    if (!j->any_hidden)
        return false;
    if (!walk_stat(dir, "", &above))
        return true;
    FileId id = fence_id(st), folder = fence_id(&above);
    FenceMatch m = fence_start(j->fence, &folder, NULL);
    return fence_enter(j->fence, &m, str_from(name), &id).hidden;
}

/* ---- reading ---- */

static bool too_large(Str path, size_t limit, Error *err) {
    char shown[320];
    return error_set(err, ERR_LIMIT, "%s: file is larger than %zu bytes", walk_show(path, shown), limit);
}

int jail_open_upto(const Jail *j, Str path, size_t limit, JailStat *st, Error *err) {
    int fd = jail_open_read(j, path, st, err);
    if (limit > JAIL_FILE_MAX)
        limit = JAIL_FILE_MAX;
    if (fd >= 0 && (uint64_t)st->size > limit) {
        too_large(path, limit, err);
        close(fd);
        return -1;
    }
    return fd;
}

bool jail_read_piece(int fd, Str path, size_t room, Buf *out, bool *end, Error *err) {
    ssize_t n;
    do n = fault_hit() ? (errno = EIO, -1) : read(fd, buf_room(out, room), room);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return walk_fail(path, errno, err);
    buf_commit(out, (size_t)n);
    *end = n == 0;
    return true;
}

static bool read_all(int fd, Str path, size_t limit, size_t size, Buf *out, Error *err) {
    size_t step = size < limit ? size + 1 : READ_STEP; /* + 1: the read that finds the end needs space */
    for (bool end = false; !end;) {
        if (!jail_read_piece(fd, path, step, out, &end, err))
            return false;
        if (out->n > limit)
            return too_large(path, limit, err);
        size_t left = out->cap - out->n - 1;           /* use the free space before growing */
        step = left ? left : READ_STEP;
    }
    return true;
}

bool jail_read(const Jail *j, Str path, size_t limit, Buf *out, JailStat *st, Error *err) {
    JailStat found;
    Buf content = { 0 };
    if (limit > JAIL_FILE_MAX)
        limit = JAIL_FILE_MAX;
    int fd = jail_open_upto(j, path, limit, &found, err);
    if (fd < 0)
        return false;
    bool ok = read_all(fd, path, limit, (size_t)found.size, &content, err);
    close(fd);
    if (!ok)
        return buf_clear(&content), false;
    buf_clear(out);
    *out = content;
    if (st)
        *st = found;
    return true;
}

static int compare_entries(const void *a, const void *b) {
    return str_cmp(((const JailEntry *)a)->name, ((const JailEntry *)b)->name);
}

typedef VEC(JailEntry) Entries;

static bool list_dir(const Jail *j, DIR *d, Str path, Arena *arena, Entries *found, Error *err) {
    struct dirent *e;
    struct statx st;
    for (;;) {
        errno = fault_hit() ? EIO : 0;
        if (errno || !(e = readdir(d)))
            return errno == 0 || walk_fail(path, errno, err);
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        if (!vec_limit(found->n, ENTRIES_MAX, "files in one folder", err))
            return false;
        if (!walk_stat(dirfd(d), e->d_name, &st)) {
            if (errno == ENOENT)                       /* removed since */
                continue;
            return walk_fail(path, errno, err);
        }
        if (!is_hidden(j, dirfd(d), e->d_name, &st))
            VEC_PUSH(found, (JailEntry){ arena_str(arena, str_from(e->d_name)), walk_describe(&st) });
    }
}

bool jail_list(const Jail *j, Str path, Arena *arena, JailEntry **out, size_t *n, Error *err) {
    Entries found = { 0 };
    int fd = jail_open_dir(j, path, err);
    if (fd < 0)
        return false;
    DIR *d = fault_hit() ? (errno = EMFILE, NULL) : fdopendir(fd);
    bool ok = d ? list_dir(j, d, path, arena, &found, err) : walk_fail(path, errno, err);
    if (d)
        closedir(d);
    else
        close(fd);
    if (ok) {
        if (found.n)
            qsort(found.at, found.n, sizeof *found.at, compare_entries);
        *out = ARENA_ARRAY(arena, JailEntry, found.n);
        if (found.n)
            memcpy(*out, found.at, found.n * sizeof *found.at);
        *n = found.n;
    }
    VEC_CLEAR(&found);
    return ok;
}
