/* .harness/resources/NAME.md: resources for MCP clients. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include "artifact/load.h"
#include "value/list.h"

#define AT(member) offsetof(ResourceDef, member)
static const Field fields[] = {
    { KEY(resource, name), .type = FIELD_STRING, .offset = AT(name) },
    { KEY(resource, title), .type = FIELD_STRING, .offset = AT(title) },
    { KEY(resource, description), .type = FIELD_STRING, .offset = AT(description) },
    { KEY(resource, uri), .type = FIELD_STRING, .offset = AT(uri) },
    { KEY(resource, uri_template), .type = FIELD_STRING, .offset = AT(uri_template) },
    { KEY(resource, mime_type), .type = FIELD_STRING, .offset = AT(mime_type) },
    { KEY(resource, file), .type = FIELD_STRING, .offset = AT(file) },
    { KEY(resource, text), .type = FIELD_STRING, .offset = AT(text) },
    { KEY(resource, blob), .type = FIELD_STRING, .offset = AT(blob) },
    { KEY(resource, values), .type = FIELD_MAP, .offset = AT(values) },
    { KEY(resource, script), .flags = FIELD_IGNORED },
};

static bool is_given(const LoaderPlace *at, const char *key) {
    Value *v = dict_find_str(value_dict(at->map), str_from(key));
    return v && !value_is_none(*v);
}

static size_t count_given(const LoaderPlace *at, const char *const *keys, size_t n) {
    size_t given = 0;
    for (size_t i = 0; i < n; i++) given += is_given(at, keys[i]);
    return given;
}

static void exactly_one(Loader *l, const LoaderPlace *at, Str name, const char *const *keys, size_t n, const char *list) {
    size_t given = count_given(at, keys, n);
    if (given == 0) loader_error(l, at, NULL, "resource \"" STR_FMT "\": one of %s is required", STR_ARG(name), list);
    const char *last = NULL;
    for (size_t i = 0; i < n; i++) last = is_given(at, keys[i]) ? keys[i] : last;
    if (given > 1) loader_error(l, at, last, "resource \"" STR_FMT "\": only one of %s is allowed", STR_ARG(name), list);
}

/* RFC 6570, level 1: only names in braces. */
static bool template_ok(Str s) {
    for (size_t i = 0; i < s.n; i++) {
        if (s.at[i] == '}') return false;
        if (s.at[i] != '{') continue;
        size_t from = ++i;
        for (; i < s.n && s.at[i] != '}'; i++) {
            char c = s.at[i];
            if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.')) return false;
        }
        if (i == s.n || i == from) return false;
    }
    return true;
}

static bool base64_ok(Str s) {
    size_t digits = 0, pads = 0;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.at[i];
        if (c == '\n' || c == '\r' || c == ' ') continue;
        if (c == '=') { pads++; continue; }
        if (pads || !((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '+' || c == '/')) return false;
        digits++;
    }
    return (digits + pads) % 4 == 0 && pads <= 2;
}

static bool scheme_ok(Str uri) {
    ptrdiff_t colon = str_find_char(uri, ':');
    for (ptrdiff_t i = 0; i < colon; i++) {
        char c = uri.at[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!letter && (i == 0 || !((c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.'))) return false;
    }
    return colon > 0;
}

/* The file may be anywhere in the project; reading it later opens it below the root again. */
static void check_file(Loader *l, const LoaderPlace *at, Str file) {
    DocumentContext project = l->docs;
    Buf none = { 0 };
    Error err = { 0 };
    struct stat st;
    int fd = document_open(&project, file, O_PATH);
    bool regular = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    if (fd >= 0) close(fd);
    if (regular) return;
    if (document_read_bytes(&project, file, 0, &none, &err) || err.kind == ERR_LIMIT) return;
    buf_clear(&none);
    loader_error(l, at, "file", "file: \"" STR_FMT "\": %s", STR_ARG(file), err.msg);
}

/* values: {variable: [text, …]} */
static void check_values(Loader *l, const LoaderPlace *at, const ResourceDef *r) {
    Entry *e;
    for (uint32_t i = 0; value_is_dict(r->values) && dict_next(value_dict(r->values), &i, &e);) {
        char *braced = arena_fmt(l->docs.arena, "{" STR_FMT "}", STR_ARG(value_str(e->key)));
        if (!r->uri_template.at || str_find(r->uri_template, str_from(braced)) < 0)
            loader_error(l, at, "values", "values." STR_FMT ": uri_template has no %s", STR_ARG(value_str(e->key)), braced);
        bool texts = value_is_list(e->value);
        for (uint32_t k = 0; texts && k < value_list(e->value)->n; k++) texts = value_is_string(value_list(e->value)->at[k]);
        if (!texts) loader_error(l, at, "values", "values." STR_FMT ": expected a list of strings", STR_ARG(value_str(e->key)));
    }
}

static void check_shapes(Loader *l, const LoaderPlace *at, const ResourceDef *r) {
    static const char *const addresses[] = { "uri", "uri_template" };
    static const char *const contents[] = { "file", "text", "blob", "script" };
    exactly_one(l, at, r->name, addresses, 2, "uri and uri_template");
    exactly_one(l, at, r->name, contents, 4, "file, text, blob and script");
    if (r->uri.at && !scheme_ok(r->uri)) loader_error(l, at, "uri", "uri: \"" STR_FMT "\" has no scheme", STR_ARG(r->uri));
    if (r->uri_template.at && !template_ok(r->uri_template))
        loader_error(l, at, "uri_template", "uri_template: \"" STR_FMT "\" may have {name} and nothing else in braces", STR_ARG(r->uri_template));
    if (r->blob.at && !base64_ok(r->blob)) loader_error(l, at, "blob", "blob: not valid base64");
    if (r->file.at) check_file(l, at, r->file);
    check_values(l, at, r);
}

void load_resource(Loader *l, const Document *d, SourceKind source) {
    Problems before = *l->docs.problems;
    LoaderPlace at = loader_file_place(l, d, source);
    ResourceDef r = { .name = d->name, .origin = at.origin, .values = VALUE_GONE };
    loader_name_ok(l, &at, "resource", d->name);
    loader_read_open(l, &at, UNKNOWN_KEYS_WARN, fields, sizeof fields / sizeof *fields, &r);
    check_shapes(l, &at, &r);
    if (is_given(&at, "script")) {
        char *what = arena_fmt(l->docs.arena, "resource \"" STR_FMT "\"", STR_ARG(r.name));
        Value script = *dict_find_str(value_dict(at.map), STR("script"));
        if (!value_is_string(script)) loader_error(l, &at, "script", "script: expected string, got %s", field_type_name(script));
        r.script = loader_script(l, &at, "script", what, l->predeclared);
        if (r.script) loader_function(l, &at, "script", r.script, what, "read(uri, params)", 2);
    }
    if (!loader_forgive(l, &before)) VEC_PUSH(&l->resources, r);
}
