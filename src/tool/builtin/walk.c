#include "tool/builtin/walk.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/fault.h"
#include "base/mem.h"
#include "base/thread.h"
#include "base/vec.h"
#include "tool/builtin/ignore.h"

#ifdef HARNESS_HOSTILE
enum { READ_SIZE = 1 << 10, BATCH = 2 };
#else
enum { READ_SIZE = 1 << 16, BATCH = 256 };
#endif
enum { CHECK_EVERY = 64 };

/* A folder that was read: names are stored back to back in `names`. The last user closes it. */
typedef struct { uint32_t name; uint16_t n; char type; } Item;
typedef struct {
    atomic_uint users;
    int fd;
    unsigned depth;                     /* of its entries */
    Str path;
    const Ignore *rules;
    Buf names;
    VEC(Item) item;
    bool git_ignore, dot_ignore, git;   /* names that were seen */
} Folder;

/* A unit of work: a folder to read (path), or a range of one that was read (folder, from, to). */
typedef struct { Folder *folder; size_t from, to; char *path; unsigned depth; const Ignore *rules; } Job;
typedef VEC(Job) Jobs;

typedef struct Walk Walk;
typedef struct {
    Walk *walk;
    unsigned number;
    Jobs jobs;                          /* own stack; gives its oldest jobs away when another worker is idle */
    Arena arena;                        /* holds ignore rules until the walk ends */
    Buf path, text;
    size_t unreadable, ticks;
    pthread_t thread;
    char read[READ_SIZE] __attribute__((aligned(16)));
} Worker;

/* `shared` holds jobs that workers gave away. The walk ends when all workers are idle and it is empty. */
struct Walk {
    const WalkInput *in;
    Cancel *cancel;
    unsigned threads, max_depth;
    pthread_mutex_t lock;
    pthread_cond_t work;
    Jobs shared;
    unsigned waiting;                   /* guarded by the lock */
    atomic_uint idle;                   /* the same, readable without it */
    atomic_bool stop;
    bool failed;                        /* guarded by the lock, like err */
    Error err;
};

/* ---- descriptors ---- */

/* For kernels without openat2(): opens component by component, none of them a link or "..". */
static int open_by_names(int root, const char *path, int flags) {
    int dir = root;
    for (Str rest = str_from(path);;) {
        ptrdiff_t slash = str_find_char(rest, '/');
        Str part = str_sub(rest, 0, slash < 0 ? rest.n : (size_t)slash);
        char name[NAME_MAX + 1];
        bool fits = part.n > 0 && part.n <= NAME_MAX && !str_eq(part, STR(".."));
        if (fits) memcpy(name, part.at, part.n), name[part.n] = 0;
        int fd = fits ? openat(dir, name, slash < 0 ? flags : O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
        int problem = fits ? errno : EXDEV;
        if (dir != root) close(dir);
        errno = problem;
        if (fd < 0 || slash < 0) return fd;
        dir = fd;
        rest = str_sub(rest, part.n + 1, rest.n);
    }
}

static int open_below(int root, const char *path, int flags) {
    flags |= O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    if (fault_hit()) return errno = EIO, -1;
#ifndef HARNESS_HOSTILE
    struct open_how how = { .flags = (uint64_t)flags, .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS };
    long fd;
    int tries = 0;
    do fd = syscall(SYS_openat2, root, path, &how, sizeof how); while (fd < 0 && (errno == EINTR || (errno == EAGAIN && ++tries < 8)));
    if (fd >= 0 || (errno != ENOSYS && errno != EPERM)) return (int)fd;
#endif
    return open_by_names(root, path, flags);
}

int walk_open_folder(int root, const char *folder) { return open_below(root, folder, O_RDONLY | O_DIRECTORY); }

/* The content of a regular file at `path`, up to `limit` bytes. */
static bool read_small(int dir, const char *path, size_t limit, Buf *out) {
    int fd = open_below(dir, path, O_RDONLY);
    struct stat st;
    bool ok = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    buf_reset(out);
    while (ok && out->n < limit) {
        ssize_t n = read(fd, buf_room(out, 4096), 4096);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) break;
        buf_commit(out, (size_t)n);
    }
    if (fd >= 0) close(fd);
    return ok;
}

/* ---- ignore files ---- */

static const Ignore *add_rules(Worker *w, int dir, const char *file, Str folder, const Ignore *above) {
    if (!read_small(dir, file, IGNORE_FILE_MAX, &w->text)) return above;
    return ignore_new(above, folder, buf_str(&w->text), &w->arena);
}

static const Ignore *folder_rules(Worker *w, const Folder *f) {
    const Ignore *rules = f->rules;
    if (w->walk->in->no_ignore) return rules;
    if (f->git) rules = add_rules(w, f->fd, ".git/info/exclude", f->path, rules);
    if (f->git_ignore) rules = add_rules(w, f->fd, ".gitignore", f->path, rules);
    if (f->dot_ignore) rules = add_rules(w, f->fd, ".ignore", f->path, rules);
    return rules;
}

/* Rules of the folders from the root down to the start, exclusive. */
static const Ignore *rules_above(Worker *w, Str start) {
    const Ignore *rules = NULL;
    if (w->walk->in->no_ignore || start.n == 0) return NULL;
    for (size_t at = 0; at <= start.n; at++) {
        if (at && at < start.n && start.at[at] != '/') continue;
        if (at == start.n) break;
        Str folder = str_sub(start, 0, at);
        char *path = str_dup(folder);
        int fd = walk_open_folder(w->walk->in->root, folder.n ? path : ".");
        free(path);
        if (fd < 0) continue;
        Folder f = { .fd = fd, .path = folder, .rules = rules, .git_ignore = true, .dot_ignore = true, .git = true };
        rules = folder_rules(w, &f);
        close(fd);
    }
    return rules;
}

/* ---- failing and ending ---- */

static void stop_all(Walk *k) {
    atomic_store(&k->stop, true);
    pthread_mutex_lock(&k->lock);
    pthread_cond_broadcast(&k->work);
    pthread_mutex_unlock(&k->lock);
}

static void fail(Walk *k, const Error *err) {
    pthread_mutex_lock(&k->lock);
    if (!k->failed) k->err = *err;
    k->failed = true;
    pthread_mutex_unlock(&k->lock);
    stop_all(k);
}

static bool going_on(Worker *w) {
    if (atomic_load_explicit(&w->walk->stop, memory_order_relaxed)) return false;
    if (w->ticks++ % CHECK_EVERY) return true;
    Error err;
    if (cancel_check(w->walk->cancel, &err)) return true;
    fail(w->walk, &err);
    return false;
}

/* ---- jobs ---- */

static void folder_leave(Folder *f) {
    if (atomic_fetch_sub(&f->users, 1) > 1) return;
    close(f->fd);
    buf_clear(&f->names);
    VEC_CLEAR(&f->item);
    free(f);
}

static void drop_job(Job *job) {
    if (job->folder) folder_leave(job->folder);
    free(job->path);
}

/* Gives the older half away: folders nearest to the root, with the most work below them. */
static void share(Worker *w) {
    Walk *k = w->walk;
    if (w->jobs.n < 2 || atomic_load_explicit(&k->idle, memory_order_relaxed) == 0) return;
    size_t half = w->jobs.n / 2;
    pthread_mutex_lock(&k->lock);
    for (size_t i = 0; i < half; i++) VEC_PUSH(&k->shared, w->jobs.at[i]);
    if (half > 1) pthread_cond_broadcast(&k->work);
    else pthread_cond_signal(&k->work);
    pthread_mutex_unlock(&k->lock);
    w->jobs.n -= half;
    memmove(w->jobs.at, w->jobs.at + half, w->jobs.n * sizeof *w->jobs.at);
}

static bool next_job(Worker *w, Job *out) {
    Walk *k = w->walk;
    if (w->jobs.n) return *out = VEC_POP(&w->jobs), true;
    bool found = false;
    pthread_mutex_lock(&k->lock);
    atomic_store(&k->idle, ++k->waiting);
    while (k->shared.n == 0 && k->waiting < k->threads && !atomic_load(&k->stop)) pthread_cond_wait(&k->work, &k->lock);
    if (k->shared.n && !atomic_load(&k->stop)) {
        *out = VEC_POP(&k->shared);
        atomic_store(&k->idle, --k->waiting);
        found = true;
    } else pthread_cond_broadcast(&k->work);             /* done: wake the others too */
    pthread_mutex_unlock(&k->lock);
    return found;
}

/* ---- reading a folder ---- */

static void add_item(Folder *f, const struct dirent64 *d) {
    const char *name = d->d_name;
    if (name[0] == '.' && (name[1] == 0 || (name[1] == '.' && name[2] == 0))) return;
    if (strcmp(name, ".git") == 0) { f->git = true; return; }
    if (strcmp(name, ".gitignore") == 0) f->git_ignore = true;
    if (strcmp(name, ".ignore") == 0) f->dot_ignore = true;
    char type = d->d_type == DT_REG ? 'f' : d->d_type == DT_DIR ? 'd' : d->d_type == DT_LNK ? 'l' : d->d_type == DT_UNKNOWN ? 0 : 'o';
    size_t n = strlen(name);
    VEC_PUSH(&f->item, (Item){ (uint32_t)f->names.n, (uint16_t)n, type });
    buf_add(&f->names, (Str){ name, n + 1 });
}

static bool read_folder(Worker *w, Folder *f) {
    while (going_on(w)) {
        if (fault_hit()) return false;
        ssize_t got = getdents64(f->fd, w->read, sizeof w->read);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return false;
        if (got == 0 || f->names.n > UINT32_MAX / 2) return true;
        for (ssize_t at = 0; at < got;) {
            const struct dirent64 *d = (const struct dirent64 *)(const void *)(w->read + at);
            add_item(f, d);
            at += d->d_reclen;
        }
    }
    return true;
}

static char type_of(int dir, const char *name) {
    struct stat st;
    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0) return 'o';
    return S_ISREG(st.st_mode) ? 'f' : S_ISDIR(st.st_mode) ? 'd' : S_ISLNK(st.st_mode) ? 'l' : 'o';
}

static void enter(Worker *w, const Folder *f) {
    if (f->depth >= w->walk->max_depth) {
        w->unreadable += f->depth >= WALK_DEPTH_MAX;    /* reaching the caller's own limit is not an error */
        return;
    }
    VEC_PUSH(&w->jobs, (Job){ .path = mem_dup(w->path.at, w->path.n), .depth = f->depth + 1, .rules = f->rules });
}

static void visit_item(Worker *w, const Folder *f, const Item *it) {
    const WalkInput *in = w->walk->in;
    const char *name = f->names.at + it->name;
    if (name[0] == '.' && !in->hidden) return;
    char type = it->type ? it->type : type_of(f->fd, name);
    if (type != 'f' && type != 'd' && !in->folders) return;
    buf_reset(&w->path);
    buf_add(&w->path, f->path);
    if (f->path.n) buf_add_char(&w->path, '/');
    buf_add(&w->path, (Str){ name, it->n });
    Str path = buf_str(&w->path);
    if (f->rules && ignore_match(f->rules, path, type == 'd')) return;
    if (in->may_see && !in->may_see(in->state, path, type == 'd')) return;
    WalkNext next = WALK_ON;
    if (type == 'f' || in->folders)
        next = in->visit(in->state, &(WalkEntry){ path, name, f->fd, type, f->depth, w->number });
    if (next == WALK_STOP) stop_all(w->walk);
    else if (type == 'd' && next == WALK_ON) enter(w, f);
}

static void visit_items(Worker *w, const Folder *f, size_t from, size_t to) {
    for (size_t i = from; i < to && going_on(w); i++) {
        visit_item(w, f, &f->item.at[i]);
        share(w);
    }
}

static Folder *open_folder(Worker *w, const Job *job) {
    int fd = walk_open_folder(w->walk->in->root, job->path[0] ? job->path : ".");
    if (fd < 0) return NULL;
    Folder *f = mem_zero(1, sizeof *f);
    atomic_init(&f->users, 1);
    f->fd = fd;
    f->depth = job->depth;
    f->rules = job->rules;
    f->path = str_from(job->path);
    if (!read_folder(w, f)) {
        folder_leave(f);
        return NULL;
    }
    f->rules = folder_rules(w, f);
    f->path = arena_str(&w->arena, f->path);              /* ranges of it may outlive the job */
    return f;
}

/* Splits a large folder into ranges that other workers can take. */
static void run_folder(Worker *w, const Job *job) {
    Folder *f = open_folder(w, job);
    if (!f) {
        w->unreadable++;
        return;
    }
    size_t n = f->item.n, first = n > BATCH ? BATCH : n;
    for (size_t at = first; at < n; at += BATCH) {
        atomic_fetch_add(&f->users, 1);
        VEC_PUSH(&w->jobs, (Job){ .folder = f, .from = at, .to = at + BATCH < n ? at + BATCH : n });
    }
    visit_items(w, f, 0, first);
    folder_leave(f);
}

static void *work(void *arg) {
    Worker *w = arg;
    for (Job job; next_job(w, &job);) {
        if (going_on(w)) {
            if (job.folder) visit_items(w, job.folder, job.from, job.to);
            else run_folder(w, &job);
            share(w);
        }
        drop_job(&job);
    }
    return NULL;
}

/* ---- entry point ---- */

unsigned walk_threads(const WalkInput *in) {
    cpu_set_t set;
    unsigned n = in->threads;
    if (!n) n = sched_getaffinity(0, sizeof set, &set) == 0 ? (unsigned)CPU_COUNT(&set) : 1;
    return n < 1 ? 1 : n > WALK_THREADS_MAX ? WALK_THREADS_MAX : n;
}

/* Continues with fewer threads if some cannot be started. */
static void start_threads(Walk *k, Worker *workers) {
    for (unsigned i = 1, n = k->threads; i < n; i++)
        if (thread_start(&workers[i].thread, work, &workers[i]) != 0) {
            pthread_mutex_lock(&k->lock);
            k->threads = i;
            pthread_cond_broadcast(&k->work);
            pthread_mutex_unlock(&k->lock);
            break;
        }
}

static bool begin(Walk *k, Worker *w, Error *err) {
    const WalkInput *in = k->in;
    char *path = str_dup(in->start);
    int fd = walk_open_folder(in->root, path[0] ? path : ".");
    if (fd < 0) {
        error_set(err, ERR_IO, "%s: %m", path[0] ? path : ".");
        free(path);
        return false;
    }
    close(fd);
    VEC_PUSH(&w->jobs, (Job){ .path = path, .depth = 1, .rules = rules_above(w, in->start) });
    return true;
}

static Worker *make_workers(Walk *k) {
    Worker *workers = mem_zero(k->threads, sizeof *workers);
    for (unsigned i = 0; i < k->threads; i++) workers[i].walk = k, workers[i].number = i;
    return workers;
}

static size_t end_worker(Worker *w) {
    for (size_t i = 0; i < w->jobs.n; i++) drop_job(&w->jobs.at[i]);
    VEC_CLEAR(&w->jobs);
    buf_clear(&w->path);
    buf_clear(&w->text);
    arena_clear(&w->arena);
    return w->unreadable;
}

bool walk_tree(const WalkInput *in, Cancel *cancel, WalkReport *report, Error *err) {
    Walk k = { .in = in, .cancel = cancel, .threads = walk_threads(in),
               .max_depth = in->max_depth && in->max_depth < WALK_DEPTH_MAX ? in->max_depth : WALK_DEPTH_MAX };
    pthread_mutex_init(&k.lock, NULL);
    pthread_cond_init(&k.work, NULL);
    unsigned made = k.threads;
    Worker *workers = make_workers(&k);
    bool ok = begin(&k, &workers[0], err);
    size_t unreadable = 0;
    if (ok) {
        start_threads(&k, workers);
        work(&workers[0]);
        for (unsigned i = 1; i < k.threads; i++) pthread_join(workers[i].thread, NULL);
        ok = !k.failed;
        if (!ok && err) *err = k.err;
    }
    for (size_t i = 0; i < k.shared.n; i++) drop_job(&k.shared.at[i]);
    for (unsigned i = 0; i < made; i++) unreadable += end_worker(&workers[i]);
    VEC_CLEAR(&k.shared);
    free(workers);
    pthread_cond_destroy(&k.work);
    pthread_mutex_destroy(&k.lock);
    if (ok && report) report->unreadable = unreadable;
    return ok;
}
