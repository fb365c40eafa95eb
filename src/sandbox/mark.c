#include "sandbox/mark.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/fault.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/random.h"
#include "sandbox/protect.h"
#include "sandbox/reach.h"
#include "sandbox/view.h"

enum { STATE_AT = 15, NAME_AT = 17, NAME_N = 16, ROOT_AT = 34, ID_N = 50, FILE_MAX = ROOT_AT + PATH_MAX + ID_N, SNAPSHOT_MAX = 300 << 20,
       STALE_SECONDS = 60, GONE_SECONDS = 30 * 86400, HOLD_MS = 30000, HOLD_STEP_US = 2000, LIVE_TRIES = 50 };
static const char head[] = "harness mark 1\n";

struct Mark { int dir, fd; bool busy, recorded; char id[40]; char snapshot[NAME_N + 1]; char *root, *folder; };

static bool lock_file(int fd) {
    struct flock all = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    return fault_hit() ? (errno = ENOLCK, false) : fcntl(fd, F_OFD_SETLK, &all) == 0;
}

static bool write_at(int fd, Str bytes, off_t at) {
    while (bytes.n) {
        ssize_t n = fault_hit() ? (errno = ENOSPC, -1) : pwrite(fd, bytes.at, bytes.n, at);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        bytes = str_sub(bytes, (size_t)n, bytes.n);
        at += n;
    }
    return true;
}

static bool make_folders(const char *folder) {
    char *path = str_dup(str_from(folder));
    for (char *c = path + 1; *c; c++)
        if (*c == '/') *c = 0, (void)mkdir(path, 0700), *c = '/';
    bool ok = mkdir(path, 0700) == 0 || errno == EEXIST;
    free(path);
    return ok;
}

/* ---- project identity ---- */

/* Device, inode and birth time, as for trust: a moved folder keeps all three; another folder in its place differs in at
 * least one. */
static bool write_id(const char *root, char out[ID_N + 1]) {
    struct statx st;
    out[0] = 0;
    if (statx(AT_FDCWD, root, 0, STATX_INO | STATX_BTIME, &st) < 0) return false;
    int64_t born = st.stx_mask & STATX_BTIME ? st.stx_btime.tv_sec * 1000000000 + st.stx_btime.tv_nsec : 0;
    snprintf(out, ID_N + 1, "%08x%08x-%016llx-%016llx", st.stx_dev_major, st.stx_dev_minor, (unsigned long long)st.stx_ino, (unsigned long long)born);
    return true;
}

/* One byte of the file FOLDER/lock per project, derived from the folder's identity and not its name. */
static off_t lock_byte(const char *root) {
    static const uint8_t key[16] = "lock of projects";
    char id[ID_N + 1];
    Str text = write_id(root, id) ? str_from(id) : str_from(root);
    return (off_t)(hash_sip24(text, key) >> 2);
}

static int open_lock(const char *folder, MarkHold how) {
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/lock", folder) >= (int)sizeof path) return errno = ENAMETOOLONG, -1;
    int fd = how == MARK_SHARED ? -1 : open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    return fd >= 0 || how == MARK_ALONE ? fd : open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
}

bool mark_hold(const char *folder, const char *root, MarkHold how, int *fd, Error *err) {
    struct flock one = { .l_type = how == MARK_ALONE ? F_WRLCK : F_RDLCK, .l_whence = SEEK_SET, .l_start = lock_byte(root), .l_len = 1 };
    int64_t end = clock_mono_ns() + (int64_t)HOLD_MS * 1000000;
    *fd = fault_hit() ? (errno = EMFILE, -1) : open_lock(folder, how);
    if (*fd < 0 && how != MARK_ALONE && (errno == ENOENT || errno == ENOTDIR || errno == EACCES)) return true;
    if (*fd < 0) return error_set(err, ERR_IO, "%s/lock: %m", folder);
    while (fault_hit() ? (errno = ENOLCK, true) : fcntl(*fd, F_OFD_SETLK, &one) < 0) {
        bool busy = errno == EAGAIN || errno == EACCES || errno == EINTR;
        if (busy && clock_mono_ns() < end && usleep(HOLD_STEP_US) == 0) continue;
        if (busy) error_set(err, ERR_SANDBOX, "another harness has been loading or starting a call in %s for %d s", root, HOLD_MS / 1000),
            error_hint(err, "try again, or end the other one");
        else error_set(err, ERR_SANDBOX, "%s/lock: locks do not work there: %m", folder);
        close(*fd);
        return *fd = -1, false;
    }
    return true;
}

void mark_release(int fd) {
    if (fd >= 0) close(fd);
}

/* ---- creating ---- */

static bool write_mark(const Mark *m) {
    Buf text = { 0 };
    char id[ID_N + 1];
    (void)write_id(m->root, id);
    buf_add_fmt(&text, "%si\n%-*s\n%s%c%s", head, NAME_N, m->snapshot, m->root, 0, id);
    bool ok = write_at(m->fd, buf_str(&text), 0);
    buf_clear(&text);
    return ok;
}

/* Locked before it is renamed, so that no process takes it for an abandoned one. */
static bool make_file(Mark *m, Error *err) {
    char temp[48];
    snprintf(m->id, sizeof m->id, "mark-%016llx", (unsigned long long)random_u64());
    snprintf(temp, sizeof temp, ".%s", m->id);
    m->fd = openat(m->dir, temp, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (m->fd < 0) return error_set(err, ERR_IO, "%s/%s: %m", m->folder, temp);
    if (!lock_file(m->fd)) error_set(err, ERR_SANDBOX, "%s: locks do not work there: %m", m->folder);
    else if (!write_mark(m) || renameat(m->dir, temp, m->dir, m->id) < 0) error_set(err, ERR_IO, "%s/%s: %m", m->folder, m->id);
    else return true;
    (void)unlinkat(m->dir, temp, 0);
    return false;
}

bool mark_new(const char *folder, const char *root, Mark **out, Error *err) {
    Mark *m = mem_zero(1, sizeof *m);
    m->root = str_dup(str_from(root));
    m->folder = str_dup(str_from(folder));
    m->fd = -1;
    (void)make_folders(folder);
    m->dir = fault_hit() ? (errno = EMFILE, -1) : open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool ok = m->dir >= 0 ? make_file(m, err) : error_set(err, ERR_IO, "%s: %m", folder);
    if (ok) return *out = m, true;
    m->id[0] = 0;
    mark_free(m);
    error_hint(err, "running calls are recorded there: set HARNESS_STATE to a file in a writable folder");
    return false;
}

int mark_fd(const Mark *m) { return m->fd; }

/* Removes snapshots that no mark names. A mark exists before its snapshot, so without other marks only ours is
 * needed. */
static void remove_others(const Mark *m) {
    SnapshotNames names = { 0 };
    char mine[40];
    bool alone = snapshot_list(m->dir, &names);
    snprintf(mine, sizeof mine, "snapshot-%s", m->snapshot);
    for (size_t i = 0; i < names.n; i++) alone = alone && !strstr(names.at[i], "mark-");
    for (size_t i = 0; alone && i < names.n; i++)
        if (strncmp(names.at[i], "snapshot-", 9) == 0 && strcmp(names.at[i], mine) != 0) (void)unlinkat(m->dir, names.at[i], 0);
    snapshot_names_clear(&names);
}

void mark_free(Mark *m) {
    if (!m) return;
    if (m->id[0] && !m->busy && unlinkat(m->dir, m->id, 0) == 0) remove_others(m);
    if (m->fd >= 0) close(m->fd);
    if (m->dir >= 0) close(m->dir);
    free(m->root);
    free(m->folder);
    free(m);
}

/* ---- recording ---- */

static bool read_all(int dir, const char *name, size_t limit, Buf *out) {
    struct statx st;
    return snapshot_read_file(dir, name, limit, &st, out);
}

static bool has_bytes(int dir, const char *name, Str bytes) {
    Buf old = { 0 };
    bool same = read_all(dir, name, bytes.n, &old) && str_eq(buf_str(&old), bytes);
    buf_clear(&old);
    return same;
}

/* Writes a file named after its content's digest; `id` of a mark makes the temporary name unique. */
static bool put_snapshot(int dir, const char *id, Snapshot *s, char name[NAME_N + 1]) {
    static const uint8_t key[16] = { 0 };
    char temp[60], file[40];
    Buf bytes = { 0 };
    snapshot_write(s, s->bytes <= MARK_CONTENT_MAX, &bytes);
    snprintf(name, NAME_N + 1, "%016llx", (unsigned long long)hash_sip24(buf_str(&bytes), key));
    snprintf(file, sizeof file, "snapshot-%s", name);
    snprintf(temp, sizeof temp, ".%s-%08x", id, (unsigned)random_u64());
    bool there = has_bytes(dir, file, buf_str(&bytes));
    int fd = there ? -1 : openat(dir, temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool ok = there || (fd >= 0 && write_at(fd, buf_str(&bytes), 0) && renameat(dir, temp, dir, file) == 0);
    int error = errno;
    if (!ok && fd >= 0) (void)unlinkat(dir, temp, 0);
    if (fd >= 0) close(fd);
    buf_clear(&bytes);
    return errno = error, ok;
}

bool mark_record(Mark *m, Snapshot *s, Error *err) {
    bool ok = put_snapshot(m->dir, m->id, s, m->snapshot) && write_mark(m);
    if (!ok) error_set(err, ERR_IO, "keep the protected files in %s: %m", m->folder);
    return m->recorded = ok;
}

bool mark_set(Mark *m, bool busy, Error *err) {
    if (busy && !m->recorded) return error_set(err, ERR_INTERNAL, "no snapshot was recorded in %s before the call", m->folder);
    if (!write_at(m->fd, busy ? STR("b") : STR("i"), STATE_AT)) return error_set(err, ERR_IO, "%s/%s: %m", m->folder, m->id);
    m->busy = busy;
    return true;
}

/* ---- reading records ---- */

static bool read_snapshot(int dir, const char *name, Snapshot *s) {
    char file[40];
    Buf bytes = { 0 };
    snprintf(file, sizeof file, "snapshot-%.*s", NAME_N, name);
    bool ok = read_all(dir, file, SNAPSHOT_MAX, &bytes) && snapshot_read(buf_str(&bytes), s, NULL);
    buf_clear(&bytes);
    return ok;
}

bool mark_replace(Mark *m, Snapshot *s) {
    char name[NAME_N + 1];
    if (!put_snapshot(m->dir, m->id, s, name) || !write_at(m->fd, (Str){ name, NAME_N }, NAME_AT)) return false;
    memcpy(m->snapshot, name, sizeof name);
    return true;
}

bool mark_replaced(Mark *m, Snapshot *out) {
    char name[NAME_N + 1] = { 0 };
    if (pread(m->fd, name, NAME_N, NAME_AT) != NAME_N || strcmp(name, m->snapshot) == 0) return false;
    if (!read_snapshot(m->dir, name, out)) return snapshot_clear(out), false;
    memcpy(m->snapshot, name, sizeof name);
    return true;
}

/* ---- recovery at start ---- */

typedef struct Found { const MarkLook *look; int dir, fd; const char *name; bool live, moved; char id[ID_N + 1]; char text[FILE_MAX + 2]; } Found;

static bool refuse(const Found *f, const char *why, Error *err) {
    error_set(err, ERR_SANDBOX, "files of the project were changed by a call that did not end properly: %s", why);
    return error_hint(err, "review them (`harness trust --diff`), correct them, then remove %s/%s", f->look->folder, f->name);
}

static const char *when(const Found *f) {
    return f->live ? "while another harness is running a call here" : "after a call that did not end properly";
}

static void tell(const Found *f, Str what) {
    buf_add_fmt(f->look->told, "%s%s: " STR_FMT, f->look->told->n ? "\n" : "", when(f), STR_ARG(what));
}

/* Restores the files from the snapshot. A running call may interfere with one attempt, but not with every one. */
static bool put_back(const Found *f, Snapshot *s, Error *err) {
    SnapshotCheck c = { 0 };
    for (int i = 0; i == 0 || (c.failed && f->live && i < LIVE_TRIES); i++) {
        buf_clear(&c.text);
        c = (SnapshotCheck){ .workspace = str_from(f->look->workspace), .displaced = f->look->folder, .root = f->look->root };
        snapshot_verify(s, &c);
    }
    if (c.failed) refuse(f, buf_str(&c.text).at, err);
    else if (c.differences) tell(f, buf_str(&c.text));
    if (!c.failed && c.kept) buf_add(f->look->told, STR("; what was there is kept for 30 days (`harness trust --displaced`)"));
    buf_clear(&c.text);
    return !c.failed;
}

static bool differs(const Found *f, Snapshot *s, Buf *text) {
    SnapshotCheck c = { .look_only = true, .workspace = str_from(f->look->workspace) };
    snapshot_verify(s, &c);
    if (text) buf_add(text, buf_str(&c.text));
    buf_clear(&c.text);
    return c.differences > 0;
}

/* Replaces the snapshot of a live mark: its owner notices before it compares. */
static bool replace_live(const Found *f, Snapshot *now) {
    char name[NAME_N + 1], state[2] = { 0 };
    int lock;
    if (!mark_hold(f->look->folder, f->look->root, MARK_ALONE, &lock, NULL)) return false;
    bool ok = pread(f->fd, state, 1, STATE_AT) == 1 && state[0] == 'b' && put_snapshot(f->dir, f->name, now, name)
              && write_at(f->fd, (Str){ name, NAME_N }, NAME_AT);
    mark_release(lock);
    return ok;
}

/* Asks the user about the differences. On yes, exactly what was shown becomes the reference, and the files are restored
 * to that. */
static void ask_person(const Found *f, Snapshot *s) {
    Snapshot now = { .nowhere = { .top = -1 } };
    Buf diff = { 0 };
    if (snapshot_take_again(s, PROTECT_BYTES_MAX, &now)) snapshot_diff(s, &now, str_from(f->look->root), &diff);
    bool keep = diff.n && f->look->ask(f->look->ask_ctx, &(MarkDifference){ f->look->root, f->live ? MARK_LIVE : MARK_DEAD, buf_str(&diff), NULL });
    keep = keep && (!f->live || replace_live(f, &now));
    if (keep) {
        snapshot_clear(s);
        *s = now;
    } else {
        snapshot_clear(&now);
    }
    buf_clear(&diff);
}

static void show(const Found *f, Snapshot *s) {
    Snapshot now = { .nowhere = { .top = -1 } };
    if (f->look->diff && snapshot_take_again(s, PROTECT_BYTES_MAX, &now)) {
        size_t from = f->look->diff->n;
        snapshot_diff(s, &now, str_from(f->look->root), f->look->diff);
        if (f->look->diff->n == from) (void)differs(f, s, f->look->diff);
    }
    snapshot_clear(&now);
}

static bool recover(const Found *f, Snapshot *s, Error *err) {
    if (f->look->ask && differs(f, s, NULL)) ask_person(f, s);
    return put_back(f, s, err);
}

static void read_only(const Found *f, Snapshot *s) {
    Buf text = { 0 };
    if (differs(f, s, &text)) {
        tell(f, buf_str(&text));
        buf_add(f->look->told, STR("; the project is shown as it was before (`harness trust --diff` shows the difference)"));
        show(f, s);
    }
    buf_clear(&text);
}

/* Handles a busy mark with its snapshot. */
static bool settle_busy(const Found *f, Snapshot *s, Error *err) {
    const MarkLook *l = f->look;
    if (f->moved) snapshot_move(s, f->text + ROOT_AT, l->root);
    bool ok = true;
    if (l->purpose == MARK_READ) read_only(f, s);
    else if (l->purpose == MARK_RECOVER || !f->live) ok = recover(f, s, err);
    if (ok && l->view && (f->live || l->purpose == MARK_READ)) {
        VEC_PUSH(l->view, *s);
        *s = (Snapshot){ .nowhere = { .top = -1 } };
    }
    return ok;
}

static bool read_mark(Found *f) {
    ssize_t n = pread(f->fd, f->text, FILE_MAX, 0);
    memset(f->text + (n > 0 ? n : 0), 0, 2);
    return n > ROOT_AT && memcmp(f->text, head, STATE_AT) == 0;
}

static bool is_busy(const Found *f) {
    char state[2] = { 0 };
    struct stat st;
    return fstat(f->fd, &st) == 0 && st.st_nlink > 0 && pread(f->fd, state, 1, STATE_AT) == 1 && state[0] == 'b';
}

static bool check_busy(const Found *f, Error *err) {
    Snapshot s = { .nowhere = { .top = -1 } };
    bool ok = read_snapshot(f->dir, f->text + NAME_AT, &s);
    if (ok) ok = settle_busy(f, &s, err);
    else ok = !is_busy(f) || refuse(f, "the record of their earlier content is damaged or unreadable", err);   /* unless it has just ended properly */
    snapshot_clear(&s);
    return ok;
}

/* A mark without its final name is being created by another process, or that process died. */
static void remove_unfinished(int dir, const char *name) {
    struct stat st;
    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && time(NULL) - st.st_mtime > STALE_SECONDS) (void)unlinkat(dir, name, 0);
}

/* Removes the record of a project whose folder no longer exists. */
static void forget_gone(const Found *f, const struct stat *st) {
    if (!f->live && f->look->purpose != MARK_READ && time(NULL) - st->st_mtime > GONE_SECONDS && access(f->text + ROOT_AT, F_OK) < 0 && errno == ENOENT)
        (void)unlinkat(f->dir, f->name, 0);
}

/* By path, or by the folder's identity: it may have been moved. */
static bool is_of(Found *f) {
    if (strcmp(f->text + ROOT_AT, f->look->root) == 0) return true;
    return f->moved = f->id[0] && strcmp(f->text + ROOT_AT + strlen(f->text + ROOT_AT) + 1, f->id) == 0;
}

/* A call that could write above the project may have replaced its folder by a link. The link's target is not the project: a process that enters it
 * would find no record there. */
static bool was_replaced(const Found *f, Error *err) {
    char now[PATH_MAX];
    const char *was = f->text + ROOT_AT, *root = f->look->root;
    if (f->text[STATE_AT] != 'b' || !realpath(was, now) || strcmp(now, was) == 0) return false;
    if (!reach_is_below(now, root) && !reach_is_below(root, now)) return false;
    error_set(err, ERR_SANDBOX, "the folder %s is now a link that leads to %s, and a call that could do that %s", was, now,
              f->live ? "is running in another harness" : "was interrupted");
    error_hint(err, "put the folder back; if the link is yours, remove %s/%s", f->look->folder, f->name);
    return true;
}

static bool look_at(Found *f, Error *err) {
    struct stat st;
    f->live = !lock_file(f->fd);
    if (f->live && errno != EAGAIN && errno != EACCES) return error_set(err, ERR_SANDBOX, "%s/%s: locks do not work there: %m", f->look->folder, f->name);
    if (fstat(f->fd, &st) == 0 && st.st_nlink == 0) return true;          /* another process has just handled it */
    bool whole = read_mark(f);
    if (whole && !is_of(f)) return !was_replaced(f, err) && (forget_gone(f, &st), true);
    if (f->look->found) ++*f->look->found;
    if (!whole) return f->live || refuse(f, "the mark is damaged", err);
    if (f->text[STATE_AT] == 'b' && !check_busy(f, err)) return false;
    if (!f->live && f->look->purpose != MARK_READ) (void)unlinkat(f->dir, f->name, 0);
    return true;
}

static bool look_at_name(Found *f, const char *name, Error *err) {
    if (strncmp(name, ".mark-", 6) == 0 && f->look->purpose != MARK_READ) remove_unfinished(f->dir, name);
    if (strncmp(name, "mark-", 5) != 0 || (f->look->own && strcmp(f->look->own->id, name) == 0)) return true;
    f->fd = openat(f->dir, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (f->fd < 0) return errno == ENOENT || error_set(err, ERR_IO, "%s/%s: %m", f->look->folder, name);
    f->name = name;
    f->moved = false;
    bool ok = look_at(f, err);
    close(f->fd);
    return ok;
}

bool mark_look(const MarkLook *l, Error *err) {
    SnapshotNames names = { 0 };
    int dir = open(l->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)                                         /* EACCES: this user has no marks in a folder that it cannot read */
        return errno == ENOENT || errno == ENOTDIR || errno == EACCES || error_set(err, ERR_IO, "%s: %m", l->folder);
    bool ok = snapshot_list(dir, &names) || error_set(err, ERR_IO, "%s: %m", l->folder);
    Found *f = mem_zero(1, sizeof *f);
    f->look = l;
    f->dir = dir;
    (void)write_id(l->root, f->id);
    for (size_t i = 0; ok && i < names.n; i++) ok = look_at_name(f, names.at[i], err);
    free(f);
    snapshot_names_clear(&names);
    close(dir);
    return ok;
}
