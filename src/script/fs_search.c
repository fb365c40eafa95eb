/* fs.glob and fs.find. */
#include <stdlib.h>
#include "base/glob.h"
#include "script/fs.h"
#include "script/worker.h"
#include "starlark/vm/work.h"

#ifdef HARNESS_HOSTILE
enum { MATCHES_MAX = 20 };
#else
enum { MATCHES_MAX = 10000 };
#endif
enum { DEPTH_MAX = 200 };

/* ---- glob ---- */

typedef struct { Vm *vm; const Jail *jail; const Glob *glob; Work work; List *found; } Walk;

static bool add_match(Walk *w, Str path, Error *err) {
    Value v;
    if (w->found->n == MATCHES_MAX) return error_set(err, ERR_LIMIT, "more than %d matches", MATCHES_MAX);
    return script_clean(w->vm, path, &v, err) && list_push(vm_heap(w->vm), w->found, v, err);
}

static bool walk(Walk *w, Str folder, int depth, Error *err);

static bool walk_entry(Walk *w, Str folder, const JailEntry *e, Buf *path, int depth, Error *err) {
    buf_reset(path);
    if (folder.n) buf_add_fmt(path, STR_FMT "/", STR_ARG(folder));
    buf_add(path, e->name);
    if (!work_add(&w->work, 100, err)) return false;
    if (glob_match(w->glob, buf_str(path)) && !add_match(w, buf_str(path), err)) return false;
    if (e->stat.type != 'd' || depth == DEPTH_MAX || !glob_match_below(w->glob, buf_str(path))) return true;
    return walk(w, buf_str(path), depth + 1, err);
}

/* Treats a folder that cannot be read, or has been removed meanwhile, as empty. */
static bool walk(Walk *w, Str folder, int depth, Error *err) {
    Arena arena = { 0 };
    Buf path = { 0 };
    JailEntry *at;
    size_t n = 0;
    bool ok = true;
    if (!jail_list(w->jail, folder.n ? folder : STR("."), &arena, &at, &n, NULL)) n = 0;
    for (size_t i = 0; ok && i < n; i++) ok = walk_entry(w, folder, &at[i], &path, depth, err);
    arena_clear(&arena);
    buf_clear(&path);
    return ok;
}

static int by_text(const void *a, const void *b) { return str_cmp(value_str(*(const Value *)a), value_str(*(const Value *)b)); }

/* Patterns are relative to the workspace. Also accepts one that starts with the workspace's own path. */
static bool relative(Vm *vm, Str *pattern, Error *err) {
    Str root = script_host(vm)->workspace;
    if (!pattern->n || pattern->at[0] != '/') return true;
    if (root.n && str_starts(*pattern, root) && pattern->n > root.n && pattern->at[root.n] == '/') {
        *pattern = str_sub(*pattern, root.n + 1, pattern->n);
        return true;
    }
    return error_set(err, ERR_SCRIPT, STR_FMT ": the pattern must be relative to the workspace", STR_ARG(str_sub(*pattern, 0, 200)));
}

static bool glob_all(Walk *w, Arena *arena, Str pattern, Error *err) {
    bool there;
    if (!(w->glob = glob_new(pattern, GLOB_BRACES | GLOB_PERIOD, arena, err))) return false;
    Str base = glob_base(w->glob);
    if (base.n && !jail_exists(w->jail, base, &there, err)) return false;      /* outside? */
    return walk(w, base, 0, err);
}

bool fs_glob(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    Walk w = { .vm = vm, .work = { .vm = vm } };
    Arena arena = { 0 };
    Str pattern = script_arg(a, 0);
    if (!fs_jail(vm, &w.jail, err) || !relative(vm, &pattern, err) || !(w.found = list_new(vm_heap(vm), 0, err))) return false;
    bool ok = glob_all(&w, &arena, pattern, err);
    arena_clear(&arena);
    if (!ok) return false;
    if (w.found->n > 1) qsort(w.found->at, w.found->n, sizeof *w.found->at, by_text);
    return *out = value_from_object(w.found), true;
}

/* ---- find ---- */

static bool add_line(Vm *vm, List *l, int64_t number, Str line, Error *err) {
    ScriptDict d = script_dict(vm, err);
    Value v;
    script_dict_int(&d, "line", number);
    script_dict_text(&d, "text", line);
    return script_dict_end(&d, &v) && list_push(vm_heap(vm), l, v, err);
}

static bool find_lines(Vm *vm, const Regex *re, Str text, List *l, Error *err) {
    Work w = { .vm = vm };
    Str line;
    RegexSpan span;
    bool found;
    for (int64_t number = 1; str_next_line(&text, &line); number++) {
        if (!work_add(&w, 16 + line.n / 16, err)) return false;
        if (!regex_find_next(re, line, 0, &span, 1, vm_cancel(vm), &found, err)) return false;
        if (found && !add_line(vm, l, number, line, err)) return false;
    }
    return true;
}

bool fs_find(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    Worker *worker = vm_keep(vm);
    Regex *own;
    Buf text = { 0 };
    List *l = list_new(vm_heap(vm), 0, err);
    const Regex *re = l ? pattern_get(worker ? &worker->patterns : NULL, script_arg(a, 1), 0, &own, err) : NULL;
    if (!re) return false;
    bool ok = fs_load(vm, script_arg(a, 0), true, &text, NULL, err) && find_lines(vm, re, buf_str(&text), l, err);
    buf_clear(&text);
    regex_free(own);
    return ok && (*out = value_from_object(l), true);
}
