#include "value/yaml.h"
#include <stdlib.h>
#include <yaml.h>
#include "base/arena.h"
#include "base/table.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "value/list.h"
#include "value/yaml_problem.h"
#include "value/yaml_scalar.h"
#include "value/yaml_text.h"

/* Copying an alias recurses, and deeper values could not be compared anyway. */
enum { DEPTH_CEILING = 1000, BYTES_DEFAULT = 1 << 20 };

/* A container being filled. Its parent already references it, so closing it only pops the frame. */
typedef struct {
    Value container;
    Value key;              /* key of the current entry; GONE: a key comes next */
    Place key_place;
    size_t lines;           /* start of this map's part of Reader.key_lines */
    size_t anchor;          /* index + 1; 0: none */
    size_t nodes;           /* number of nodes before it */
    unsigned height;        /* levels of containers from here down, including this one */
} Frame;

/* Target of an alias. Text and scalars are immutable and shared; containers are copied. `nodes` and `height` are
 * known before the copy, so an alias bomb is rejected without expanding it. */
typedef struct {
    Value value;
    Value key;              /* text for use as a key; GONE for a container */
    size_t nodes;
    unsigned height;
    bool open;              /* still being filled: an alias to it would contain itself */
} Anchor;

typedef struct {
    Heap *heap;
    YamlRead opt;
    YamlText text;
    yaml_parser_t parser;
    bool parsing, seen_document, seen_root;
    bool tags;               /* the text has a '!' */
    Value root;
    size_t nodes;
    VEC(Frame) stack;
    VEC(uint32_t) key_lines; /* lines of the keys of all open maps, for duplicate-key errors */
    VEC(Anchor) anchors;
    Table anchor_names;      /* the value is index + 1 */
    Arena names;
    size_t cursor, cursor_index;   /* byte offset and character index of the same position; only moves forward */
    Error *err;
} Reader;

static Place place_at(const Reader *r, yaml_mark_t mark) {
    return (Place){ (uint32_t)mark.line + r->opt.first_line, (uint32_t)mark.column + 1 };
}

/* Adds the prefix and the place to the message in r->err. */
static bool located(Reader *r, Place at) {
    error_wrap(r->err, "yaml: line %u", (unsigned)at.line);
    if (r->err) r->err->line = at.line, r->err->column = at.column;
    return false;
}

__attribute__((format(printf, 4, 5)))
static bool fail(Reader *r, yaml_mark_t mark, ErrorKind kind, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    error_set_v(r->err, kind, fmt, ap);
    va_end(ap);
    return located(r, place_at(r, mark));
}

/* --- libyaml's own errors ----------------------------------------------------------------------------------------- */

/* Byte offset of a mark. Scans from the start, so for errors only. */
static size_t offset_of(Str text, yaml_mark_t mark) {
    size_t i = 0, length;
    for (size_t n = 0; n < mark.index && i < text.n; n++, i += length) utf8_decode(str_sub(text, i, text.n), &length);
    return i;
}

static bool fail_parser(Reader *r) {
    const yaml_parser_t *p = &r->parser;
    if (p->error == YAML_MEMORY_ERROR) return fail(r, p->mark, ERR_LIMIT, "out of memory");
    if (p->error != YAML_SCANNER_ERROR && p->error != YAML_PARSER_ERROR)   /* the text was validated before */
        return fail(r, p->mark, ERR_INTERNAL, "%s", p->problem ? p->problem : "cannot be read");

    Str text = r->text.text;
    size_t offset = offset_of(text, p->problem_mark);
    YamlProblem said = yaml_problem_explain(p->problem, p->context, offset < text.n ? text.at[offset] : 0);
    Place inside = place_at(r, p->context_mark), at = place_at(r, p->problem_mark);
    if (said.where == PROBLEM_AT_START && p->context) at = inside;
    else if (offset == text.n) {   /* libyaml counts the end as one more line */
        at = yaml_text_place(text, offset);
        at.line += r->opt.first_line - 1;
    }
    if (p->context && said.where == PROBLEM_INSIDE && inside.line != at.line)
        error_set(r->err, ERR_PARSE, "%s, %s that starts on line %u", said.text, p->context, (unsigned)inside.line);
    else
        error_set(r->err, ERR_PARSE, "%s", said.text);
    return located(r, at);
}

/* --- inserting nodes ---------------------------------------------------------------------------------------------- */

static bool count_nodes(Reader *r, size_t n, yaml_mark_t mark) {
    if (n > r->opt.max_nodes - r->nodes)
        return fail(r, mark, ERR_LIMIT, "more than %u nodes", r->opt.max_nodes);
    r->nodes += n;
    return true;
}

static bool expects_key(const Reader *r) {
    return r->stack.n && value_is_dict(VEC_LAST(&r->stack).container) && value_is_gone(VEC_LAST(&r->stack).key);
}

static bool put_key(Reader *r, Value key, yaml_mark_t mark) {
    Frame *f = &VEC_LAST(&r->stack);
    ptrdiff_t twin = dict_index_str(value_dict(f->container), value_str(key));
    if (twin >= 0) {
        char shown[YAML_SHOW_SIZE];
        yaml_problem_show(value_str(key), shown);
        return fail(r, mark, ERR_PARSE, "duplicate key %s (first on line %u)", shown,
                    (unsigned)r->key_lines.at[f->lines + (size_t)twin]);
    }
    f->key = key;
    f->key_place = place_at(r, mark);
    VEC_PUSH(&r->key_lines, f->key_place.line);
    return true;
}

/* Adds a value to the innermost container, or makes it the root. */
static bool put_value(Reader *r, Value v, unsigned height, yaml_mark_t mark) {
    Place at = place_at(r, mark);
    if (r->stack.n == 0) {
        r->root = v;
        r->seen_root = true;
        if (r->opt.places) places_put_root(r->opt.places, at);
        return true;
    }
    Frame *f = &VEC_LAST(&r->stack);
    uint32_t index;
    if (height >= f->height) f->height = height + 1;
    if (value_is_dict(f->container)) {
        index = value_dict(f->container)->used;
        if (!dict_put(r->heap, value_dict(f->container), f->key, v, r->err)) return located(r, at);
    } else {
        index = value_list(f->container)->n;
        if (!list_push(r->heap, value_list(f->container), v, r->err)) return located(r, at);
    }
    if (r->opt.places) places_put(r->opt.places, f->container, index, f->key_place, at);
    f->key = VALUE_GONE;
    return true;
}

/* --- anchors and aliases ---------------------------------------------------------------------------------------- */

/* Records an anchor, replacing an earlier one of the same name. Returns index + 1, or 0 without an anchor. */
static size_t add_anchor(Reader *r, const yaml_char_t *name, Anchor a) {
    if (!name) return 0;
    VEC_PUSH(&r->anchors, a);
    Str key = arena_str(&r->names, str_from((const char *)name));
    table_put(&r->anchor_names, key, (void *)(uintptr_t)r->anchors.n);
    return r->anchors.n;
}

static bool copy_value(Reader *r, Value from, Value *out);

static void copy_place(Reader *r, Value from, uint32_t i, Value to, uint32_t j) {
    Place key = { 0, 0 }, value = { 0, 0 };
    if (!r->opt.places) return;
    places_key(r->opt.places, from, i, &key);
    if (places_value(r->opt.places, from, i, &value)) places_put(r->opt.places, to, j, key, value);
}

static bool copy_list(Reader *r, Value from, Value *out) {
    const List *source = value_list(from);
    List *l = list_new(r->heap, source->n, r->err);
    if (!l) return false;
    *out = value_from_object(l);
    for (uint32_t i = 0; i < source->n; i++) {
        Value item;
        if (!copy_value(r, source->at[i], &item) || !list_push(r->heap, l, item, r->err)) return false;
        copy_place(r, from, i, *out, i);
    }
    return true;
}

static bool copy_dict(Reader *r, Value from, Value *out) {
    const Dict *source = value_dict(from);
    Dict *d = dict_new(r->heap, source->n, r->err);
    if (!d) return false;
    *out = value_from_object(d);
    Entry *e;
    for (uint32_t i = 0; dict_next(source, &i, &e);) {
        Value item;
        if (!copy_value(r, e->value, &item) || !dict_put(r->heap, d, e->key, item, r->err)) return false;
        copy_place(r, from, i - 1, *out, d->used - 1);
    }
    return true;
}

static bool copy_value(Reader *r, Value from, Value *out) {
    if (value_is_list(from)) return copy_list(r, from, out);
    if (value_is_dict(from)) return copy_dict(r, from, out);
    *out = from;
    return true;
}

static bool on_alias(Reader *r, const yaml_event_t *e) {
    const char *name = (const char *)e->data.alias.anchor;
    uintptr_t found = (uintptr_t)table_get(&r->anchor_names, str_from(name));
    char shown[YAML_SHOW_SIZE];
    yaml_problem_show(str_from(name), shown);
    if (!found) return fail(r, e->start_mark, ERR_PARSE, "alias %s has no anchor before it", shown);
    const Anchor *a = &r->anchors.at[found - 1];
    if (a->open) return fail(r, e->start_mark, ERR_PARSE, "alias %s refers to a value that contains it", shown);
    if (!count_nodes(r, a->nodes, e->start_mark)) return false;
    if (r->stack.n + a->height > r->opt.max_depth)
        return fail(r, e->start_mark, ERR_LIMIT, "nested deeper than %u levels", r->opt.max_depth);
    if (expects_key(r)) {
        if (value_is_gone(a->key)) return fail(r, e->start_mark, ERR_PARSE, "a key must be a scalar");
        return put_key(r, a->key, e->start_mark);
    }
    Value copy;
    if (!copy_value(r, a->value, &copy)) return located(r, place_at(r, e->start_mark));
    return put_value(r, copy, a->height, e->start_mark);
}

/* --- scalars ---------------------------------------------------------------------------------------------------- */

/* libyaml drops the tag "!" of a scalar. True if the text has one, possibly after an anchor. */
static bool has_bare_tag(Reader *r, const yaml_event_t *e) {
    Str s = r->text.text;
    size_t length;
    for (; r->cursor_index < e->start_mark.index && r->cursor < s.n; r->cursor_index++, r->cursor += length)
        utf8_decode(str_sub(s, r->cursor, s.n), &length);
    size_t i = r->cursor;
    if (r->cursor_index != e->start_mark.index) return false;
    if (e->data.scalar.anchor && i < s.n && s.at[i] == '&') {
        i += 1 + strlen((const char *)e->data.scalar.anchor);
        while (i < s.n && strchr(" \t\r\n", s.at[i])) i++;
    }
    return i < s.n && s.at[i] == '!';
}

static bool on_scalar(Reader *r, const yaml_event_t *e) {
    const char *tag = (const char *)e->data.scalar.tag;
    Str text = { (const char *)e->data.scalar.value, e->data.scalar.length };
    bool plain = e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE, is_key = expects_key(r);
    if (!count_nodes(r, 1, e->start_mark)) return false;
    if (!tag && r->tags && has_bare_tag(r, e)) tag = "!";
    if (is_key && plain && !tag && str_eq(text, STR("<<")))
        return fail(r, e->start_mark, ERR_PARSE, "merge keys are not supported");
    text = yaml_text_restore(&r->text, text);

    Anchor a = { .nodes = 1 };
    bool needs_value = !is_key || tag || e->data.scalar.anchor, needs_key = is_key || e->data.scalar.anchor;
    if (needs_value && !yaml_scalar_read(r->heap, text, plain, tag, &a.value, r->err))
        return located(r, place_at(r, e->start_mark));
    if (needs_key) {
        String *key = r->opt.names ? string_intern(r->heap, r->opt.names, text, r->err) : string_new(r->heap, text, r->err);
        if (!key) return located(r, place_at(r, e->start_mark));
        a.key = value_from_object(key);
    }
    add_anchor(r, e->data.scalar.anchor, a);
    return is_key ? put_key(r, a.key, e->start_mark) : put_value(r, a.value, 0, e->start_mark);
}

/* --- containers and documents ----------------------------------------------------------------------------------- */

static bool check_container_tag(Reader *r, const yaml_event_t *e, const yaml_char_t *tag, const char *want) {
    if (!tag) return true;
    const char *core = yaml_scalar_core_tag((const char *)tag);
    if (!core) return fail(r, e->start_mark, ERR_PARSE, "%s", YAML_SCALAR_TAGS);
    if (strcmp(core, want) == 0) return true;
    return fail(r, e->start_mark, ERR_PARSE, "a %s does not fit its tag !!%s", want, core);
}

static bool open_container(Reader *r, const yaml_event_t *e) {
    bool map = e->type == YAML_MAPPING_START_EVENT;
    const yaml_char_t *tag = map ? e->data.mapping_start.tag : e->data.sequence_start.tag;
    const yaml_char_t *anchor = map ? e->data.mapping_start.anchor : e->data.sequence_start.anchor;
    size_t before = r->nodes;
    if (!count_nodes(r, 1, e->start_mark) || !check_container_tag(r, e, tag, map ? "map" : "seq")) return false;
    if (expects_key(r)) return fail(r, e->start_mark, ERR_PARSE, "a key must be a scalar");
    if (r->stack.n == r->opt.max_depth)
        return fail(r, e->start_mark, ERR_LIMIT, "nested deeper than %u levels", r->opt.max_depth);
    if (r->opt.expect_map && !map && r->stack.n == 0) return fail(r, e->start_mark, ERR_PARSE, "expected a map");

    void *made = map ? (void *)dict_new(r->heap, 0, r->err) : (void *)list_new(r->heap, 0, r->err);
    if (!made) return located(r, place_at(r, e->start_mark));
    Value v = value_from_object(made);
    if (!put_value(r, v, 1, e->start_mark)) return false;
    size_t index = add_anchor(r, anchor, (Anchor){ .value = v, .open = true });
    VEC_PUSH(&r->stack, ((Frame){ .container = v, .lines = r->key_lines.n, .anchor = index, .nodes = before, .height = 1 }));
    return true;
}

static bool close_container(Reader *r) {
    Frame f = VEC_POP(&r->stack);
    r->key_lines.n = f.lines;
    if (r->stack.n && f.height >= VEC_LAST(&r->stack).height) VEC_LAST(&r->stack).height = f.height + 1;
    if (f.anchor) {
        Anchor *a = &r->anchors.at[f.anchor - 1];
        a->nodes = r->nodes - f.nodes;
        a->height = f.height;
        a->open = false;
    }
    return true;
}

static bool on_document(Reader *r, const yaml_event_t *e) {
    if (e->data.document_start.version_directive ||
        e->data.document_start.tag_directives.start != e->data.document_start.tag_directives.end)
        return fail(r, e->start_mark, ERR_PARSE, "directives are not supported");
    if (r->seen_document) return fail(r, e->start_mark, ERR_PARSE, "only one document is allowed");
    return r->seen_document = true;
}

/* An empty root becomes an empty map where a map is expected; any other scalar is an error there. */
static bool on_root_scalar(Reader *r, const yaml_event_t *e) {
    bool empty = e->type == YAML_SCALAR_EVENT && e->data.scalar.length == 0 && !e->data.scalar.tag &&
                 e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    return empty || fail(r, e->start_mark, ERR_PARSE, "expected a map");
}

static bool on_event(Reader *r, const yaml_event_t *e) {
    switch (e->type) {
    case YAML_DOCUMENT_START_EVENT: return on_document(r, e);
    case YAML_ALIAS_EVENT: return on_alias(r, e);
    case YAML_SCALAR_EVENT:
        if (r->opt.expect_map && r->stack.n == 0) return on_root_scalar(r, e);
        return on_scalar(r, e);
    case YAML_SEQUENCE_START_EVENT:
    case YAML_MAPPING_START_EVENT: return open_container(r, e);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT: return close_container(r);
    default: return true;
    }
}

/* --- entry point -------------------------------------------------------------------------------------------------- */

static bool read_events(Reader *r) {
    yaml_parser_set_encoding(&r->parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&r->parser, (const unsigned char *)r->text.text.at, r->text.text.n);
    for (;;) {
        yaml_event_t e;
        if (!yaml_parser_parse(&r->parser, &e)) return fail_parser(r);
        bool ok = on_event(r, &e), end = e.type == YAML_STREAM_END_EVENT;
        yaml_event_delete(&e);
        if (!ok || end) return ok;
    }
}

static bool finish(Reader *r, Value *out) {
    if (!r->seen_root) {
        r->root = VALUE_NONE;
        if (r->opt.expect_map) {
            Dict *empty = dict_new(r->heap, 0, r->err);
            if (!empty) return located(r, (Place){ r->opt.first_line, 1 });
            r->root = value_from_object(empty);
        }
        if (r->opt.places) places_put_root(r->opt.places, (Place){ r->opt.first_line, 1 });
    }
    *out = r->root;
    return true;
}

static bool read_text(Reader *r, Str text, Value *out) {
    Place at = { 1, 1 };
    if (text.n > r->opt.max_bytes) {
        error_set(r->err, ERR_LIMIT, "text of %zu bytes is over the limit of %zu", text.n, r->opt.max_bytes);
        return located(r, (Place){ r->opt.first_line, 1 });
    }
    if (!yaml_text_prepare(&r->text, text, &at, r->err))
        return located(r, (Place){ at.line + r->opt.first_line - 1, at.column });
    r->tags = str_find_char(r->text.text, '!') >= 0;
    if (!yaml_parser_initialize(&r->parser)) return error_set(r->err, ERR_LIMIT, "yaml: out of memory");
    r->parsing = true;
    return read_events(r) && finish(r, out);
}

static YamlRead with_defaults(const YamlRead *options) {
    YamlRead o = options ? *options : (YamlRead){ 0 };
    if (o.first_line == 0) o.first_line = 1;
    if (o.max_nodes == 0) o.max_nodes = YAML_NODES_MAX;
    if (o.max_depth == 0) o.max_depth = YAML_DEPTH_MAX;
    if (o.max_depth > DEPTH_CEILING) o.max_depth = DEPTH_CEILING;
    if (o.max_bytes == 0) o.max_bytes = BYTES_DEFAULT;
    return o;
}

bool yaml_read(Heap *h, Str text, const YamlRead *options, Value *out, Error *err) {
    Reader r = { .heap = h, .opt = with_defaults(options), .err = err };
    bool ok = read_text(&r, text, out);
    if (r.parsing) yaml_parser_delete(&r.parser);
    yaml_text_clear(&r.text);
    VEC_CLEAR(&r.stack);
    VEC_CLEAR(&r.key_lines);
    VEC_CLEAR(&r.anchors);
    table_clear(&r.anchor_names);
    arena_clear(&r.names);
    return ok;
}
