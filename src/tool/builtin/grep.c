#include "tool/builtin/grep.h"
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/fault.h"
#include "base/mem.h"
#include "base/vec.h"
#include "base/glob.h"
#include "tool/builtin/grep_search.h"
#include "tool/builtin/walk.h"

#ifdef HARNESS_HOSTILE
enum { KEEP = 1 };
#else
enum { KEEP = 4 };
#endif

typedef struct { Buf text, cutoff; unsigned seen; size_t unreadable; } Thread;

/* The result depends on paths alone: the first `limit` matches in path order. Once that many are known, files after the
 * last of them (the cutoff) need not be read. `version` changes when the cutoff moves. */
typedef struct {
    const GrepInput *in;
    Cancel *cancel;
    GrepPattern pattern;
    const Glob *glob;
    bool glob_name;                     /* the glob applies to names, not paths */
    Str types;                          /* "*.c *.h Makefile"; "": all files */
    size_t limit, context;
    Thread *thread;
    pthread_mutex_t lock;
    VEC(GrepFile *) file;               /* from here on guarded by the lock, except `version` */
    size_t total;
    bool dropped;
    Buf cutoff;
    atomic_uint version;                /* 0: no cutoff yet */
    bool failed;
    Buf failed_path;
    Error err;
} Grep;

/* ---- which files ---- */

static const struct { const char *name, *patterns; } types[] = {
#define G(name, patterns) { name, patterns },
#include "tool/builtin/grep_types.def"
#undef G
};

static bool find_type(Str type, Arena *arena, Str *out, Error *err) {
    *out = STR("");
    if (type.n == 0) return true;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (str_eq(type, str_from(types[i].name))) return *out = str_from(types[i].patterns), true;
    Str extension = str_starts(type, STR("*.")) ? str_sub(type, 2, type.n) : type.at[0] == '.' ? str_sub(type, 1, type.n) : type;
    for (size_t i = 0; i < extension.n; i++) {
        unsigned char c = (unsigned char)extension.at[i];
        if (c <= ' ' || strchr("/*?[]{}", c)) extension.n = 0;
    }
    if (extension.n == 0 || extension.n > 64)
        return error_set(err, ERR_VALIDATION, "type: expected a name such as js, py, rust, or a file extension");
    return *out = str_from(arena_fmt(arena, "*." STR_FMT, STR_ARG(extension))), true;
}

static bool has_type(Str patterns, Str name) {
    if (patterns.n == 0) return true;
    while (patterns.n) {
        ptrdiff_t space = str_find_char(patterns, ' ');
        Str one = str_sub(patterns, 0, space < 0 ? patterns.n : (size_t)space);
        patterns = str_sub(patterns, one.n + 1, patterns.n);
        if (one.at[0] == '*' ? name.n >= one.n && str_ends(name, str_sub(one, 1, one.n)) : str_eq(one, name)) return true;
    }
    return false;
}

static bool is_wanted(const Grep *g, Str path, const char *name) {
    if (!has_type(g->types, str_from(name))) return false;
    if (!g->glob) return true;
    size_t skip = g->in->start.n ? g->in->start.n + 1 : 0;
    return glob_match(g->glob, g->glob_name ? str_from(name) : str_sub(path, skip, path.n));
}

/* ---- the cutoff ---- */

static bool is_cut(Grep *g, Thread *t, Str path) {
    unsigned version = atomic_load_explicit(&g->version, memory_order_acquire);
    if (version == 0) return false;
    if (version != t->seen) {
        pthread_mutex_lock(&g->lock);
        buf_reset(&t->cutoff);
        buf_add(&t->cutoff, buf_str(&g->cutoff));
        t->seen = atomic_load(&g->version);
        pthread_mutex_unlock(&g->lock);
    }
    return str_cmp(path, buf_str(&t->cutoff)) > 0;
}

static void move_cutoff(Grep *g, Str path) {
    if (atomic_load(&g->version) && str_cmp(path, buf_str(&g->cutoff)) >= 0) return;
    buf_reset(&g->cutoff);
    buf_add(&g->cutoff, path);
    atomic_fetch_add(&g->version, 1);
}

static void file_free(GrepFile *f) {
    arena_clear(&f->arena);
    free(f);
}

static int by_path(const void *a, const void *b) {
    return str_cmp((*(GrepFile *const *)a)->path, (*(GrepFile *const *)b)->path);
}

/* Drops matches that cannot be among the first `limit`. */
static void prune(Grep *g) {
    if (g->file.n == 0) return;
    qsort(g->file.at, g->file.n, sizeof *g->file.at, by_path);
    size_t keep = 0, n = 0;
    while (keep < g->file.n && n <= g->limit) n += g->file.at[keep++]->n;
    if (n <= g->limit) return;                           /* the remaining files still hold more than the limit, so
                                                          * `truncated` stays correct */
    g->dropped |= keep < g->file.n;
    while (g->file.n > keep) file_free(VEC_POP(&g->file));
    g->total = n;
    move_cutoff(g, g->file.at[keep - 1]->path);
}

static void add_file(Grep *g, GrepFile *f) {
    pthread_mutex_lock(&g->lock);
    VEC_PUSH(&g->file, f);
    g->total += f->n;
    if (g->total > KEEP * g->limit) prune(g);
    pthread_mutex_unlock(&g->lock);
}

/* A failed search matters only if fewer than `limit` matches precede it. */
static void add_failure(Grep *g, Str path, const Error *err) {
    pthread_mutex_lock(&g->lock);
    if (!g->failed || str_cmp(path, buf_str(&g->failed_path)) < 0) {
        g->failed = true;
        g->err = *err;
        buf_reset(&g->failed_path);
        buf_add(&g->failed_path, path);
    }
    move_cutoff(g, path);
    pthread_mutex_unlock(&g->lock);
}

/* ---- one file ---- */

static bool search_open(Grep *g, Thread *t, Str path, int fd, Error *err) {
    GrepFile found = { 0 };
    GrepSearch how = { .pattern = &g->pattern, .fd = fd, .context = g->context, .limit = g->limit + 1, .text = &t->text };
    bool ok = grep_search(&how, g->cancel, &found, err);
    if (!ok || found.n == 0) {
        arena_clear(&found.arena);
        return ok;
    }
    found.path = arena_str(&found.arena, path);
    for (size_t i = 0; i < found.n; i++) found.match[i].path = found.path;
    GrepFile *kept = mem_alloc(sizeof *kept);
    *kept = found;
    add_file(g, kept);
    return true;
}

/* False: the walk can stop. */
static bool search_file(Grep *g, Thread *t, Str path, int dir, const char *name) {
    Error err;
    int fd = fault_hit() ? -1 : openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0) return t->unreadable++, true;
    bool ok = search_open(g, t, path, fd, &err);
    close(fd);
    if (ok) return true;
    if (err.kind == ERR_CANCELLED || err.kind == ERR_TIMEOUT) return false;
    if (err.kind == ERR_IO) t->unreadable++;
    else error_wrap(&err, STR_FMT, STR_ARG(path)), add_failure(g, path, &err);
    return true;
}

static WalkNext visit(void *state, const WalkEntry *e) {
    Grep *g = state;
    Thread *t = &g->thread[e->thread];
    if (!is_wanted(g, e->path, e->name) || is_cut(g, t, e->path)) return WALK_ON;
    return search_file(g, t, e->path, e->dir, e->name) ? WALK_ON : WALK_STOP;
}

/* ---- entry point ---- */

static bool may_see(void *state, Str path, bool folder) {
    const Grep *g = state;
    return g->in->may_see(g->in->state, path, folder);
}

/* A start that is a file is searched whatever its name. Its folder is opened like the walk's, without following
 * links. */
static bool start_is_file(Grep *g, bool *out, Error *err) {
    char *path = str_dup(g->in->start);
    struct stat st;
    *out = false;
    bool ok = path[0] == 0 || fstatat(g->in->root, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
    if (!ok) error_set(err, ERR_IO, "%s: %m", path);
    else if (path[0] && !S_ISDIR(st.st_mode)) {
        if (S_ISREG(st.st_mode)) *out = true;
        else ok = error_set(err, ERR_IO, "%s: is neither a file nor a folder", path);
    }
    free(path);
    return ok;
}

static bool search_start(Grep *g, Error *err) {
    Str start = g->in->start;
    const char *slash = memrchr(start.at, '/', start.n);
    char *folder = slash ? mem_dup(start.at, (size_t)(slash - start.at)) : mem_dup(".", 1),
        *name = str_dup(slash ? str_sub(start, (size_t)(slash - start.at) + 1, start.n) : start);
    int dir = walk_open_folder(g->in->root, folder);
    bool ok = dir >= 0 || error_set(err, ERR_IO, "%s: %m", folder);
    if (ok) {
        search_file(g, &g->thread[0], start, dir, name);
        ok = g->thread[0].unreadable == 0 || error_set(err, ERR_IO, STR_FMT ": cannot be read", STR_ARG(start));
        close(dir);
    }
    free(folder);
    free(name);
    return ok && cancel_check(g->cancel, err);
}

static bool search_tree(Grep *g, GrepResult *out, Error *err) {
    const GrepInput *in = g->in;
    WalkInput walk = { .root = in->root, .start = in->start, .hidden = in->hidden, .no_ignore = in->no_ignore, .threads = in->threads,
                       .visit = visit, .may_see = in->may_see ? may_see : NULL, .state = g };
    WalkReport report;
    if (!walk_tree(&walk, g->cancel, &report, err) || !cancel_check(g->cancel, err)) return false;
    out->unreadable = report.unreadable;
    return true;
}

static Str *copy_lines(Arena *arena, const Str *lines, size_t n) {
    Str *out = ARENA_ARRAY(arena, Str, n);
    for (size_t i = 0; i < n; i++) out[i] = arena_str(arena, lines[i]);
    return out;
}

static GrepMatch copy_match(Arena *arena, const GrepMatch *m, Str path) {
    GrepMatch out = *m;
    out.path = path;
    out.text = arena_str(arena, m->text);
    out.before = copy_lines(arena, m->before, m->before_n);
    out.after = copy_lines(arena, m->after, m->after_n);
    return out;
}

static bool finish(Grep *g, Arena *arena, GrepResult *out, Error *err) {
    prune(g);
    if (g->file.n) qsort(g->file.at, g->file.n, sizeof *g->file.at, by_path);
    if (g->failed) {
        size_t before = 0;
        for (size_t i = 0; i < g->file.n && str_cmp(g->file.at[i]->path, buf_str(&g->failed_path)) < 0; i++) before += g->file.at[i]->n;
        if (before <= g->limit) {
            if (err) *err = g->err;
            return false;
        }
    }
    out->truncated = g->dropped || g->total > g->limit;
    out->matches = ARENA_ARRAY(arena, GrepMatch, g->total < g->limit ? g->total : g->limit);
    for (size_t i = 0; i < g->file.n; i++) {
        Str path = arena_str(arena, g->file.at[i]->path);
        for (size_t k = 0; k < g->file.at[i]->n && out->n < g->limit; k++)
            out->matches[out->n++] = copy_match(arena, &g->file.at[i]->match[k], path);
    }
    return true;
}

static bool prepare(Grep *g, Arena *arena, Error *err) {
    const GrepInput *in = g->in;
    if (!find_type(in->type, arena, &g->types, err)) return false;
    if (in->glob.n) {
        g->glob = glob_new(in->glob, GLOB_BRACES, arena, err);
        if (!g->glob) return false;
        g->glob_name = str_find_char(in->glob, '/') < 0;
    }
    return grep_pattern_init(&g->pattern, in->pattern, in->ignore_case, arena, err);
}

bool grep_files(const GrepInput *in, Cancel *cancel, Arena *arena, GrepResult *out, Error *err) {
    Grep g = { .in = in, .cancel = cancel, .limit = in->limit ? in->limit : GREP_MATCHES_MAX,
               .context = in->context < GREP_CONTEXT_MAX ? in->context : GREP_CONTEXT_MAX };
    if (g.limit > GREP_MATCHES_MAX) g.limit = GREP_MATCHES_MAX;
    if (!prepare(&g, arena, err)) return false;
    unsigned threads = walk_threads(&(WalkInput){ .threads = in->threads });
    g.thread = mem_zero(threads, sizeof *g.thread);
    pthread_mutex_init(&g.lock, NULL);
    GrepResult found = { 0 };
    bool file = false;
    bool ok = start_is_file(&g, &file, err) && (file ? search_start(&g, err) : search_tree(&g, &found, err));
    ok = ok && finish(&g, arena, &found, err);
    for (unsigned i = 0; i < threads; i++) {
        found.unreadable += g.thread[i].unreadable;
        buf_clear(&g.thread[i].text);
        buf_clear(&g.thread[i].cutoff);
    }
    for (size_t i = 0; i < g.file.n; i++) file_free(g.file.at[i]);
    VEC_CLEAR(&g.file);
    buf_clear(&g.cutoff);
    buf_clear(&g.failed_path);
    free(g.thread);
    pthread_mutex_destroy(&g.lock);
    grep_pattern_clear(&g.pattern);
    if (ok) *out = found;
    return ok;
}
