#include "cli/queue_folder.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "base/digest.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/random.h"
#include "cli/workspace_copy.h"
#include "tool/protect/record.h"
#include "value/int.h"
#include "value/json.h"

enum { SCAN_DEPTH = WORKSPACE_COPY_DEPTH + 28, SCAN_ENTRIES = 2 * WORKSPACE_COPY_ENTRIES, TRIES_MAX = 1000 };

static char *join(const char *folder, const char *name) {
    Buf b = { 0 };
    buf_add_fmt(&b, "%s/%s", folder, name);
    return buf_take(&b);
}

/* ---- the host ---- */

static bool make_folders(char *path, Error *err) {
    for (char *c = path + 1;; c++) {
        char at = *c;
        if (at && at != '/') continue;
        *c = 0;
        bool ok = mkdir(path, 0700) == 0 || errno == EEXIST || errno == EROFS || errno == EACCES;     /* open() reports the last one */
        if (!ok) error_set(err, ERR_IO, "make folder %s: %m", path);
        *c = at;
        if (!ok || !at) return ok;
    }
}

static bool is_ours(const char *path, Error *err) {
    struct stat st;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    bool ok = (fd >= 0 && fstat(fd, &st) == 0) || error_set(err, ERR_IO, "the folder for queued runs, %s: %m", path);
    if (ok && st.st_uid != geteuid()) ok = error_set(err, ERR_IO, "the folder for queued runs, %s, belongs to another user", path);
    if (ok && (st.st_mode & 077) && fchmod(fd, 0700) != 0) ok = error_set(err, ERR_IO, "the folder for queued runs, %s: %m", path);
    if (fd >= 0) close(fd);
    return ok;
}

static bool read_id(const char *path, char out[STORE_QUEUE_HOST + 1], Error *err) {
    Buf text = { 0 };
    bool ok = file_read(path, 64, &text, err);
    Str id = str_trim(buf_str(&text));
    if (ok && id.n != STORE_QUEUE_HOST) ok = error_set(err, ERR_IO, "%s: not an id of %d digits", path, STORE_QUEUE_HOST);
    for (size_t i = 0; ok && i < id.n; i++)
        if (!strchr("0123456789abcdef", id.at[i])) ok = error_set(err, ERR_IO, "%s: not an id of %d digits", path, STORE_QUEUE_HOST);
    if (ok) snprintf(out, STORE_QUEUE_HOST + 1, STR_FMT, STR_ARG(id));
    buf_clear(&text);
    return ok;
}

/* Under another name first: of several processes that start at the same time, all use the id of one. */
static bool make_id(const char *folder, const char *path, Error *err) {
    uint8_t bytes[STORE_QUEUE_HOST / 2];
    Buf text = { 0 }, temp = { 0 };
    random_fill(bytes, sizeof bytes);
    digest_hex(bytes, sizeof bytes, &text);
    buf_add_fmt(&temp, "%s/.id-" STR_FMT, folder, STR_ARG(buf_str(&text)));
    int fd = open(temp.at, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    bool ok = fd >= 0 && file_write(fd, buf_str(&text)) && fsync(fd) == 0 && (link(temp.at, path) == 0 || errno == EEXIST);
    if (!ok) error_set(err, ERR_IO, "write %s: %m", path);
    if (fd >= 0) close(fd), unlink(temp.at);
    buf_clear(&text);
    buf_clear(&temp);
    return ok;
}

bool queue_host_open(QueueHost *out, Error *err) {
    Buf home = { 0 };
    *out = (QueueHost){ 0 };
    if (!store_state_home(&home, err)) return false;
    buf_add(&home, STR("/harness-runs"));
    char *folder = buf_take(&home), *id = join(folder, "id");
    bool ok = make_folders(folder, err) && is_ours(folder, err) && (access(id, F_OK) == 0 || make_id(folder, id, err)) && read_id(id, out->id, err);
    if (ok) out->folder = realpath(folder, NULL);
    if (ok && !out->folder) ok = error_set(err, ERR_IO, "%s: %m", folder);
    free(folder);
    free(id);
    return ok;
}

void queue_host_clear(QueueHost *h) {
    free(h->folder);
    *h = (QueueHost){ 0 };
}

/* ---- what is there ---- */

/* The sum of one hash for each entry, so that the order of a folder does not matter. The time of the last change of an inode cannot be set by
 * programs: a file with the same one, in the same place, has the same content. Times of folders do not count: a file that a tool made and removed
 * is not there any more. */
typedef struct Scan { uint64_t sum; unsigned entries; struct timespec newest; Buf path, entry; bool ok; } Scan;

static void scan_folder(Scan *s, int fd, int depth);

static void scan_entry(Scan *s, int folder, const char *name, int depth) {
    static const uint8_t key[16] = { 0 };
    struct stat st;
    size_t n = s->path.n;
    if (depth > SCAN_DEPTH || ++s->entries > SCAN_ENTRIES || fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
        s->ok = false;
        return;
    }
    buf_add_fmt(&s->path, "/%s", name);
    buf_reset(&s->entry);
    buf_add(&s->entry, buf_str(&s->path));
    buf_add_char(&s->entry, 0);
    buf_add_fmt(&s->entry, "%o", (unsigned)st.st_mode);
    if (!S_ISDIR(st.st_mode))
        buf_add_fmt(&s->entry, " %lld %llu %lld.%09ld", (long long)st.st_size, (unsigned long long)st.st_ino, (long long)st.st_ctim.tv_sec, st.st_ctim.tv_nsec);
    s->sum += hash_sip24(buf_str(&s->entry), key);
    if (st.st_ctim.tv_sec > s->newest.tv_sec || (st.st_ctim.tv_sec == s->newest.tv_sec && st.st_ctim.tv_nsec > s->newest.tv_nsec)) s->newest = st.st_ctim;
    if (S_ISDIR(st.st_mode)) {
        int fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        s->ok = s->ok && fd >= 0;
        if (fd >= 0) scan_folder(s, fd, depth + 1);
    }
    s->path.n = n;
}

/* Closes fd. */
static void scan_folder(Scan *s, int fd, int depth) {
    DIR *d = fdopendir(fd);
    if (!d) {
        close(fd);
        s->ok = false;
        return;
    }
    for (struct dirent *e; s->ok && (e = readdir(d));)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0) scan_entry(s, dirfd(d), e->d_name, depth);
    closedir(d);
}

static bool scan(const char *work, Scan *out) {
    int fd = open(work, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    *out = (Scan){ .ok = fd >= 0 };
    if (fd >= 0) scan_folder(out, fd, 0);
    buf_clear(&out->path);
    buf_clear(&out->entry);
    return out->ok;
}

static void write_scan(const Scan *s, Buf *out) { buf_add_fmt(out, "1 %016llx %u\n", (unsigned long long)s->sum, s->entries); }

/* A change right after the scan must get a later time. A file system that stores whole seconds, or has another clock, cannot tell: then every run
 * counts as one that changed something. */
static bool clock_has_moved(const struct timespec *newest) {
    struct timespec now;
    for (int i = 0; i < 200 && newest->tv_nsec; i++) {
        clock_gettime(CLOCK_REALTIME_COARSE, &now);
        if (now.tv_sec > newest->tv_sec || (now.tv_sec == newest->tv_sec && now.tv_nsec > newest->tv_nsec)) return true;
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    }
    return newest->tv_sec == 0;                              /* nothing was copied */
}

static bool write_made(const QueueFolder *f, Error *err) {
    Scan s;
    Buf text = { 0 };
    char *temp = join(f->folder, "made.new"), *made = join(f->folder, "made");
    bool known = scan(f->work, &s) && clock_has_moved(&s.newest);
    if (known) write_scan(&s, &text);
    else buf_add(&text, STR("1 unknown\n"));
    int fd = open(temp, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    bool ok = fd >= 0 && file_write(fd, buf_str(&text)) && fsync(fd) == 0;
    if (fd >= 0) close(fd);
    ok = (ok && rename(temp, made) == 0) || error_set(err, ERR_IO, "write %s: %m", made);
    free(temp);
    free(made);
    buf_clear(&text);
    return ok;
}

bool queue_folder_changed(const QueueFolder *f) {
    Scan s;
    Buf was = { 0 }, is = { 0 };
    char *made = join(f->folder, "made");
    bool same = file_read(made, 256, &was, NULL) && scan(f->work, &s);
    if (same) write_scan(&s, &is);
    same = same && str_eq(buf_str(&was), buf_str(&is));
    free(made);
    buf_clear(&was);
    buf_clear(&is);
    return !same;
}

/* ---- removing ---- */

/* Never follows a link. A copy has at most WORKSPACE_COPY_DEPTH levels. */
static bool remove_all(int parent, const char *name, int depth) {
    if (unlinkat(parent, name, 0) == 0 || errno == ENOENT) return true;
    if (depth > SCAN_DEPTH) return errno = ELOOP, false;
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (!d && fd >= 0) close(fd);
    for (struct dirent *e; d && (e = readdir(d));)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 && !remove_all(dirfd(d), e->d_name, depth + 1)) break;
    if (d) closedir(d);
    return unlinkat(parent, name, AT_REMOVEDIR) == 0;
}

static bool remove_path(const char *path, Error *err) { return remove_all(AT_FDCWD, path, 0) || error_set(err, ERR_IO, "remove %s: %m", path); }

bool queue_folder_remove(QueueFolder *f, Error *err) {
    if (access(f->folder, F_OK) != 0) return true;           /* it could not be made */
    if (queue_folder_changed(f)) return error_set(err, ERR_POLICY, "%s has changed since the run ended, and stays", f->work);
    return remove_path(f->folder, err);
}

/* ---- making ---- */

typedef struct Making { const QueueFolderInput *in; const QueueFolder *f; } Making;

static bool copy_workspace(void *ctx, Error *err) {
    const Making *m = ctx;
    struct stat st;
    if (mkdir(m->f->work, 0700) != 0 || stat(m->in->host->folder, &st) != 0) return error_set(err, ERR_IO, "make folder %s: %m", m->f->work);
    int from = open(m->in->workspace, O_RDONLY | O_DIRECTORY | O_CLOEXEC), to = open(m->f->work, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    WorkspaceCopy how = { .device = st.st_dev, .inode = st.st_ino, .git = true, .cancel = m->in->cancel };
    bool ok = from >= 0 && to >= 0 ? workspace_copy(from, to, &how, err) : error_set(err, ERR_IO, "open %s: %m", from < 0 ? m->in->workspace : m->f->work);
    if (from >= 0) close(from);
    if (to >= 0) close(to);
    return ok;
}

/* A process that died before `made` was written left an incomplete copy. */
static bool make(const QueueFolderInput *in, QueueFolder *f, Error *err) {
    Making m = { in, f };
    RecordCopying k = { .root = in->root, .from = in->workspace, .to = f->work, .git = true };
    bool ok = remove_path(f->work, err) && record_copy(&k, copy_workspace, &m, err) && write_made(f, err);
    if (!ok) (void)remove_all(AT_FDCWD, f->folder, 0);
    return ok || error_wrap(err, "copy the workspace for this run");
}

/* ---- finding ---- */

typedef struct Last { Buf data; bool some; } Last;

static bool note_last(void *ctx, const Event *e) {
    Last *l = ctx;
    if (e->depth != 0 || !str_eq(e->type, STR("run.workspace"))) return true;
    buf_reset(&l->data);
    buf_add(&l->data, e->data);
    return l->some = true;
}

/* What the run's last event about its files says. *n is 0 if they are not here; `from` is the other host then. */
static bool find_last(const QueueFolderInput *in, int64_t *n, Buf *from, Error *err) {
    Last l = { 0 };
    Value v = VALUE_GONE;
    Heap *heap = heap_new(0);
    *n = 0;
    bool ok = !in->started || store_event_each(in->store, in->run, 0, note_last, &l, err);
    ok = ok && (!l.some || json_read(heap, buf_str(&l.data), NULL, &v, err));
    if (ok && l.some) {
        bool here = str_eq(value_member_text(v, "host_id"), str_from(in->host->id));
        Value number = value_member(v, "n");
        if (here && (!value_is_int(number) || !int_to_i64(number, n) || *n < 1 || *n > TRIES_MAX))
            ok = error_set(err, ERR_VALIDATION, "the event run.workspace of this run is damaged");
        if (!here) buf_add(from, value_member_text(v, "host"));
        if (!here && from->n == 0) buf_add(from, STR("unknown"));
    }
    heap_free(heap);
    buf_clear(&l.data);
    return ok;
}

static void name_folder(const QueueFolderInput *in, int64_t n, QueueFolder *f) {
    Buf b = { 0 };
    buf_add_fmt(&b, "%s/" STR_FMT, in->host->folder, STR_ARG(in->run));
    if (n > 1) buf_add_fmt(&b, "-%lld", (long long)n);
    free(f->folder);
    free(f->work);
    f->folder = buf_take(&b);
    f->work = join(f->folder, "work");
    f->n = n;
}

static bool is_complete(const QueueFolder *f) {
    char *made = join(f->folder, "made");
    struct stat st, work;
    bool ok = lstat(made, &st) == 0 && S_ISREG(st.st_mode) && lstat(f->work, &work) == 0 && S_ISDIR(work.st_mode);
    free(made);
    return ok;
}

/* A process that was stopped longer than its lease may still use the folder. */
static bool lock_folder(QueueFolder *f, Error *err) {
    char *path = join(f->folder, "lock");
    if (mkdir(f->folder, 0700) != 0 && errno != EEXIST) error_set(err, ERR_IO, "make folder %s: %m", f->folder);
    else if ((f->lock = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600)) < 0) error_set(err, ERR_IO, "open %s: %m", path);
    else if (flock(f->lock, LOCK_EX | LOCK_NB) == 0) return free(path), true;
    else error_set(err, ERR_IO, "%s is in use by another process", f->folder);
    free(path);
    return false;
}

/* Files of an earlier time on this host, from before another one adopted the run, stay as they are. */
static void pick_free(const QueueFolderInput *in, QueueFolder *f) {
    int64_t n = 1;
    for (name_folder(in, n, f); f->from.n && n < TRIES_MAX && is_complete(f); name_folder(in, n, f)) n++;
}

static bool is_plain(Str run) {
    for (size_t i = 0; i < run.n; i++) {
        char c = run.at[i];
        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-')) return false;
    }
    return run.n > 0 && run.n <= 64;
}

bool queue_folder_open(const QueueFolderInput *in, QueueFolder *out, Error *err) {
    int64_t n;
    *out = (QueueFolder){ .lock = -1 };
    gethostname(out->host, sizeof out->host - 1);
    snprintf(out->host_id, sizeof out->host_id, "%s", in->host->id);
    if (!is_plain(in->run)) return error_set(err, ERR_VALIDATION, "the id of this run cannot be the name of a folder");
    if (!find_last(in, &n, &out->from, err)) return false;
    if (n) name_folder(in, n, out);
    else pick_free(in, out);
    if (n && !is_complete(out)) {
        error_set(err, ERR_VALIDATION, "the files of this run are gone: %s", out->work);
        return error_hint(err, "harness runs fork starts another run from its conversation");
    }
    out->fresh = n == 0;
    return lock_folder(out, err) && (is_complete(out) || make(in, out, err));
}

void queue_folder_close(QueueFolder *f) {
    if (!f->folder) return;
    if (f->lock >= 0) close(f->lock);
    free(f->folder);
    free(f->work);
    buf_clear(&f->from);
    *f = (QueueFolder){ .lock = -1 };
}

void queue_folder_event(const QueueFolder *f, const char *state, Buf *out) {
    event_data_start(out);
    event_data_str(out, "state", str_from(state));
    event_data_str(out, "path", str_from(f->work));
    event_data_str(out, "host", str_from(f->host));
    event_data_str(out, "host_id", str_from(f->host_id));
    event_data_int(out, "n", f->n);
    if (f->from.n) event_data_str(out, "from", buf_str(&f->from));
    event_data_end(out);
}
