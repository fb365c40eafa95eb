#include "sandbox/mark.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "base/fault.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/random.h"
#include "sandbox/snapshot.h"

enum { STATE_AT = 15, NAME_AT = 17, NAME_N = 16, ROOT_AT = 34, FILE_MAX = ROOT_AT + PATH_MAX, SNAPSHOT_MAX = 300 << 20, STALE_SECONDS = 60, GONE_SECONDS = 86400 };
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

/* ---- making ---- */

static bool write_mark(const Mark *m) {
    Buf text = { 0 };
    buf_add_fmt(&text, "%si\n%-*s\n%s", head, NAME_N, m->snapshot, m->root);
    bool ok = write_at(m->fd, buf_str(&text), 0);
    buf_clear(&text);
    return ok;
}

/* Locked before it has its name, so that nobody takes it for one that was left. */
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
    error_hint(err, "what is at work is kept on record there: set HARNESS_STATE to a file in a folder that can be written");
    return false;
}

int mark_fd(const Mark *m) { return m->fd; }

/* Snapshots that no mark names. Every mark is there before its snapshot, so when there is no other mark only ours is needed. */
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

static bool put_snapshot(const Mark *m, const char *name, Str bytes) {
    char temp[48];
    if (has_bytes(m->dir, name, bytes)) return true;
    snprintf(temp, sizeof temp, ".%s", m->id);
    int fd = openat(m->dir, temp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    bool ok = fd >= 0 && write_at(fd, bytes, 0) && renameat(m->dir, temp, m->dir, name) == 0;
    int error = errno;
    if (!ok && fd >= 0) (void)unlinkat(m->dir, temp, 0);
    if (fd >= 0) close(fd);
    return errno = error, ok;
}

bool mark_record(Mark *m, Snapshot *s, Error *err) {
    static const uint8_t key[16] = { 0 };
    char name[40];
    Buf bytes = { 0 };
    snapshot_write(s, s->bytes <= MARK_CONTENT_MAX, &bytes);
    snprintf(m->snapshot, sizeof m->snapshot, "%016llx", (unsigned long long)hash_sip24(buf_str(&bytes), key));
    snprintf(name, sizeof name, "snapshot-%s", m->snapshot);
    bool ok = put_snapshot(m, name, buf_str(&bytes)) && write_mark(m);
    if (!ok) error_set(err, ERR_IO, "keep the protected files in %s: %m", m->folder);
    buf_clear(&bytes);
    return m->recorded = ok;
}

bool mark_set(Mark *m, bool busy, Error *err) {
    if (busy && !m->recorded) return error_set(err, ERR_INTERNAL, "nothing is on record in %s", m->folder);
    if (!write_at(m->fd, busy ? STR("b") : STR("i"), STATE_AT)) return error_set(err, ERR_IO, "%s/%s: %m", m->folder, m->id);
    m->busy = busy;
    return true;
}

/* ---- the next start ---- */

typedef struct Found { int dir, fd; const char *folder, *name, *workspace; bool live, look_only; char text[FILE_MAX + 1]; } Found;

static bool refuse(const Found *f, const char *why, Error *err) {
    error_set(err, ERR_SANDBOX, "files of the project were changed by a call that did not end in good order: %s", why);
    return error_hint(err, "look at them, put them right, then remove %s/%s", f->folder, f->name);
}

static bool compare(const Found *f, Snapshot *s, Buf *told, Error *err) {
    SnapshotCheck c = { .look_only = f->look_only, .workspace = str_from(f->workspace), .displaced = f->folder };
    snapshot_verify(s, &c);
    bool ok = !c.failed && !(f->look_only && c.differences);
    if (!ok) refuse(f, buf_str(&c.text).at, err);
    else if (c.differences)
        buf_add_fmt(told, "%s%s: " STR_FMT, told->n ? "\n" : "", f->live ? "while another harness is at work here" : "after a call that did not end in good order",
                    STR_ARG(buf_str(&c.text)));
    if (ok && c.kept) buf_add_fmt(told, "; what was there is kept for 30 days in %s/displaced", f->folder);
    buf_clear(&c.text);
    return ok;
}

static bool check_busy(const Found *f, Buf *told, Error *err) {
    char name[40];
    Snapshot s = { .nowhere = { .top = -1 } };
    Buf bytes = { 0 };
    snprintf(name, sizeof name, "snapshot-%.*s", NAME_N, f->text + NAME_AT);
    bool ok = read_all(f->dir, name, SNAPSHOT_MAX, &bytes) || refuse(f, "the record of what they were cannot be read", err);
    ok = ok && (snapshot_read(buf_str(&bytes), &s, err) || refuse(f, "the record of what they were is damaged", err));
    ok = ok && compare(f, &s, told, err);
    snapshot_clear(&s);
    buf_clear(&bytes);
    return ok;
}

static bool read_mark(Found *f) {
    ssize_t n = pread(f->fd, f->text, FILE_MAX, 0);
    f->text[n > 0 ? n : 0] = 0;
    return n > ROOT_AT && memcmp(f->text, head, STATE_AT) == 0;
}

/* A mark without its name is one that another process is making, or died making. */
static void remove_unfinished(int dir, const char *name) {
    struct stat st;
    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && time(NULL) - st.st_mtime > STALE_SECONDS) (void)unlinkat(dir, name, 0);
}

/* The folder of that project is gone for good. */
static void forget_gone(const Found *f, const struct stat *st) {
    if (!f->live && !f->look_only && time(NULL) - st->st_mtime > GONE_SECONDS && access(f->text + ROOT_AT, F_OK) < 0 && errno == ENOENT)
        (void)unlinkat(f->dir, f->name, 0);
}

static bool look_at(Found *f, const char *root, Buf *told, Error *err) {
    struct stat st;
    f->live = !lock_file(f->fd);
    if (f->live && errno != EAGAIN && errno != EACCES) return error_set(err, ERR_SANDBOX, "%s/%s: locks do not work there: %m", f->folder, f->name);
    if (fstat(f->fd, &st) == 0 && st.st_nlink == 0) return true;          /* another process has just finished it */
    if (!read_mark(f)) return f->live || refuse(f, "the mark is damaged", err);
    if (strcmp(f->text + ROOT_AT, root) != 0) return forget_gone(f, &st), true;
    if (f->text[STATE_AT] == 'b' && !check_busy(f, told, err)) return false;
    if (!f->live && !f->look_only) (void)unlinkat(f->dir, f->name, 0);
    return true;
}

bool mark_recover(const char *folder, const char *root, const char *workspace, bool look_only, Buf *told, Error *err) {
    SnapshotNames names = { 0 };
    int dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)                                         /* where this user may not look, none of its marks are */
        return errno == ENOENT || errno == ENOTDIR || errno == EACCES || error_set(err, ERR_IO, "%s: %m", folder);
    bool ok = snapshot_list(dir, &names) || error_set(err, ERR_IO, "%s: %m", folder);
    Found *f = mem_zero(1, sizeof *f);
    for (size_t i = 0; ok && i < names.n; i++) {
        if (strncmp(names.at[i], ".mark-", 6) == 0) remove_unfinished(dir, names.at[i]);
        if (strncmp(names.at[i], "mark-", 5) != 0) continue;
        *f = (Found){ .dir = dir, .folder = folder, .name = names.at[i], .workspace = workspace, .look_only = look_only };
        f->fd = openat(dir, names.at[i], O_RDWR | O_NOFOLLOW | O_CLOEXEC);
        if (f->fd < 0) {
            ok = errno == ENOENT || error_set(err, ERR_IO, "%s/%s: %m", folder, names.at[i]);
            continue;
        }
        ok = look_at(f, root, told, err);
        close(f->fd);
    }
    free(f);
    snapshot_names_clear(&names);
    close(dir);
    return ok;
}
