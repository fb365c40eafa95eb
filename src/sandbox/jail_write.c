#include <errno.h>
#include <fcntl.h>
#include <unistd.h>
#include "base/fault.h"
#include "sandbox/jail_temp.h"
#include "sandbox/jail_tree.h"
#include "sandbox/walk.h"

static bool fail_changed(Str path, Error *err) {
    char shown[320];
    return error_set(err, ERR_IO, "%s: changed since it was read", walk_show(path, shown));
}

static bool fail_write(Str path, const JailWrite *how, int error, Error *err) {
    if (error == ETIME)
        return cancel_check(how->cancel, err) && walk_fail(path, error, err);
    return error == ESTALE ? fail_changed(path, err) : walk_fail(path, error, err);
}

static bool too_large(Str path, Error *err) {
    char shown[320];
    return error_set(err, ERR_LIMIT, "%s: more than %d bytes", walk_show(path, shown), JAIL_FILE_MAX);
}

/* Creates the missing folders, all but the last name, and enters them. */
static bool make_parents(Walk *w, Str path, Error *err) {
    while (w->missing.n) {
        Str rest = buf_str(&w->missing);
        ptrdiff_t slash = str_find_char(rest, '/');
        Str next = slash < 0 ? rest : str_sub(rest, 0, (size_t)slash);
        bool made = fault_hit() ? (errno = EIO, false) : mkdirat(w->dir, w->name, 0777) == 0 || errno == EEXIST;
        if (!made || !walk_down(w, w->name))
            return walk_fail(path, errno, err);
        memcpy(w->name, next.at, next.n);
        w->name[next.n] = 0;
        w->at = walk_peek(w, w->name, NULL);
        if (!walk_may_write(w, path, false, err))      /* a folder created meanwhile may lead elsewhere */
            return false;
        size_t used = next.n + (slash >= 0);
        memmove(w->missing.at, w->missing.at + used, w->missing.n - used);
        w->missing.n -= used;
    }
    return true;
}

/* All checks before a byte is written. */
static bool check_target(const Walk *w, Str path, const JailWrite *how, Error *err) {
    if (!walk_may_write(w, path, false, err))
        return false;
    if (!walk_exists(w) && path.at[path.n - 1] == '/')
        return walk_fail(path, EISDIR, err);
    if (!walk_exists(w))
        return !how->expect || fail_changed(path, err);
    if (!walk_right_kind(w, path, false, err))
        return false;
    if (how->must_be_new)
        return walk_fail(path, EEXIST, err);
    if (faccessat(w->dir, w->name, W_OK, AT_EACCESS) < 0)
        return walk_fail(path, errno, err);
    JailStat st = walk_describe(&w->st);
    return !how->expect || jail_same(&st, how->expect) || fail_changed(path, err);
}

/* Of two writes that expect the same file, the second must see the result of the first. The exchange in jail_temp_place
 * detects other processes, but undoing it could remove a third one's write. */
static bool place(const Walk *w, JailTemp *t, const JailWrite *how) {
    struct statx st;
    pthread_mutex_lock(w->jail->placing);
    JailStat now = how->expect && walk_stat(w->dir, w->name, &st) ? walk_describe(&st) : (JailStat){ 0 };
    bool ok = !how->expect || jail_same(&now, how->expect);
    if (!ok) errno = ESTALE;
    if (ok && !cancel_check(how->cancel, NULL))        /* writing may have used up the time */
        ok = false, errno = ETIME;
    ok = ok && jail_temp_place(t, w->name, how->must_be_new, how->expect);
    int error = errno;
    pthread_mutex_unlock(w->jail->placing);
    return errno = error, ok;
}

static bool write_target(const Walk *w, Str path, Str content, const JailWrite *how, JailStat *now, Error *err) {
    JailTemp t;
    struct statx st;
    const struct statx *old = walk_exists(w) ? &w->st : NULL;
    bool ok = jail_temp_open(&t, w->dir, old ? 0600 : 0644) && jail_temp_write(&t, content) && jail_temp_finish(&t, old)
              && place(w, &t, how) && walk_stat(t.fd, "", &st);
    jail_temp_drop(&t);
    if (ok && now)
        *now = walk_describe(&st);
    return ok || fail_write(path, how, errno, err);
}

bool jail_write(const Jail *j, Str path, Str content, const JailWrite *how, JailStat *now, Error *err) {
    static const JailWrite plain = { 0 };
    Walk w;
    if (!how)
        how = &plain;
    if (content.n > JAIL_FILE_MAX)
        return too_large(path, err);
    bool ok = walk_to(&w, j, path, WALK_FOLLOW | WALK_MISSING | (how->parents ? WALK_PARENTS : 0), err)
              && check_target(&w, path, how, err) && make_parents(&w, path, err)
              && write_target(&w, path, content, how, now, err);
    walk_end(&w);
    return ok;
}

bool jail_mkdir(const Jail *j, Str path, Cancel *cancel, Error *err) {
    Walk w;
    bool ok = walk_to(&w, j, path, WALK_FOLLOW | WALK_MISSING | WALK_PARENTS, err);
    if (ok && walk_exists(&w)) {
        ok = S_ISDIR(w.st.stx_mode) || walk_fail(path, EEXIST, err);
    } else if (ok) {
        ok = walk_may_write(&w, path, false, err) && cancel_check(cancel, err) && make_parents(&w, path, err);
        if (ok && (fault_hit() ? (errno = EIO, true) : mkdirat(w.dir, w.name, 0777) < 0))
            ok = errno == EEXIST && walk_stat(w.dir, w.name, &w.st) && S_ISDIR(w.st.stx_mode) ? true : walk_fail(path, errno, err);
    }
    walk_end(&w);
    return ok;
}

/* ---- appending ---- */

/* Appends to a file with a single name. Undoes a partial write unless another process has appended since. */
static bool append_in_place(const Walk *w, Str content) {
    JailStat st;
    struct statx now;
    JailTemp t = { .fd = walk_open_target(w, O_WRONLY | O_APPEND | O_NONBLOCK, &st) };
    if (t.fd < 0)
        return false;
    bool ok = jail_temp_write(&t, content);
    int error = errno;
    if (!ok && walk_stat(t.fd, "", &now) && now.stx_size == (uint64_t)st.size + t.written && ftruncate(t.fd, st.size) < 0)
        error = errno;
    if (ok && (fault_hit() ? (errno = EIO, true) : fsync(t.fd) < 0))
        ok = false, error = errno;
    close(t.fd);
    return errno = error, ok;
}

/* A file with several names may also be outside: replaces this name with a copy instead. */
static bool append_apart(const Jail *j, Str path, Str content, Cancel *cancel, Error *err) {
    Buf all = { 0 };
    JailStat st;
    bool ok = jail_read(j, path, JAIL_FILE_MAX, &all, &st, err);
    if (ok) {
        buf_add(&all, content);
        ok = jail_write(j, path, buf_str(&all), &(JailWrite){ .expect = &st, .cancel = cancel }, NULL, err);
    }
    buf_clear(&all);
    return ok;
}

/* Sets *again when another file replaced this one meanwhile. */
static bool append_once(const Jail *j, Str path, Str content, Cancel *cancel, bool *again, Error *err) {
    Walk w;
    bool ok = walk_to(&w, j, path, WALK_FOLLOW | WALK_MISSING, err) && check_target(&w, path, &(JailWrite){ 0 }, err)
              && cancel_check(cancel, err);
    bool apart = ok && walk_exists(&w) && w.st.stx_nlink > 1;
    if (ok && !apart) {
        ok = walk_exists(&w) ? append_in_place(&w, content) || walk_fail(path, errno, err)
                             : write_target(&w, path, content, &(JailWrite){ .must_be_new = true, .cancel = cancel }, NULL, err);
        *again = !ok && (errno == EAGAIN || errno == EEXIST || errno == ENOENT || errno == ELOOP);
    }
    walk_end(&w);
    return apart ? append_apart(j, path, content, cancel, err) : ok;
}

bool jail_append(const Jail *j, Str path, Str content, Cancel *cancel, Error *err) {
    enum { TRIES = 16 };
    if (content.n > JAIL_FILE_MAX)
        return too_large(path, err);
    bool ok = false, again = true;
    for (int i = 0; i < TRIES && again; i++) {
        again = false;
        ok = append_once(j, path, content, cancel, &again, err);
    }
    return ok;
}
