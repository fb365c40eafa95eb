#include "template/render.h"
#include <math.h>
#include <stdlib.h>
#include "base/mem.h"
#include "base/number.h"
#include "base/utf8.h"
#include "value/dict.h"
#include "value/int.h"
#include "value/list.h"

bool render_fail(const Render *r, const AstNode *n, ErrorKind kind, const char *fmt, ...) {
    uint32_t line, column;
    va_list ap;
    va_start(ap, fmt);
    error_set_v(r->err, kind, fmt, ap);
    va_end(ap);
    ast_place(r->t->text, n->at, &line, &column);
    return error_place(r->err, NULL, line, column);
}

/* ---- lookup ---- */

static bool items_of(Value v, const Value **at, uint32_t *n) {
    if (value_is_list(v)) return *at = value_list(v)->at, *n = value_list(v)->n, true;
    if (value_is_tuple(v)) return *at = value_tuple(v)->at, *n = value_tuple(v)->n, true;
    return false;
}

/* In UTF-16 units, as JavaScript counts. */
static int64_t text_length(Str s) {
    int64_t n = 0;
    for (size_t i = 0, length; i < s.n; i += length) n += utf8_decode(str_sub(s, i, s.n), &length) > 0xffff ? 2 : 1;
    return n;
}

static bool read_index(Str s, uint32_t *out) {
    uint64_t i = 0;
    if (s.n == 0 || s.n > 9 || (s.at[0] == '0' && s.n > 1)) return false;
    for (size_t k = 0; k < s.n; k++) {
        if (s.at[k] < '0' || s.at[k] > '9') return false;
        i = i * 10 + (uint64_t)(s.at[k] - '0');
    }
    return *out = (uint32_t)i, true;
}

static Value property(Value v, Str name) {
    const Value *at;
    uint32_t n, i;
    if (value_is_dict(v)) {
        Value *found = dict_find_str(value_dict(v), name);
        return found ? *found : VALUE_GONE;
    }
    if (items_of(v, &at, &n)) {
        if (str_eq(name, STR("length"))) return value_from_small(n);
        return read_index(name, &i) && i < n ? at[i] : VALUE_GONE;
    }
    if (value_is_string(v) && str_eq(name, STR("length"))) return value_from_small(text_length(value_str(v)));
    return VALUE_GONE;
}

static Value data_value(const Render *r, const AstPath *path, const RenderFrame *frame) {
    for (uint32_t i = 0; i < path->depth && frame; i++) frame = frame->up;
    if (path->n == 0) return VALUE_GONE;
    Str name = path->part[0];
    if (str_eq(name, STR("root"))) return r->root;
    if (!frame) return VALUE_GONE;
    if (str_eq(name, STR("index"))) return frame->index;
    if (str_eq(name, STR("key"))) return frame->key;
    if (str_eq(name, STR("first"))) return value_from_bool(frame->first);
    if (str_eq(name, STR("last"))) return value_from_bool(frame->last);
    return VALUE_GONE;
}

/* Substitutes the default for a missing parameter of a command. */
static Value or_fallback(const Render *r, const AstNode *n, Value v) {
    if (n->param < 0 || !(value_is_gone(v) || value_is_none(v))) return v;
    return r->t->params[n->param].fallback;
}

/* GONE if missing. */
static Value lookup(const Render *r, const AstNode *n, const RenderScope *scope, const RenderFrame *frame) {
    const AstPath *path = &n->path;
    Value v;
    uint32_t first = 0;
    if (path->data) v = data_value(r, path, frame), first = 1;
    else {
        for (uint32_t i = 0; i < path->depth && scope; i++) scope = scope->up;
        v = scope ? scope->v : VALUE_GONE;
    }
    uint32_t head = first + (n->param >= 0);              /* skip the part that is the parameter's name */
    for (uint32_t i = first; i < path->n; i++) {
        v = property(v, path->part[i]);
        if (i + 1 == head) v = or_fallback(r, n, v);
    }
    return v;
}

/* ---- blocks ---- */

static bool is_empty(Value v) {
    const Value *at;
    uint32_t n;
    if (value_is_gone(v) || value_is_none(v)) return true;
    if (value_is_bool(v)) return !value_bool(v);
    if (value_is_float(v)) return isnan(value_float(v));
    if (value_is_string(v)) return value_str(v).n == 0;
    return items_of(v, &at, &n) && n == 0;
}

static bool is_true(Value v) {
    if (value_is_small(v)) return value_small(v) != 0;
    if (value_is_float(v) && value_float(v) == 0) return false;
    return !is_empty(v);
}

static bool same_context(Value a, Value b) {
    if (value_is_string(a) && value_is_string(b)) return str_eq(value_str(a), value_str(b));
    return value_same(a, b);
}

/* As in Handlebars, a context equal to the enclosing one adds no level for "..". Paths of a command were resolved when
 * it was compiled; there each block is always one level. */
static bool render_in(Render *r, const AstBody *b, Value v, const RenderScope *scope, const RenderFrame *frame) {
    if (!r->t->command && same_context(v, scope->v)) return render_body(r, b, scope, frame);
    return render_body(r, b, &(RenderScope){ v, scope }, frame);
}

static bool each_item(Render *r, const AstNode *n, const Value *at, uint32_t count, const RenderScope *scope, RenderFrame *frame) {
    for (uint32_t i = 0; i < count; i++) {
        frame->index = frame->key = value_from_small(i);
        frame->first = i == 0, frame->last = i + 1 == count;
        if (!render_in(r, n->main, at[i], scope, frame)) return false;
    }
    return true;
}

static bool each_entry(Render *r, const AstNode *n, const Dict *d, const RenderScope *scope, RenderFrame *frame) {
    uint32_t done = 0;
    Entry *e;
    for (uint32_t i = 0; dict_next(d, &i, &e); done++) {
        frame->index = value_from_small(done), frame->key = e->key;
        frame->first = done == 0, frame->last = done + 1 == d->n;
        if (!render_in(r, n->main, e->value, scope, frame)) return false;
    }
    return true;
}

static bool render_each(Render *r, const AstNode *n, Value v, const RenderScope *scope, const RenderFrame *frame) {
    RenderFrame inner = { .up = frame };
    const Value *at;
    uint32_t count;
    if (items_of(v, &at, &count) && count) return each_item(r, n, at, count, scope, &inner);
    if (value_is_dict(v) && value_dict(v)->n) return each_entry(r, n, value_dict(v), scope, &inner);
    return !n->other || render_body(r, n->other, scope, frame);
}

static bool render_block(Render *r, const AstNode *n, const RenderScope *scope, const RenderFrame *frame) {
    Value v = lookup(r, n, scope, frame);
    if (n->kind == AST_EACH) return render_each(r, n, v, scope, frame);
    if (n->kind == AST_WITH && !is_empty(v)) return render_in(r, n->main, v, scope, frame);
    bool yes = n->kind == AST_IF ? is_true(v) : n->kind == AST_UNLESS && !is_true(v);
    const AstBody *b = yes ? n->main : n->other;
    return !b || render_body(r, b, scope, frame);
}

/* ---- values as text, the way JavaScript writes them ---- */

static void write_double(Buf *out, double d) {
    char digits[NUMBER_TEXT_SIZE];
    int point;
    if (isnan(d)) return buf_add(out, STR("NaN"));
    if (d < 0) buf_add_char(out, '-');
    if (isinf(d)) return buf_add(out, STR("Infinity"));
    int n = (int)number_digits(fabs(d), digits, &point);
    if (point > 21 || point < -5) {
        buf_add_char(out, digits[0]);
        if (n > 1) buf_add_char(out, '.'), buf_add(out, (Str){ digits + 1, (size_t)n - 1 });
        return buf_add_fmt(out, "e%+d", point - 1);
    }
    if (point <= 0) buf_add(out, STR("0."));
    for (int i = point; i < 0; i++) buf_add_char(out, '0');
    for (int i = 0; i < n || i < point; i++) {
        if (i == point && i > 0) buf_add_char(out, '.');
        buf_add_char(out, i < n ? digits[i] : '0');
    }
}

enum { NESTED_MAX = 100 };

static bool write_value(Render *r, const AstNode *n, Value v, unsigned depth) {
    const Value *at;
    uint32_t count;
    if (depth > NESTED_MAX) return render_fail(r, n, ERR_LIMIT, "lists nested more than %d deep", NESTED_MAX);
    if (++r->steps > TEMPLATE_STEPS_MAX) return render_fail(r, n, ERR_LIMIT, "the template takes more than %d steps", TEMPLATE_STEPS_MAX);
    if (value_is_gone(v) || value_is_none(v)) return true;
    if (value_is_string(v)) buf_add(r->out, value_str(v));
    else if (value_is_bool(v)) buf_add(r->out, value_bool(v) ? STR("true") : STR("false"));
    else if (value_is_int(v)) int_text(r->out, v, 10);
    else if (value_is_float(v)) write_double(r->out, value_float(v));
    else if (value_is_dict(v)) buf_add(r->out, STR("[object Object]"));
    else if (items_of(v, &at, &count)) {
        for (uint32_t i = 0; i < count && !r->out->full; i++) {
            if (i) buf_add_char(r->out, ',');
            if (!write_value(r, n, at[i], depth + 1)) return false;
        }
    } else return render_fail(r, n, ERR_VALIDATION, "a %s has no text form", value_type_name(v));
    return true;
}

/* ---- the walk ---- */

static bool render_node(Render *r, const AstNode *n, const RenderScope *scope, const RenderFrame *frame) {
    switch (n->kind) {
    case AST_TEXT:
        buf_add(r->out, n->text);
        if (n->lead != AST_LEAD_SAME) r->lead = n->lead == AST_LEAD_YES;
        return true;
    case AST_COMMENT: return true;
    case AST_VALUE: {
        Value v = lookup(r, n, scope, frame);
        return r->t->command ? render_quoted(r, n, v) : write_value(r, n, v, 0);
    }
    default: return render_block(r, n, scope, frame);
    }
}

bool render_body(Render *r, const AstBody *b, const RenderScope *scope, const RenderFrame *frame) {
    if (++r->steps > TEMPLATE_STEPS_MAX)
        return error_set(r->err, ERR_LIMIT, "the template takes more than %d steps", TEMPLATE_STEPS_MAX);
    for (size_t i = 0; i < b->n; i++) {
        if (++r->steps > TEMPLATE_STEPS_MAX)
            return render_fail(r, &b->node[i], ERR_LIMIT, "the template takes more than %d steps", TEMPLATE_STEPS_MAX);
        if (!render_node(r, &b->node[i], scope, frame)) return false;
        if (r->out->full) return render_fail(r, &b->node[i], ERR_LIMIT, "the output is longer than %zu bytes", r->t->max_output);
    }
    return true;
}

bool render_run(const Template *t, Value context, Buf *out, Error *err) {
    Buf text = { .limit = t->max_output };
    Render r = { .t = t, .out = &text, .root = context, .lead = true, .err = err };
    bool ok = render_body(&r, &t->body, &(RenderScope){ context, NULL }, NULL);
    if (ok) buf_add(out, buf_str(&text));
    buf_clear(&text);
    return ok;
}

bool template_render(const Template *t, Value context, Buf *out, Error *err) {
    if (t->command) return error_set(err, ERR_INTERNAL, "a command is rendered with its arguments quoted");
    return render_run(t, context, out, err);
}

/* ---- templates ---- */

static Template *template_new(Str text, size_t max_output) {
    Template *t = mem_zero(1, sizeof *t);
    t->text = arena_str(&t->arena, text);
    t->max_output = max_output ? max_output : TEMPLATE_OUTPUT_MAX;
    return t;
}

bool template_compile(Str text, const TemplateOptions *options, Template **out, Error *err) {
    if (text.n > TEMPLATE_TEXT_MAX)
        return error_set_at(err, ERR_LIMIT, 1, 1, "a template may not be longer than %d bytes", TEMPLATE_TEXT_MAX);
    Template *t = template_new(text, options ? options->max_output : 0);
    if (!ast_parse(t, err)) return template_free(t), false;
    return *out = t, true;
}

void template_free(Template *t) {
    if (!t) return;
    arena_clear(&t->arena);
    free(t);
}

Str template_text(const Template *t) { return t->text; }
bool template_has_raw(const Template *t) { return t->has_raw; }
