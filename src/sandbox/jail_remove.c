#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>
#include "base/fault.h"
#include "sandbox/jail_tree.h"

/* Removes a tree of any depth with two descriptors: down by name, up by "..", which must be the folder that the walk
 * came from (see walk_up). After each subfolder, reads its parent again from the start. */

typedef enum { EMPTY, FOLDER, FAILED } Found;

static bool unlink_at(int dir, const char *name, int flags) {
    return fault_hit() ? (errno = EIO, false) : unlinkat(dir, name, flags) == 0;
}

static bool may_go(const Walk *w, const char *name, Str path, Error *err) {
    struct statx st;
    if (w->force)                                      /* our own temporary files */
        return true;
    if (!walk_stat(w->dir, name, &st))
        return errno == ENOENT || walk_fail(path, errno, err);
    FenceMatch m = walk_peek(w, name, &st).match;
    return (!m.locked && !m.hidden && m.n == 0) || walk_refuse(path, "contains protected files", err);
}

/* Removes one entry; FOLDER if it is a non-empty folder. */
static Found remove_entry(const Walk *w, const char *name, Str path, Error *err) {
    if (!may_go(w, name, path, err))
        return FAILED;
    if (unlink_at(w->dir, name, 0) || errno == ENOENT)
        return EMPTY;
    if (errno != EISDIR && errno != EPERM)
        return walk_fail(path, errno, err), FAILED;
    if (unlink_at(w->dir, name, AT_REMOVEDIR) || errno == ENOENT)
        return EMPTY;
    return errno == ENOTEMPTY || errno == EEXIST ? FOLDER : (walk_fail(path, errno, err), FAILED);
}

/* Removes the files here until it finds a folder to enter first: its name is in `folder`. */
static Found empty_here(const Walk *w, char *folder, Str path, Cancel *cancel, Error *err) {
    Found found = EMPTY;
    struct dirent *e = NULL;
    if (w->force)
        walk_chmod(w->dir, 0700);
    int fd = walk_open(w->dir, ".", O_RDONLY | O_DIRECTORY, 0);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (!d) {
        walk_fail(path, errno, err);
        if (fd >= 0)
            close(fd);
        return FAILED;
    }
    while (found == EMPTY && (errno = 0, e = readdir(d))) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        found = cancel_check(cancel, err) ? remove_entry(w, e->d_name, path, err) : FAILED;
        if (found == FOLDER)
            memcpy(folder, e->d_name, strlen(e->d_name) + 1);
    }
    if (found == EMPTY && errno)
        found = (walk_fail(path, errno, err), FAILED);
    closedir(d);
    return found;
}

/* Leaves the emptied folder and removes it. Repeats if files were created in it in the meantime. */
static bool leave(Walk *w, bool *again, Str path, Error *err) {
    char name[NAME_MAX + 1];
    WalkStep s = VEC_LAST(&w->step);
    memcpy(name, w->names.at + s.name, s.length);
    name[s.length] = 0;
    if (!walk_up(w))
        return walk_fail(path, errno, err);
    if (unlink_at(w->dir, name, AT_REMOVEDIR) || errno == ENOENT)
        return true;
    *again = errno == ENOTEMPTY || errno == EEXIST;
    return (*again && walk_down(w, name)) || walk_fail(path, errno, err);
}

static bool remove_folder(Walk *w, Str path, Cancel *cancel, Error *err) {
    char name[NAME_MAX + 1];
    walk_into(w);
    size_t depth = w->step.n;
    while (w->step.n >= depth) {
        bool again = false;
        Found found = empty_here(w, name, path, cancel, err);
        if (found == FAILED || !cancel_check(cancel, err))
            return false;
        if (found == FOLDER) {
            if (!walk_down(w, name) && errno != ENOENT)
                return walk_fail(path, errno, err);
        } else if (!leave(w, &again, path, err)) {
            return false;
        }
    }
    return true;
}

bool jail_remove_target(Walk *w, Str path, Cancel *cancel, Error *err) {
    if (S_ISDIR(w->st.stx_mode))
        return remove_folder(w, path, cancel, err);
    return unlink_at(w->dir, w->name, 0) || walk_fail(path, errno, err);
}

bool jail_remove(const Jail *j, Str path, bool recursive, Cancel *cancel, Error *err) {
    Walk w;
    bool ok = walk_to(&w, j, path, 0, err) && walk_may_write(&w, path, true, err) && cancel_check(cancel, err);
    if (ok && S_ISDIR(w.st.stx_mode) && !recursive)
        ok = unlink_at(w.dir, w.name, AT_REMOVEDIR) || walk_fail(path, errno, err);
    else if (ok)
        ok = jail_remove_target(&w, path, cancel, err);
    walk_end(&w);
    return ok;
}
