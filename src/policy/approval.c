#include "policy/approval.h"
#include <pthread.h>
#include <stdlib.h>
#include "base/arena.h"
#include "base/mem.h"
#include "base/table.h"

/* Each approval is one key: the tool's name, a NUL, the arguments. Names contain no NUL. */
struct Approvals { pthread_mutex_t lock; Arena arena; Table table; };

Approvals *approval_list_new(void) {
    Approvals *a = mem_zero(1, sizeof *a);
    pthread_mutex_init(&a->lock, NULL);
    return a;
}

void approval_list_free(Approvals *a) {
    if (!a) return;
    table_clear(&a->table);
    arena_clear(&a->arena);
    pthread_mutex_destroy(&a->lock);
    free(a);
}

static void add_key(Buf *key, Str tool, Str args) {
    buf_add(key, tool);
    buf_add_char(key, 0);
    buf_add(key, args);
}

bool approval_given(Approvals *a, Str tool, Str args_json) {
    Buf key = { 0 };
    add_key(&key, tool, args_json);
    pthread_mutex_lock(&a->lock);
    bool given = table_has(&a->table, buf_str(&key)) || table_has(&a->table, str_sub(buf_str(&key), 0, tool.n + 1));
    pthread_mutex_unlock(&a->lock);
    buf_clear(&key);
    return given;
}

void approval_add(Approvals *a, Str tool, Str args_json) {
    Buf key = { 0 };
    add_key(&key, tool, args_json);
    pthread_mutex_lock(&a->lock);
    if (!table_has(&a->table, buf_str(&key))) table_put(&a->table, arena_str(&a->arena, buf_str(&key)), a);
    pthread_mutex_unlock(&a->lock);
    buf_clear(&key);
}

/* ---- sensitive names ---- */

static bool same_letters(Str s, Str lower) {
    for (size_t i = 0; i < lower.n; i++) {
        char c = s.at[i];
        if ((c >= 'A' && c <= 'Z' ? (char)(c + 32) : c) != lower.at[i]) return false;
    }
    return true;
}

static bool starts(Str s, Str prefix) { return s.n >= prefix.n && same_letters(s, prefix); }
static bool ends(Str s, Str suffix) { return s.n >= suffix.n && same_letters(str_sub(s, s.n - suffix.n, s.n), suffix); }

static const char *const sensitive[] = {
#define SENSITIVE(pattern) pattern,
#include "policy/sensitive.def"
#undef SENSITIVE
};

static bool fits(Str s, Str pattern) {
    if (pattern.at[pattern.n - 1] == '*') return starts(s, str_sub(pattern, 0, pattern.n - 1));
    if (pattern.at[0] == '*') return ends(s, str_sub(pattern, 1, pattern.n));
    return s.n == pattern.n && same_letters(s, pattern);
}

static bool sensitive_name(Str s) {
    for (size_t i = 0; i < sizeof sensitive / sizeof *sensitive; i++)
        if (fits(s, str_from(sensitive[i]))) return true;
    return false;
}

bool approval_sensitive(Str path) {
    for (size_t from = 0; from <= path.n;) {
        ptrdiff_t slash = str_find_char(str_sub(path, from, path.n), '/');
        size_t to = slash < 0 ? path.n : from + (size_t)slash;
        if (sensitive_name(str_sub(path, from, to))) return true;
        from = to + 1;
    }
    return false;
}

bool approval_brief(Str path) {
    while (path.n && path.at[path.n - 1] == '/') path.n--;
    size_t from = path.n;
    while (from > 0 && path.at[from - 1] != '/') from--;
    Str name = str_sub(path, from, path.n);
    return name.n == 9 && (same_letters(name, STR("agents.md")) || same_letters(name, STR("claude.md")));
}
