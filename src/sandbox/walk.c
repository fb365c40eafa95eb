#include "sandbox/walk.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>
#include "base/fault.h"
#include "base/mem.h"
#include "base/utf8.h"

enum { LINKS_MAX = 40, REST_MAX = 3 * PATH_MAX, TRIES_MAX = 64 };

/* ---- messages ---- */

const char *walk_show(Str path, char out[static 320]) {
    Str head = path.n > 300 ? str_sub(path, 0, 140) : path, tail = path.n > 300 ? str_sub(path, path.n - 140, path.n) : STR("");
    Buf text = { 0 };
    utf8_escape(head, false, &text);
    if (tail.n) buf_add(&text, STR("…"));
    utf8_escape(tail, false, &text);
    snprintf(out, 320, "%s", buf_str(&text).at);
    buf_clear(&text);
    return out;
}

bool walk_refuse(Str path, const char *why, Error *err) {
    char shown[320];
    return error_set(err, ERR_SANDBOX, "%s: %s", walk_show(path, shown), why);
}

bool walk_fail(Str path, int error, Error *err) {
    char shown[320];
    const char *why = error == ENOENT ? "no such file" : error == ENOTDIR ? "not a folder" : error == EISDIR ? "is a folder"
                    : error == EACCES || error == EPERM ? "permission denied" : error == ELOOP ? "too many links"
                    : error == ENAMETOOLONG ? "name too long" : error == EEXIST ? "already exists"
                    : error == ENOTEMPTY ? "folder is not empty" : error == ENOSPC || error == EDQUOT ? "no space left on the disk"
                    : error == EROFS ? "the file system is read-only" : error == EAGAIN ? "moved while it was being opened"
                    : error == EOPNOTSUPP ? "files of a process file system cannot be read" : NULL;
    errno = error;
    return why ? error_set(err, ERR_IO, "%s: %s", walk_show(path, shown), why)
               : error_set(err, ERR_IO, "%s: %m", walk_show(path, shown));
}

/* ---- system calls ---- */

/* For a name without a slash other than "..", openat() is as safe where openat2() is missing. */
static bool single_name(const char *name) {
    return *name && strcmp(name, "..") != 0 && !strchr(name, '/');
}

int walk_open(int dir, const char *name, int flags, mode_t mode) {
    if (fault_hit())
        return errno = EMFILE, -1;
    if (!single_name(name))
        return errno = EINVAL, -1;
    flags |= O_NOFOLLOW | O_CLOEXEC | O_NOCTTY;
    if (flags & O_PATH)
        flags &= O_PATH | O_NOFOLLOW | O_CLOEXEC | O_DIRECTORY;
    struct open_how how = { .flags = (uint64_t)(unsigned)flags, .mode = flags & O_CREAT ? mode : 0,
                            .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | (flags & O_PATH ? 0 : RESOLVE_NO_SYMLINKS) };
    int fd = (int)syscall(SYS_openat2, dir, name, &how, sizeof how);
    if (fd < 0 && (errno == ENOSYS || errno == EPERM))  /* an old kernel, or a container's filter that refuses it */
        fd = openat(dir, name, flags, mode);
    return fd;
}

bool walk_stat(int dir, const char *name, struct statx *st) {
    if (fault_hit())
        return errno = EIO, false;
    return statx(dir, name, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, STATX_BASIC_STATS | STATX_BTIME, st) == 0;
}

/* fchmod() needs a file opened for reading, which its mode may not allow; fchmodat2() and /proc do not. */
bool walk_chmod(int fd, mode_t mode) {
    enum { SYS_FCHMODAT2 = 452 };                      /* the same on all architectures; missing in the headers */
    char path[40];
    if (fault_hit())
        return errno = EPERM, false;
    if (syscall(SYS_FCHMODAT2, fd, "", mode, AT_EMPTY_PATH) == 0)
        return true;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return chmod(path, mode) == 0;
}

JailStat walk_describe(const struct statx *st) {
    mode_t mode = st->stx_mode;
    return (JailStat){ .type = S_ISREG(mode) ? 'f' : S_ISDIR(mode) ? 'd' : S_ISLNK(mode) ? 'l' : 'o',
                       .size = (int64_t)st->stx_size, .mode = mode & 07777, .inode = st->stx_ino,
                       .modified_ns = st->stx_mtime.tv_sec * 1000000000 + st->stx_mtime.tv_nsec,
                       .device = makedev(st->stx_dev_major, st->stx_dev_minor) };
}

/* Its files expose this process's memory and environment. */
bool walk_is_process_fs(int fd) {
    struct statfs fs;
    return fstatfs(fd, &fs) == 0 && fs.f_type == PROC_SUPER_MAGIC;
}

/* ---- steps ---- */

static void set_dir(Walk *w, int fd, bool owned) {
    if (w->dir_owned)
        close(w->dir);
    w->dir = fd;
    w->dir_owned = owned;
}

/* Computes the step from `parent` to a file: the roots that contain the file, and the fence's match. */
static WalkStep enter(const Walk *w, const WalkStep *parent, Str name, const struct statx *st) {
    WalkStep s = { .root = parent->root, .writable = parent->writable };
    if (st)
        s.id = fence_id(st);
    if (w->build) {
        s.node = fence_child(w->build, parent->node, name, st ? &s.id : NULL);
        return s;
    }
    const JailRoot *roots = w->jail->root.at;
    for (size_t i = 0; st && i < w->jail->root.n; i++) {
        if (roots[i].fd < 0 || !fence_same(roots[i].id, s.id))
            continue;
        s.writable |= roots[i].writable;
        s.root = s.root == 0 ? 0 : (int32_t)i;
    }
    s.match = fence_enter(w->jail->fence, &parent->match, name, st ? &s.id : NULL);
    return s;
}

WalkStep walk_peek(const Walk *w, const char *name, const struct statx *st) {
    return enter(w, &VEC_LAST(&w->step), str_from(name), st);
}

/* Takes ownership of `fd`, an open folder. */
static void push(Walk *w, WalkStep s, Str name, int fd) {
    s.name = (uint32_t)w->names.n;
    s.length = (uint32_t)name.n;
    buf_add(&w->names, name);
    VEC_PUSH(&w->step, s);
    set_dir(w, fd, true);
}

static void start(Walk *w, bool absolute) {
    const Jail *j = w->jail;
    WalkStep s = { .root = -1, .id = j->top_id };
    if (w->build) {
        s.node = fence_top(w->build);
        fence_set(s.node, &j->top_id);
    } else if (absolute) {
        s.match = fence_start(j->fence, &j->top_id, NULL);
        for (size_t i = 0; i < j->root.n; i++) {       /* true if "/" is a root */
            if (j->root.at[i].fd < 0 || !fence_same(j->root.at[i].id, j->top_id))
                continue;
            s.root = s.root == 0 ? 0 : (int32_t)i;
            s.writable |= j->root.at[i].writable;
        }
    } else {
        s = (WalkStep){ .id = j->root.at[0].id, .root = 0, .writable = true };
        s.match = fence_start(j->fence, &s.id, &j->root.at[0].match);
    }
    w->step.n = 0;
    buf_reset(&w->names);
    VEC_PUSH(&w->step, s);
    set_dir(w, absolute ? j->top : j->root.at[0].fd, false);
}

/* True if the step crosses into a process file system. Only a change of device can do that. */
static bool is_forbidden(const Walk *w, int fd, const struct statx *st) {
    return fence_id(st).device != VEC_LAST(&w->step).id.device && walk_is_process_fs(fd);
}

bool walk_down(Walk *w, const char *name) {
    struct statx st;
    int fd = walk_open(w->dir, name, O_PATH | O_DIRECTORY, 0), error = 0;
    if (fd < 0)
        return false;
    if (!walk_stat(fd, "", &st))
        error = errno;
    else if (is_forbidden(w, fd, &st))
        error = EOPNOTSUPP;
    if (error)
        return close(fd), errno = error, false;
    push(w, walk_peek(w, name, &st), str_from(name), fd);
    return true;
}

/* The parent must be the folder that was walked through, else the folder was moved. */
bool walk_up(Walk *w) {
    if (w->step.n < 2)
        return errno = EXDEV, false;
    const WalkStep *to = &w->step.at[w->step.n - 2];
    struct statx st;
    int fd = fault_hit() ? (errno = EMFILE, -1) : openat(w->dir, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return false;
    if (!walk_stat(fd, "", &st) || !fence_same(fence_id(&st), to->id))
        return close(fd), errno = EAGAIN, false;
    w->names.n = VEC_LAST(&w->step).name;
    w->step.n--;
    set_dir(w, fd, true);
    return true;
}

void walk_into(Walk *w) {
    if (!w->name[0])
        return;
    int fd = w->target;
    w->target = -1;
    push(w, w->at, str_from(w->name), fd);
    w->name[0] = 0;
}

bool walk_out(Walk *w) {
    WalkStep last = VEC_LAST(&w->step);
    char name[NAME_MAX + 1];
    struct statx st;
    memcpy(name, buf_str(&w->names).at + last.name, last.length);
    name[last.length] = 0;
    if (!walk_stat(w->dir, "", &st))
        return false;
    w->st = st;
    w->at = last;
    if (w->step.n == 1)                                /* no name: the walk started here */
        return true;
    int fd = fault_hit() ? (errno = EMFILE, -1) : fcntl(w->dir, F_DUPFD_CLOEXEC, 0);
    if (fd < 0)
        return false;
    if (!walk_up(w)) {
        int error = errno;
        return close(fd), errno = error, false;
    }
    memcpy(w->name, name, sizeof name);
    w->target = fd;
    return true;
}

int walk_target(const Walk *w) { return w->name[0] ? w->target : w->dir; }

/* ---- a whole path ---- */

/* Splits off the next name; false at the end. */
static bool next_name(Str *rest, Str *name) {
    while (rest->n && rest->at[0] == '/')
        *rest = str_sub(*rest, 1, rest->n);
    size_t n = 0;
    while (n < rest->n && rest->at[n] != '/')
        n++;
    *name = str_sub(*rest, 0, n);
    *rest = str_sub(*rest, n, rest->n);
    return n > 0;
}

static bool only_slashes(Str s) {
    while (s.n && s.at[0] == '/')
        s = str_sub(s, 1, s.n);
    return s.n == 0;
}

/* Prepends the link's target to the rest; an absolute one restarts at the top. */
static bool follow(Walk *w, int link, Str rest) {
    char text[PATH_MAX];
    ssize_t n = fault_hit() ? (errno = EIO, -1) : readlinkat(link, "", text, sizeof text);
    if (n <= 0)
        return errno = n == 0 ? ENOENT : errno, false;
    if (++w->links > LINKS_MAX)
        return errno = ELOOP, false;
    if ((size_t)n == sizeof text || (size_t)n + rest.n > REST_MAX)
        return errno = ENAMETOOLONG, false;
    Buf next = { 0 };
    buf_add(&next, (Str){ text, (size_t)n });
    buf_add(&next, rest);                              /* empty, or starts with a slash */
    buf_clear(&w->rest);
    w->rest = next;
    if (text[0] == '/')
        start(w, true);
    return true;
}

static bool set_target(Walk *w, Str name, int fd, WalkStep at, const struct statx *st) {
    memcpy(w->name, name.at, name.n);
    w->name[name.n] = 0;
    w->target = fd;
    w->at = at;
    if (st)
        w->st = *st;
    return true;
}

/* The rest of the path does not exist. Only names: ".." after a missing folder is invalid. */
static bool set_missing(Walk *w, Str name, Str rest, unsigned how) {
    bool last = only_slashes(rest);
    if (!(how & WALK_PARENTS) && !(last && how & WALK_MISSING))
        return errno = ENOENT, false;
    buf_reset(&w->missing);
    for (Str part, left = rest; next_name(&left, &part); ) {
        if (str_eq(part, STR(".")))
            continue;
        if (str_eq(part, STR("..")))
            return errno = ENOENT, false;
        if (part.n > NAME_MAX)
            return errno = ENAMETOOLONG, false;
        if (w->missing.n)
            buf_add_char(&w->missing, '/');
        buf_add(&w->missing, part);
    }
    return set_target(w, name, -1, enter(w, &VEC_LAST(&w->step), name, NULL), NULL);
}

typedef enum { GO_ON, DONE, FAILED } Progress;

static Progress go_on(Walk *w, Str rest) {             /* rest is a suffix of w->rest */
    memmove(w->rest.at, rest.at, rest.n);
    w->rest.n = rest.n;
    return GO_ON;
}

/* One name: a step down, the target, or a link to follow. Takes ownership of `fd`. */
static Progress arrive(Walk *w, Str name, Str rest, unsigned how, int fd) {
    struct statx st;
    bool last = only_slashes(rest);
    int error = 0;
    if (!walk_stat(fd, "", &st))
        error = errno;
    else if (!w->build && is_forbidden(w, fd, &st))
        error = EOPNOTSUPP;
    else if (S_ISLNK(st.stx_mode) && (!last || how & WALK_FOLLOW)) {
        if (w->build)
            enter(w, &VEC_LAST(&w->step), name, &st);  /* the link itself is fenced too */
        if (follow(w, fd, rest))
            return close(fd), GO_ON;
        error = errno;
    } else if (!S_ISDIR(st.stx_mode) && (!last || (rest.n && !S_ISLNK(st.stx_mode))))
        error = ENOTDIR;
    if (error)
        return close(fd), errno = error, FAILED;
    WalkStep s = enter(w, &VEC_LAST(&w->step), name, &st);
    if (last)
        return set_target(w, name, fd, s, &st), DONE;
    push(w, s, name, fd);
    return go_on(w, rest);
}

static Progress advance(Walk *w, unsigned how) {
    Str rest = buf_str(&w->rest), name;
    if (!next_name(&rest, &name))
        return DONE;
    if (name.n > NAME_MAX)
        return errno = ENAMETOOLONG, FAILED;
    bool dot = str_eq(name, STR(".")), up = str_eq(name, STR(".."));
    if (dot || up) {
        bool at_top = w->step.n == 1 && fence_same(w->step.at[0].id, w->jail->top_id);
        if (up && !at_top && !walk_up(w))
            return FAILED;
        return go_on(w, rest);
    }
    char text[NAME_MAX + 1];
    memcpy(text, name.at, name.n);
    text[name.n] = 0;
    int fd = walk_open(w->dir, text, O_PATH, 0);
    if (fd >= 0)
        return arrive(w, (Str){ text, name.n }, rest, how, fd);
    return errno == ENOENT && set_missing(w, (Str){ text, name.n }, rest, how) ? DONE : FAILED;
}

static void forget(Walk *w) {
    if (w->target >= 0)
        close(w->target);
    w->target = -1;
    w->name[0] = 0;
    w->links = 0;
    w->is_root = false;
    buf_reset(&w->missing);
}

static bool walk_once(Walk *w, Str path, unsigned how) {
    forget(w);
    buf_reset(&w->rest);
    buf_add(&w->rest, path);
    start(w, w->build || path.at[0] == '/');
    Progress p;
    while ((p = advance(w, how)) == GO_ON) {}
    return p == DONE && (w->name[0] || walk_out(w));
}

static void note_target(Walk *w) {
    for (size_t i = 0; i < w->jail->root.n && (w->target >= 0 || !w->name[0]); i++)
        w->is_root |= w->jail->root.at[i].fd >= 0 && fence_same(w->jail->root.at[i].id, w->at.id);
    /* A missing name may be fenced even if the one before it is not. */
    Str rest = buf_str(&w->missing), part;
    while (next_name(&rest, &part))
        w->at.match = fence_enter(w->jail->fence, &w->at.match, part, NULL);
}

bool walk_anywhere(Walk *w, const Jail *j, Str path, unsigned how) {
    *w = (Walk){ .jail = j, .dir = -1, .target = -1 };
    bool ok = false;
    for (int i = 0; i < TRIES_MAX && !ok && (i == 0 || errno == EAGAIN); i++)
        ok = walk_once(w, path, how);
    if (ok)
        note_target(w);
    return ok;
}

bool walk_at(Walk *w, const Jail *j, int dir, const char *name) {
    struct statx st;
    *w = (Walk){ .jail = j, .dir = dir, .target = -1 };
    if (!walk_stat(dir, "", &st))
        return false;
    VEC_PUSH(&w->step, (WalkStep){ .root = -1, .id = fence_id(&st) });
    w->target = walk_open(dir, name, O_PATH, 0);
    if (w->target < 0 || !walk_stat(w->target, "", &w->st))
        return false;
    snprintf(w->name, sizeof w->name, "%s", name);
    w->at = walk_peek(w, name, &w->st);
    return true;
}

bool walk_to(Walk *w, const Jail *j, Str path, unsigned how, Error *err) {
    *w = (Walk){ .jail = j, .dir = -1, .target = -1 };
    if (path.n == 0)
        return errno = EINVAL, error_set(err, ERR_IO, "the path is empty");
    if (memchr(path.at, 0, path.n))
        return walk_refuse(path, "a path must not contain a NUL byte", err);
    if (path.n >= PATH_MAX)
        return walk_fail(path, ENAMETOOLONG, err);
    bool ok = walk_anywhere(w, j, path, how);
    int error = errno;
    const WalkStep *end = ok ? &w->at : &VEC_LAST(&w->step);
    if (ok && end->root < 0 && !end->match.hidden && S_ISREG(w->st.stx_mode) && jail_picked(j, end->id))
        return true;
    if (end->root < 0 || end->match.hidden || (!ok && error == EXDEV))
        return walk_refuse(path, "outside the workspace", err);   /* do not reveal what exists outside */
    return ok || walk_fail(path, error, err);
}

void walk_end(Walk *w) {
    if (w->target >= 0)
        close(w->target);
    if (w->dir_owned)
        close(w->dir);
    VEC_CLEAR(&w->step);
    buf_clear(&w->names);
    buf_clear(&w->rest);
    buf_clear(&w->missing);
    w->target = w->dir = -1;
    w->dir_owned = false;
}

bool walk_may_write(const Walk *w, Str path, bool away, Error *err) {
    if (w->jail->read_only)
        return walk_refuse(path, "nothing may be written here", err);
    if (!w->at.writable)
        return walk_refuse(path, "may only be read", err);
    if (w->at.match.locked)
        return walk_refuse(path, "is protected", err);
    if (away && w->is_root)
        return walk_refuse(path, "is a root of the sandbox", err);
    if (away && w->at.match.n)
        return walk_refuse(path, "leads to a protected file", err);
    return true;
}

int walk_open_target(const Walk *w, int flags, JailStat *st) {
    struct statx now;
    int fd = walk_open(w->dir, w->name[0] ? w->name : ".", flags, 0);
    if (fd < 0)
        return -1;
    int error = !walk_stat(fd, "", &now) ? errno : fence_same(fence_id(&now), w->at.id) ? 0 : EAGAIN;
    if (error)
        return close(fd), errno = error, -1;
    *st = walk_describe(&now);
    return fd;
}

bool walk_right_kind(const Walk *w, Str path, bool folder, Error *err) {
    char shown[320];
    if (folder)
        return S_ISDIR(w->st.stx_mode) || walk_fail(path, ENOTDIR, err);
    if (S_ISDIR(w->st.stx_mode))
        return walk_fail(path, EISDIR, err);
    return S_ISREG(w->st.stx_mode) || error_set(err, ERR_IO, "%s: not a regular file", walk_show(path, shown));
}

/* ---- building a fence ---- */

/* "PATH/?" locks nothing; it excludes the name from a "*": see snapshot.h. */
/* The length of the beginning of `path` that leads to the folder where the last walk ended; 0 if it does not, or if that walk followed a link. */
static size_t common(const Walk *w, Str path) {
    size_t n = 0;
    if (w->links || w->step.n < 2)
        return 0;
    for (size_t i = 1; i < w->step.n; i++) {
        Str name = { w->names.at + w->step.at[i].name, w->step.at[i].length };
        if (n + 1 + name.n >= path.n || path.at[n] != '/' || memcmp(path.at + n + 1, name.at, name.n) != 0)
            return 0;
        n += 1 + name.n;
    }
    return path.at[n] == '/' ? n + 1 : 0;
}

/* Most protected files are in few folders: walks on from the last one. */
static bool walk_next(Walk *w, Str path) {
    size_t from = common(w, path);
    Progress p;
    if (!from)
        return walk_once(w, path, WALK_FOLLOW | WALK_PARENTS);
    forget(w);
    buf_reset(&w->rest);
    buf_add(&w->rest, str_sub(path, from, path.n));
    while ((p = advance(w, WALK_FOLLOW | WALK_PARENTS)) == GO_ON) {}
    return p == DONE && (w->name[0] || walk_out(w));
}

static void fence_path(Walk *w, Str path, bool hidden) {
    static const char mark[] = "/?";
    bool is_free = str_ends(path, STR("/?")) && path.n > sizeof mark - 1;
    if (is_free) path = str_sub(path, 0, path.n - (sizeof mark - 1));
    bool ok = walk_next(w, path);
    for (int i = 1; i < TRIES_MAX && !ok && errno == EAGAIN; i++)
        ok = walk_once(w, path, WALK_FOLLOW | WALK_PARENTS);
    FenceNode *node = ok ? w->at.node : VEC_LAST(&w->step).node;
    if (!ok) {                                         /* stopped on the way: continue by name */
        buf_reset(&w->missing);
        buf_add(&w->missing, buf_str(&w->rest));
    }
    Str rest = buf_str(&w->missing), part;
    while (next_name(&rest, &part))
        node = str_eq(part, STR("..")) ? fence_parent(node) : str_eq(part, STR(".")) ? node : fence_child(w->build, node, part, NULL);
    if (is_free) fence_free_name(node);
    else fence_close(node, hidden);
}

void walk_fence(const Jail *j, Fence *f, const char *const *paths, bool hidden) {
    Walk w = { .jail = j, .build = f, .dir = -1, .target = -1 };
    for (; paths && *paths; paths++)
        fence_path(&w, str_from(*paths), hidden);
    walk_end(&w);
}
