#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
#include "base/fault.h"
#include "base/mem.h"
#include "sandbox/jail_temp.h"
#include "sandbox/jail_tree.h"

#ifdef HARNESS_HOSTILE
enum { COPY_STEP = 6 };
#else
enum { COPY_STEP = 256 << 10 };
#endif

/* ---- one file, one link ---- */

static bool copy_bytes(int from, JailTemp *t, Str path, Cancel *cancel, Error *err) {
    char *block = mem_alloc(COPY_STEP);
    bool ok = true;
    for (ssize_t n = 1; ok && n > 0; ) {
        n = fault_hit() ? (errno = EIO, -1) : read(from, block, COPY_STEP);
        if (n < 0 && errno == EINTR)
            n = 1;
        else if (n < 0)
            ok = walk_fail(path, errno, err);
        else
            ok = cancel_check(cancel, err) && (jail_temp_write(t, (Str){ block, (size_t)n }) || walk_fail(path, errno, err));
    }
    free(block);
    return ok;
}

/* The name appears only when the copy is complete; keeps the mode, but not the owner. */
static bool copy_file(int from, int dir, const char *name, bool fresh, Str path, Cancel *cancel, Error *err) {
    JailTemp t;
    struct statx st;
    if (!walk_stat(from, "", &st))
        return walk_fail(path, errno, err);
    bool ok = (jail_temp_open(&t, dir, 0600) || walk_fail(path, errno, err)) && copy_bytes(from, &t, path, cancel, err);
    if (ok && (fchmod(t.fd, st.stx_mode & 0777) < 0 || !jail_temp_finish(&t, NULL)))
        ok = walk_fail(path, errno, err);
    ok = ok && cancel_check(cancel, err) && (jail_temp_place(&t, name, fresh, NULL) || walk_fail(path, errno, err));
    jail_temp_drop(&t);
    return ok;
}

static bool copy_link(int from, const char *name, int dir, const char *as, Str path, Error *err) {
    char text[PATH_MAX];
    ssize_t n = readlinkat(from, name, text, sizeof text - 1);
    if (n < 0)
        return walk_fail(path, errno, err);
    text[n] = 0;
    bool ok = fault_hit() ? (errno = EIO, false) : symlinkat(text, dir, as) == 0;
    return ok || walk_fail(path, errno, err);
}

/* ---- a tree ---- */

typedef struct Level { char **name; size_t n, next; uint32_t mode; } Level;   /* the remaining work in one folder */
typedef struct Copy { Walk *from, *to; Str path; Cancel *cancel; VEC(Level) level; } Copy;

static bool fail_at(const Copy *c, Error *err) { return walk_fail(c->path, errno, err); }

static void drop_level(Copy *c) {
    Level *l = &VEC_LAST(&c->level);
    for (size_t i = 0; i < l->n; i++)
        free(l->name[i]);
    free(l->name);
    c->level.n--;
}

/* Reads the names of the folder that `from` is in. */
static bool open_level(Copy *c, uint32_t mode, Error *err) {
    VEC(char *) names = { 0 };
    struct dirent *e;
    int fd = walk_open(c->from->dir, ".", O_RDONLY | O_DIRECTORY, 0);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (!d)
        return fail_at(c, err), fd >= 0 ? close(fd), false : false;
    while ((errno = 0, e = readdir(d)))
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            VEC_PUSH(&names, mem_dup(e->d_name, strlen(e->d_name)));
    bool ok = errno == 0 || fail_at(c, err);
    closedir(d);
    VEC_PUSH(&c->level, (Level){ .name = names.at, .n = names.n, .mode = mode });
    return ok;
}

static bool copy_regular(Copy *c, const char *name, Error *err) {
    int fd = walk_open(c->from->dir, name, O_RDONLY | O_NONBLOCK, 0);
    if (fd < 0)
        return fail_at(c, err);
    bool ok = copy_file(fd, c->to->dir, name, true, c->path, c->cancel, err);
    close(fd);
    return ok;
}

static bool copy_entry(Copy *c, const char *name, Error *err) {
    struct statx st;
    if (!cancel_check(c->cancel, err))
        return false;
    if (!walk_stat(c->from->dir, name, &st))
        return fail_at(c, err);
    if (walk_peek(c->from, name, &st).match.hidden)
        return walk_refuse(c->path, "contains files that may not be read", err);
    if (walk_peek(c->to, name, NULL).match.locked)
        return walk_refuse(c->path, "would create a protected file", err);
    if (S_ISREG(st.stx_mode))
        return copy_regular(c, name, err);
    if (S_ISLNK(st.stx_mode))
        return copy_link(c->from->dir, name, c->to->dir, name, c->path, err);
    if (!S_ISDIR(st.stx_mode)) {
        char shown[320];
        return error_set(err, ERR_IO, "%s: %s in it is not a regular file", walk_show(c->path, shown), name);
    }
    bool ok = fault_hit() ? (errno = EIO, false)
                          : mkdirat(c->to->dir, name, 0700) == 0 && walk_down(c->from, name) && walk_down(c->to, name);
    return ok ? open_level(c, st.stx_mode, err) : fail_at(c, err);
}

static bool copy_all(Copy *c, Error *err) {
    while (c->level.n) {
        Level *l = &VEC_LAST(&c->level);
        if (l->next < l->n) {
            if (!copy_entry(c, l->name[l->next++], err))
                return false;
            continue;
        }
        if (fchmodat(c->to->dir, ".", l->mode & 0777, 0) < 0)   /* last, since it may forbid writing */
            return fail_at(c, err);
        drop_level(c);
        if (c->level.n && !(walk_up(c->from) && walk_up(c->to)))
            return fail_at(c, err);
    }
    return true;
}

/* Creates a folder with a temporary name next to the target and enters it, with the fence of the target's name. */
static bool begin_folder(Walk *to, char *temp, Str path, Error *err) {
    jail_temp_name(temp);
    bool ok = fault_hit() ? (errno = EIO, false) : mkdirat(to->dir, temp, 0700) == 0;
    if (!ok)
        return walk_fail(path, errno, err);
    FenceMatch match = to->at.match;
    if (!walk_down(to, temp)) {
        int error = errno;
        unlinkat(to->dir, temp, AT_REMOVEDIR);
        return walk_fail(path, error, err);
    }
    VEC_LAST(&to->step).match = match;
    return true;
}

/* Goes back to the folder that contains the copy and removes the copy. */
static void undo_folder(Walk *to, size_t depth, Str path) {
    while (to->step.n > depth)
        if (!walk_up(to))
            return;
    to->force = true;
    if (walk_out(to))
        jail_remove_target(to, path, NULL, NULL);
}

static bool copy_folder(Walk *from, Walk *to, Str path, Cancel *cancel, Error *err) {
    Copy c = { .from = from, .to = to, .path = path, .cancel = cancel };
    char temp[JAIL_TEMP_NAME], name[NAME_MAX + 1];
    memcpy(name, to->name, sizeof name);
    for (size_t i = 0; i < to->step.n; i++)
        if (fence_same(to->step.at[i].id, from->at.id))
            return error_set(err, ERR_IO, STR_FMT ": a folder cannot be copied into itself", STR_ARG(str_sub(path, 0, 300)));
    walk_into(from);
    if (!begin_folder(to, temp, path, err))
        return false;
    size_t depth = to->step.n;
    bool ok = open_level(&c, from->st.stx_mode, err) && copy_all(&c, err) && cancel_check(cancel, err);
    while (c.level.n)
        drop_level(&c);
    VEC_CLEAR(&c.level);
    if (ok) {
        ok = walk_up(to) && (fault_hit() ? (errno = EIO, false) : renameat2(to->dir, temp, to->dir, name, RENAME_NOREPLACE) == 0);
        if (!ok)
            fail_at(&c, err), walk_down(to, temp);
    }
    if (!ok && to->step.n >= depth)
        undo_folder(to, depth, path);
    return ok;
}

/* Copies the target of `from` (file, folder or link) to that of `to`; a folder appears atomically. */
static bool copy_target(Walk *from, Walk *to, Str path, Cancel *cancel, Error *err) {
    JailStat st;
    if (S_ISDIR(from->st.stx_mode))
        return walk_exists(to) ? walk_fail(path, EEXIST, err) : copy_folder(from, to, path, cancel, err);
    if (S_ISLNK(from->st.stx_mode))
        return copy_link(from->target, "", to->dir, to->name, path, err);
    int fd = walk_open_target(from, O_RDONLY | O_NONBLOCK, &st);
    if (fd < 0)
        return walk_fail(path, errno, err);
    bool ok = copy_file(fd, to->dir, to->name, false, path, cancel, err);
    close(fd);
    return ok;
}

/* ---- entry points ---- */

bool jail_copy(const Jail *j, Str from, Str to, Cancel *cancel, Error *err) {
    Walk source, goal = { .dir = -1, .target = -1 };
    bool ok = walk_to(&source, j, from, WALK_FOLLOW, err)
              && (S_ISDIR(source.st.stx_mode) || walk_right_kind(&source, from, false, err))
              && walk_to(&goal, j, to, WALK_FOLLOW | WALK_MISSING, err) && walk_may_write(&goal, to, false, err);
    if (ok && walk_exists(&goal) && !S_ISDIR(source.st.stx_mode))
        ok = walk_right_kind(&goal, to, false, err)
             && (faccessat(goal.dir, goal.name, W_OK, AT_EACCESS) == 0 || walk_fail(to, errno, err));
    if (ok && walk_exists(&goal) && fence_same(goal.at.id, source.at.id))
        ok = error_set(err, ERR_IO, STR_FMT ": is the same file", STR_ARG(str_sub(to, 0, 300)));
    ok = ok && copy_target(&source, &goal, to, cancel, err);
    walk_end(&source);
    walk_end(&goal);
    return ok;
}

static bool move_across(Walk *from, Walk *to, Str path, Cancel *cancel, Error *err) {
    if (walk_exists(to) && (S_ISDIR(to->st.stx_mode) || S_ISLNK(to->st.stx_mode) || !S_ISREG(from->st.stx_mode)))
        return walk_fail(path, EEXIST, err);
    if (!S_ISREG(from->st.stx_mode) && !S_ISDIR(from->st.stx_mode) && !S_ISLNK(from->st.stx_mode))
        return walk_fail(path, EXDEV, err);
    if (!copy_target(from, to, path, cancel, err))
        return false;
    if (S_ISDIR(from->st.stx_mode) && !walk_out(from)) /* copying has entered it */
        return walk_fail(path, errno, err);
    return jail_remove_target(from, path, cancel, err);
}

bool jail_move(const Jail *j, Str from, Str to, Cancel *cancel, Error *err) {
    Walk source, goal = { .dir = -1, .target = -1 };
    bool ok = walk_to(&source, j, from, 0, err) && walk_may_write(&source, from, true, err)
              && walk_to(&goal, j, to, WALK_MISSING, err) && walk_may_write(&goal, to, true, err) && cancel_check(cancel, err);
    if (ok) {
        int error = fault_hit() ? EIO : renameat(source.dir, source.name, goal.dir, goal.name) == 0 ? 0 : errno;
        if (error == EINVAL)
            ok = error_set(err, ERR_IO, STR_FMT ": a folder cannot be moved into itself", STR_ARG(str_sub(to, 0, 300)));
        else if (error == EXDEV)
            ok = move_across(&source, &goal, to, cancel, err);
        else
            ok = error == 0 || walk_fail(error == ENOENT ? from : to, error, err);
    }
    walk_end(&source);
    walk_end(&goal);
    return ok;
}
