/* Messages for validation problems. */
#include "schema/run.h"

#include <stdio.h>
#include <stdlib.h>
#include "base/mem.h"
#include "value/json.h"

bool run_break(Run *r, const char *fmt, ...) {
    if (r->broken) return false;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(r->why, RUN_WHY_SIZE, fmt, ap);
    va_end(ap);
    r->broken = true;
    return false;
}

static void add_token(Buf *b, Str s) {
    for (size_t i = 0; i < s.n; i++) {
        if (s.at[i] == '~') buf_add(b, STR("~0"));
        else if (s.at[i] == '/') buf_add(b, STR("~1"));
        else buf_add_char(b, s.at[i]);
    }
}

static void add_path(Buf *b, const Path *path) {
    VEC(const Path *) way = { 0 };
    for (; path; path = path->up) VEC_PUSH(&way, path);
    while (way.n) {
        const Path *p = VEC_POP(&way);
        buf_add_char(b, '/');
        if (p->listed) buf_add_fmt(b, "%u", p->index);
        else add_token(b, p->name);
    }
    VEC_CLEAR(&way);
}

/* NULL if the limit is reached. */
static SchemaProblem *problem_new(SchemaProblems *out) {
    size_t limit = out->limit ? out->limit : SCHEMA_PROBLEMS_MAX;
    if (out->n >= limit) return out->more = true, NULL;
    if (out->n == out->cap) vec_grow((void **)&out->at, &out->cap, sizeof *out->at);
    return &out->at[out->n++];
}

void schema_problems_clear(SchemaProblems *p) {
    free(p->at);
    arena_clear(&p->arena);
    *p = (SchemaProblems){ .limit = p->limit };
}

static Str keep(SchemaProblems *out, Buf *b) {
    Str s = arena_str(&out->arena, buf_str(b));
    buf_clear(b);
    return s;
}

enum { MESSAGE_MAX = 1000 };

/* Truncates the message: names and patterns may be of any length. */
static void cut(Buf *b) {
    if (b->n <= MESSAGE_MAX) return;
    size_t n = MESSAGE_MAX;
    while (n && ((unsigned char)b->at[n] & 0xC0) == 0x80) n--;
    b->n = n;
    buf_add(b, STR("…"));
}

bool run_bad(Run *r, const Node *n, const char *keyword, const Path *path, const char *fmt, ...) {
    SchemaProblem *p = r->out ? problem_new(r->out) : NULL;
    if (!p) return r->out = NULL, false;                 /* limit reached: stop collecting */
    Buf where = { 0 }, pointer = { 0 }, message = { 0 };
    va_list ap;
    va_start(ap, fmt);
    buf_add_vfmt(&message, fmt, ap);
    va_end(ap);
    cut(&message);
    add_path(&pointer, path);
    node_where(n, keyword, &where);
    *p = (SchemaProblem){ .path = keep(r->out, &pointer), .message = keep(r->out, &message), .schema = keep(r->out, &where) };
    return false;
}

void run_adopt(Run *r, const SchemaProblems *from, const Path *path, const char *before) {
    for (size_t i = 0; r->out && i < from->n; i++) {
        SchemaProblem *p = problem_new(r->out);
        if (!p) { r->out = NULL; return; }
        Buf pointer = { 0 }, message = { 0 };
        add_path(&pointer, path);
        buf_add_fmt(&message, "%s" STR_FMT, before, STR_ARG(from->at[i].message));
        cut(&message);
        Str where = arena_str(&r->out->arena, from->at[i].schema);
        *p = (SchemaProblem){ .path = keep(r->out, &pointer), .message = keep(r->out, &message), .schema = where };
    }
}

static const char *type_name(unsigned type) {
    switch (type) {
    case TYPE_NULL: return "null";
    case TYPE_BOOLEAN: return "boolean";
    case TYPE_INTEGER: case TYPE_FRACTION: return "number";
    case TYPE_STRING: return "string";
    case TYPE_ARRAY: return "array";
    case TYPE_OBJECT: return "object";
    default: return "a value without a JSON form";
    }
}

bool run_bad_type(Run *r, const Node *n, const Path *path, unsigned type) {
    if (!r->out) return false;
    if (n->never) return run_bad(r, n, NULL, path, "is not allowed");
    static const struct { unsigned bits; const char *name; } types[] = {
        { TYPE_OBJECT, "object" }, { TYPE_ARRAY, "array" }, { TYPE_STRING, "string" }, { TYPE_NUMBER, "number" },
        { TYPE_INTEGER, "integer" }, { TYPE_BOOLEAN, "boolean" }, { TYPE_NULL, "null" },
    };
    Buf names = { 0 };
    unsigned left = n->types;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if ((left & types[i].bits) != types[i].bits) continue;
        left &= ~types[i].bits;
        buf_add_fmt(&names, "%s%s", names.n ? " or " : "", types[i].name);
    }
    run_bad(r, n, "type", path, "expected %s, got %s", names.n ? names.at : "nothing", type_name(type));
    buf_clear(&names);
    return false;
}

enum { SHOWN_VALUE = 80, SHOWN_VALUES = 400 };

static void add_value(Buf *b, Value v) {
    Buf text = { 0 };
    if (!json_write(&text, v, &(JsonWrite){ .max_bytes = SHOWN_VALUE }, NULL)) {
        buf_clear(&text);
        buf_add(&text, value_is_string(v) ? STR("a long string") : STR("a large value"));
    }
    buf_add(b, buf_str(&text));
    buf_clear(&text);
}

bool run_bad_value(Run *r, const Node *n, const char *keyword, const Path *path, const char *words, Value v) {
    if (!r->out) return false;
    Buf text = { 0 };
    add_value(&text, v);
    run_bad(r, n, keyword, path, "%s " STR_FMT, words, STR_ARG(buf_str(&text)));
    buf_clear(&text);
    return false;
}

bool run_bad_enum(Run *r, const Node *n, const Path *path) {
    if (!r->out) return false;
    Buf text = { 0 };
    const ValueRules *k = n->values;
    for (uint32_t i = 0; i < k->n && text.n < SHOWN_VALUES; i++) {
        if (i) buf_add(&text, STR(", "));
        add_value(&text, k->options[i]);
        if (text.n >= SHOWN_VALUES && i + 1 < k->n) buf_add(&text, STR(", …"));
    }
    run_bad(r, n, "enum", path, k->n == 1 ? "must be %s" : "must be one of %s", text.n ? text.at : "nothing");
    buf_clear(&text);
    return false;
}
