#include "artifact/grants.h"
#include <stdlib.h>
#include "base/sha256.h"
#include "value/dict.h"
#include "value/int.h"
#include "value/json.h"
#include "value/list.h"

typedef struct GrantRow { GrantRule rule; int64_t limit; GrantKind kind; const char *words; } GrantRow;

static const GrantRow rows[] = {
    { 0 },
#define INERT(format, key) [GRANT_##format##_##key] = { 0 },
#define TIGHTENS(format, key) [GRANT_##format##_##key] = { 0 },
#define GRANTS(format, key, rule, limit, kind, words) [GRANT_##format##_##key] = { GRANT_RULE_##rule, limit, GRANT_KIND_##kind, words },
#include "artifact/grants.def"
#undef INERT
#undef TIGHTENS
#undef GRANTS
};

const char *grants_heading(GrantKind kind) {
    static const char *const headings[] = {
#define X(kind, heading) [GRANT_KIND_##kind] = heading,
        GRANT_KINDS(X)
#undef X
    };
    return headings[kind];
}

/* ---- rules ---- */

/* "$${" is a literal, not a reference. */
static bool has_variable(Str s) {
    for (size_t i = 0; i + 1 < s.n; i++) {
        if (s.at[i] != '$') continue;
        if (s.at[i + 1] == '{') return true;
        if (s.at[i + 1] == '$') i++;
    }
    return false;
}

static bool any_text(Value v, bool (*test)(Str)) {
    Entry *e;
    if (value_is_string(v)) return test(value_str(v));
    for (uint32_t i = 0; value_is_list(v) && i < value_list(v)->n; i++)
        if (any_text(value_list(v)->at[i], test)) return true;
    for (uint32_t i = 0; value_is_dict(v) && dict_next(value_dict(v), &i, &e);)
        if (any_text(e->value, test)) return true;
    return false;
}

/* Treats any ".." as leading out, even if the path returns inside. */
static bool leads_out(Str path) {
    if (path.n && (path.at[0] == '/' || path.at[0] == '~')) return true;
    for (size_t i = 0; i + 1 < path.n; i++) {
        bool starts = i == 0 || path.at[i - 1] == '/', ends = i + 2 == path.n || path.at[i + 2] == '/';
        if (starts && ends && path.at[i] == '.' && path.at[i + 1] == '.') return true;
    }
    return false;
}

static bool above(Value v, int64_t limit) {
    if (value_is_int(v)) return int_to_double(v) > (double)limit;
    if (value_is_float(v)) return value_float(v) > (double)limit;
    for (uint32_t i = 0; value_is_list(v) && i < value_list(v)->n; i++)
        if (above(value_list(v)->at[i], limit)) return true;
    return false;
}

static bool is_empty(Value v) {
    if (value_is_string(v)) return value_str(v).n == 0;
    if (value_is_list(v)) return value_list(v)->n == 0;
    return value_is_dict(v) && value_dict(v)->n == 0;
}

static bool text_is(Value v, const char *text) { return value_is_string(v) && str_eq(value_str(v), str_from(text)); }

static bool applies(const GrantRow *row, Value v) {
    switch (row->rule) {
    case GRANT_RULE_NEVER: return false;
    case GRANT_RULE_ALWAYS: return !is_empty(v);
    case GRANT_RULE_IS_TRUE: return value_is_bool(v) && value_bool(v);
    case GRANT_RULE_ABOVE: return above(v, row->limit);
    case GRANT_RULE_OTHER_THAN_STRICT: return !text_is(v, "strict");
    case GRANT_RULE_IS_REAL: return text_is(v, "real");
    case GRANT_RULE_IS_OFF: return text_is(v, "off");
    case GRANT_RULE_OUTSIDE: return any_text(v, leads_out);
    case GRANT_RULE_VARIABLES: return any_text(v, has_variable);
    }
    return true;
}

bool grants_applies(GrantKey key, Value value) { return applies(&rows[key], value); }

/* ---- collecting ---- */

void grants_add(Grants *g, const Grant *grant) {
    VEC_PUSH(g, *grant);
    VEC_LAST(g).order = (uint32_t)g->n;
}

void grants_note(Grants *g, Arena *arena, GrantKey key, Value value, Str file, uint32_t line, const char *path) {
    const GrantRow *row = &rows[key];
    if (!applies(row, value)) return;
    Buf text = { 0 };
    json_write(&text, value, &(JsonWrite){ 0 }, NULL);   /* values of documents have a JSON form */
    bool secret = any_text(value, has_variable);
    grants_add(g, &(Grant){ .kind = secret ? GRANT_KIND_SECRET : row->kind, .file = file, .line = line, .path = arena_str(arena, str_from(path)),
                            .value = arena_str(arena, buf_str(&text)), .words = row->words });
    buf_clear(&text);
}

void grants_forget(Grants *g, Str file, const char *path) {
    size_t kept = 0;
    for (size_t i = 0; i < g->n; i++)
        if (!str_eq(g->at[i].file, file) || !str_eq(g->at[i].path, str_from(path))) g->at[kept++] = g->at[i];
    g->n = kept;
}

static int by_content(const void *a, const void *b) {
    const Grant *x = a, *y = b;
    if (x->kind != y->kind) return x->kind < y->kind ? -1 : 1;
    int order = str_cmp(x->file, y->file);
    if (order) return order;
    order = str_cmp(x->path, y->path);
    return order ? order : str_cmp(x->value, y->value);
}

static int by_place(const void *a, const void *b) {
    const Grant *x = a, *y = b;
    if (x->kind != y->kind) return x->kind < y->kind ? -1 : 1;
    int order = str_cmp(x->file, y->file);
    if (order) return order;
    if (x->line != y->line) return x->line < y->line ? -1 : 1;
    return x->order < y->order ? -1 : 1;
}

/* Removes duplicates, which occur when two readers read the same key. */
void grants_sort(Grants *g) {
    size_t kept = 0;
    if (g->n == 0) return;
    qsort(g->at, g->n, sizeof *g->at, by_content);
    for (size_t i = 0; i < g->n; i++)
        if (kept == 0 || by_content(&g->at[kept - 1], &g->at[i]) != 0) g->at[kept++] = g->at[i];
    g->n = kept;
    qsort(g->at, g->n, sizeof *g->at, by_place);
}

/* ---- evaluation ---- */

bool grants_are_sensitive(const Grant *list, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (list[i].kind == GRANT_KIND_SECRET || list[i].kind == GRANT_KIND_FILES || list[i].kind == GRANT_KIND_SANDBOX) return true;
    return false;
}

static void add_part(Sha256 *s, Str part) {
    uint64_t n = part.n;
    sha256_add(s, (Str){ (const char *)&n, sizeof n });  /* length prefix: different lists give different bytes */
    sha256_add(s, part);
}

void grants_digest(const Grant *list, size_t n, uint8_t out[GRANTS_DIGEST_BYTES]) {
    Grants sorted = { 0 };
    Sha256 s;
    sha256_init(&s);
    for (size_t i = 0; i < n; i++) VEC_PUSH(&sorted, list[i]);
    if (n) qsort(sorted.at, n, sizeof *sorted.at, by_content);
    for (size_t i = 0; i < n; i++) {
        add_part(&s, str_from(grants_heading(sorted.at[i].kind)));
        add_part(&s, sorted.at[i].file);
        add_part(&s, sorted.at[i].path);
        add_part(&s, sorted.at[i].value);
    }
    VEC_CLEAR(&sorted);
    sha256_end(&s, out);
}
