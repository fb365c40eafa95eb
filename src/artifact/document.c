#include "artifact/document.h"
#include <stdlib.h>
#include "base/mem.h"
#include "value/json.h"
#include "value/yaml.h"

static Str base_name(Str path) {
    size_t from = path.n;
    while (from > 0 && path.at[from - 1] != '/') from--;
    return str_sub(path, from, path.n);
}

static Str stem(Str path) {
    Str name = base_name(path);
    for (size_t i = name.n; i-- > 1;)
        if (name.at[i] == '.') return str_sub(name, 0, i);
    return name;
}

/* ---- reading ---- */

static void index_lines(Document *d) {
    const char *end = d->text.at + d->text.n;
    size_t cap = d->text.n / 24 + 8;
    d->lines = mem_alloc(cap * sizeof *d->lines);
    d->lines[d->n_lines++] = 0;
    for (const char *at = d->text.at; (at = memchr(at, '\n', (size_t)(end - at)));) {
        if (d->n_lines == cap) d->lines = mem_resize(d->lines, cap *= 2, sizeof *d->lines);
        d->lines[d->n_lines++] = (uint32_t)(++at - d->text.at);
    }
}

static bool parse_text(DocumentContext *c, Document *d, DocumentFormat format, Error *err) {
    if (d->text.n > DOCUMENT_BYTES_MAX) return error_set(err, ERR_LIMIT, "it is larger than %d bytes", (int)DOCUMENT_BYTES_MAX);
    if (format == DOCUMENT_JSON)
        return json_read(c->heap, d->text, &(JsonRead){ .places = d->places, .names = c->names, .reject_duplicates = true }, &d->root, err);
    Frontmatter parts = { .yaml = d->text, .yaml_line = 1 };
    if (format == DOCUMENT_MARKDOWN && !frontmatter_split(d->text, &parts, err)) return false;
    d->body = parts.body;
    d->body_line = parts.body_line;
    YamlRead options = { .first_line = parts.yaml_line, .max_bytes = DOCUMENT_BYTES_MAX, .places = d->places, .names = c->names, .expect_map = true };
    return yaml_read(c->heap, parts.yaml, &options, &d->root, err);
}

static bool failed(DocumentContext *c, const char *kind, Document *d, Error *err) {
    error_wrap(err, "parse %s " STR_FMT, kind, STR_ARG(base_name(d->file)));
    problems_add_error(c->problems, d->file, err);
    document_clear(d);
    return false;
}

static void start(DocumentContext *c, const char *kind, Str path, Document *d) {
    *d = (Document){ .kind = str_from(kind), .root = VALUE_GONE };
    d->file = arena_concat(c->arena, c->shown, path);
    d->name = stem(d->file);
}

/* Takes ownership of `text`. */
static bool finish(DocumentContext *c, const char *kind, Document *d, DocumentFormat format, Buf *text) {
    Error err = { 0 };
    size_t n = text->n;
    d->owned = buf_take(text);
    d->text = (Str){ d->owned ? d->owned : "", n };
    d->places = places_new();
    if (!parse_text(c, d, format, &err)) return failed(c, kind, d, &err);
    index_lines(d);
    return true;
}

bool document_parse(DocumentContext *c, const char *kind, Str path, DocumentFormat format, Str text, Document *out) {
    Buf copy = { 0 };
    start(c, kind, path, out);
    buf_add(&copy, text);
    return finish(c, kind, out, format, &copy);
}

static bool read_document(DocumentContext *c, const char *kind, Str path, DocumentFormat format, Document *out) {
    Buf text = { 0 };
    Error err = { 0 };
    start(c, kind, path, out);
    if (!document_read_bytes(c, path, DOCUMENT_BYTES_MAX, &text, &err)) return failed(c, kind, out, &err);
    return finish(c, kind, out, format, &text);
}

bool document_read_markdown(DocumentContext *c, const char *kind, Str path, Document *out) {
    return read_document(c, kind, path, DOCUMENT_MARKDOWN, out);
}

bool document_read_yaml(DocumentContext *c, const char *kind, Str path, Document *out) {
    return read_document(c, kind, path, DOCUMENT_YAML, out);
}

bool document_read_json(DocumentContext *c, const char *kind, Str path, Document *out) {
    return read_document(c, kind, path, DOCUMENT_JSON, out);
}

void document_clear(Document *d) {
    free(d->owned);
    free(d->lines);
    places_free(d->places);
    d->text = d->body = (Str){ 0 };
    d->owned = NULL;
    d->lines = NULL;
    d->places = NULL;
}

/* ---- positions ---- */

static Place or_start(const Document *d, Place at) {
    if (at.line) return at;
    Place root = d->places ? places_root(d->places) : (Place){ 0 };
    return root.line ? root : (Place){ 1, 1 };
}

Place document_place(const Document *d, Value container, Str key) {
    Place at = { 0 };
    if (d->places && key.n) places_field(d->places, container, key, &at);
    return or_start(d, at);
}

bool document_has_place(const Document *d, Value container, Str key) {
    Place at;
    return d->places && places_field(d->places, container, key, &at);
}

Place document_item_place(const Document *d, Value list, size_t index) {
    Place at = { 0 };
    if (d->places) places_value(d->places, list, (uint32_t)index, &at);
    return or_start(d, at);
}

/* Start of the key's value. */
static Place value_place(const Document *d, Value container, Str key) {
    Place at = { 0 };
    ptrdiff_t i = value_is_dict(container) ? dict_index_str(value_dict(container), key) : -1;
    if (d->places && i >= 0) places_value(d->places, container, (uint32_t)i, &at);
    return or_start(d, at);
}

void document_error(const DocumentContext *c, const Document *d, Value container, Str key, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    problems_add_v(c->problems, PROBLEM_ERROR, d->file, document_place(d, container, key), (Str){ 0 }, fmt, ap);
    va_end(ap);
}

void document_report(const DocumentContext *c, const Document *d, Severity severity, Place place, Str hint, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    problems_add_v(c->problems, severity, d->file, place, hint, fmt, ap);
    va_end(ap);
}

/* ---- embedded scripts ---- */

static Str line_text(const Document *d, uint32_t line) {
    if (line == 0 || line > d->n_lines) return (Str){ 0 };
    size_t end = line < d->n_lines ? d->lines[line] : d->text.n;
    return str_sub(d->text, d->lines[line - 1], end);
}

static size_t spaces(Str line) {
    size_t n = 0;
    while (n < line.n && line.at[n] == ' ') n++;
    return n;
}

static bool is_blank(Str line) { return str_trim(line).n == 0; }

/* Number of columns by which a block scalar is indented in the file, measured at its first nonblank line. */
static uint32_t block_indent(const Document *d, uint32_t first, Str value) {
    for (uint32_t number = first; number <= d->n_lines; number++) {
        Str in_file = line_text(d, number), line;
        if (!str_next_line(&value, &line)) return 0;
        if (is_blank(in_file)) continue;
        size_t there = spaces(in_file), here = spaces(line);
        return there > here ? (uint32_t)(there - here) : 0;
    }
    return 0;
}

/* The style of the scalar after tags and anchors: '|', '>', a quote, or the first byte of a plain one. */
static char scalar_style(const Document *d, Place *at) {
    Str rest = line_text(d, at->line);
    rest = str_sub(rest, at->column - 1, rest.n);     /* columns count code points; keys before it are nearly always ASCII */
    while (rest.n && (rest.at[0] == '!' || rest.at[0] == '&')) {
        size_t n = 0;
        while (n < rest.n && rest.at[n] != ' ' && rest.at[n] != '\n') n++;
        n += spaces(str_sub(rest, n, rest.n));
        at->column += (uint32_t)n;
        rest = str_sub(rest, n, rest.n);
    }
    return rest.n ? rest.at[0] : 0;
}

void document_script_place(const Document *d, Value container, Str key, uint32_t *first_line, uint32_t *indent) {
    Place at = value_place(d, container, key);
    Value *v = value_is_dict(container) ? dict_find_str(value_dict(container), key) : NULL;
    char style = scalar_style(d, &at);
    *first_line = at.line;
    if (style == '|' || style == '>') {
        *first_line = at.line + 1;
        *indent = v && value_is_string(*v) ? block_indent(d, *first_line, value_str(*v)) : 0;
    } else {
        *indent = at.column - 1 + (style == '"' || style == '\'');
    }
}
