#include "tool/builtin/glob_files.h"
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include "base/mem.h"
#include "base/vec.h"
#include "base/glob.h"
#include "tool/builtin/walk.h"

#ifdef HARNESS_HOSTILE
enum { KEEP = 1 };
#else
enum { KEEP = 4 };
#endif

/* Results of one thread; at most KEEP times the limit. */
typedef struct { Arena arena; VEC(GlobFile) file; bool dropped; } Thread;

typedef struct { const GlobFilesInput *in; const Glob *glob; Thread *thread; size_t limit; } Search;

static int newest_first(const void *a, const void *b) {
    const GlobFile *x = a, *y = b;
    if (x->modified_ns != y->modified_ns) return x->modified_ns < y->modified_ns ? 1 : -1;
    return str_cmp(x->path, y->path);
}

/* Keeps the newest and moves their paths to a new arena, to free the memory of the others. */
static void prune(Thread *t, size_t limit) {
    qsort(t->file.at, t->file.n, sizeof *t->file.at, newest_first);
    if (t->file.n <= limit) return;
    Arena kept = { 0 };
    t->file.n = limit;
    t->dropped = true;
    for (size_t i = 0; i < limit; i++) t->file.at[i].path = arena_str(&kept, t->file.at[i].path);
    arena_clear(&t->arena);
    t->arena = kept;
}

static Str below(const Search *s, Str path) {
    return str_sub(path, s->in->start.n ? s->in->start.n + 1 : 0, path.n);
}

static WalkNext visit(void *state, const WalkEntry *e) {
    const Search *s = state;
    Thread *t = &s->thread[e->thread];
    if (e->type == 'd') return glob_match_below(s->glob, below(s, e->path)) ? WALK_ON : WALK_SKIP;
    if (e->type != 'f' || !glob_match(s->glob, below(s, e->path))) return WALK_ON;
    struct stat st;
    if (fstatat(e->dir, e->name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode)) return WALK_ON;   /* removed meanwhile */
    int64_t modified = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
    VEC_PUSH(&t->file, (GlobFile){ arena_str(&t->arena, e->path), modified });
    if (t->file.n > KEEP * s->limit) prune(t, s->limit);
    return WALK_ON;
}

static bool may_see(void *state, Str path, bool folder) {
    const Search *s = state;
    return s->in->may_see(s->in->state, path, folder);
}

static void collect(const Search *s, unsigned threads, Arena *arena, GlobFilesResult *out) {
    Thread all = { 0 };
    for (unsigned i = 0; i < threads; i++) {
        out->truncated |= s->thread[i].dropped;
        for (size_t k = 0; k < s->thread[i].file.n; k++) VEC_PUSH(&all.file, s->thread[i].file.at[k]);
    }
    if (all.file.n) qsort(all.file.at, all.file.n, sizeof *all.file.at, newest_first);
    out->truncated |= all.file.n > s->limit;
    out->n = all.file.n < s->limit ? all.file.n : s->limit;
    out->files = ARENA_ARRAY(arena, GlobFile, out->n);
    for (size_t i = 0; i < out->n; i++) out->files[i] = (GlobFile){ arena_str(arena, all.file.at[i].path), all.file.at[i].modified_ns };
    VEC_CLEAR(&all.file);
}

static bool check_pattern(Str pattern, Error *err) {
    if (pattern.n == 0) return error_set(err, ERR_VALIDATION, "the pattern is empty");
    for (size_t i = 0; i < pattern.n; i++) {
        bool starts = i == 0 || strchr("/{,", pattern.at[i - 1]);
        if (starts && pattern.n - i >= 2 && memcmp(pattern.at + i, "..", 2) == 0
            && (pattern.n - i == 2 || strchr("/},", pattern.at[i + 2])))
            return error_set(err, ERR_VALIDATION, "glob: at %zu: .. is not allowed in a pattern", i + 1);
    }
    return true;
}

static const Glob *compile(const GlobFilesInput *in, Arena *arena, Error *err) {
    if (!check_pattern(in->pattern, err)) return NULL;
    Str pattern = in->pattern;
    if (pattern.at[pattern.n - 1] == '/') pattern = str_from(arena_fmt(arena, STR_FMT "**", STR_ARG(pattern)));
    return glob_new(pattern, GLOB_BRACES | (in->hidden ? 0 : GLOB_PERIOD), arena, err);
}

bool glob_files(const GlobFilesInput *in, Cancel *cancel, Arena *arena, GlobFilesResult *out, Error *err) {
    Search s = { .in = in, .limit = in->limit && in->limit < GLOB_FILES_MAX ? in->limit : GLOB_FILES_MAX };
    s.glob = compile(in, arena, err);
    if (!s.glob) return false;
    size_t depth = glob_depth(s.glob);
    WalkInput walk = { .root = in->root, .start = in->start, .hidden = in->hidden || glob_names_hidden(s.glob),
                       .no_ignore = in->no_ignore, .folders = true, .max_depth = depth < WALK_DEPTH_MAX ? (unsigned)depth : 0,
                       .threads = in->threads, .visit = visit, .may_see = in->may_see ? may_see : NULL, .state = &s };
    unsigned threads = walk_threads(&walk);
    s.thread = mem_zero(threads, sizeof *s.thread);
    WalkReport report = { 0 };
    GlobFilesResult found = { 0 };
    bool ok = walk_tree(&walk, cancel, &report, err);
    if (ok) {
        collect(&s, threads, arena, &found);
        found.unreadable = report.unreadable;
        *out = found;
    }
    for (unsigned i = 0; i < threads; i++) {
        VEC_CLEAR(&s.thread[i].file);
        arena_clear(&s.thread[i].arena);
    }
    free(s.thread);
    return ok;
}
