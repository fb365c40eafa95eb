/* Renders templates for the end-to-end tests, which cannot call src/template/ directly.
 *
 * Each line of standard input is one request, and each result one line of standard output:
 *   {"template": "…", "data": …}                                          → {"text": "…"} or {"error": "…", "line", "column"}
 *   {"command": "…", "params": [{name, required, type, constrained, default}], "unsafe_raw": bool, "args": [{…}, …]}
 *                       → one line for each element of args: {"text"} or {"refused"}; one {"error"} if it does not compile
 * With -b FILE, writes the rendered commands to FILE instead, each followed by a NUL; a refused one is empty. */
#include <stdio.h>
#include <stdlib.h>
#include "base/vec.h"
#include "template/template.h"
#include "value/json.h"
#include "value/list.h"

typedef VEC(TemplateParam) Params;
static FILE *bytes;

static Value field(Value object, const char *name) {
    Value *found = value_is_dict(object) ? dict_find_str(value_dict(object), str_from(name)) : NULL;
    return found ? *found : VALUE_GONE;
}

static bool flag(Value object, const char *name) { return value_same(field(object, name), VALUE_TRUE); }
static bool has_text(Value object, const char *name, const char *text) {
    Value v = field(object, name);
    return value_is_string(v) && str_eq(value_str(v), str_from(text));
}

static void print_text(const char *key, Str s) {
    Buf b = { 0 };
    buf_add_fmt(&b, "{\"%s\":", key);
    json_write_string(&b, s, false);
    buf_add(&b, STR("}\n"));
    fwrite(b.at, 1, b.n, stdout);
    buf_clear(&b);
}

static void print_error(const char *key, const Error *err) {
    Buf b = { 0 };
    buf_add_fmt(&b, "{\"%s\":", key);
    json_write_string(&b, str_from(err->msg), false);
    buf_add(&b, STR(",\"hint\":"));
    json_write_string(&b, str_from(err->hint), false);
    buf_add_fmt(&b, ",\"kind\":\"%s\",\"line\":%u,\"column\":%u}\n", error_kind_name(err->kind), err->line, err->column);
    fwrite(b.at, 1, b.n, stdout);
    buf_clear(&b);
}

static void plain(Value request) {
    Error err = { 0 };
    Template *t = NULL;
    Buf out = { 0 };
    if (!template_compile(value_str(field(request, "template")), NULL, &t, &err) ||
        !template_render(t, field(request, "data"), &out, &err)) print_error("error", &err);
    else print_text("text", buf_str(&out));
    buf_clear(&out);
    template_free(t);
}

static void read_params(Value list, Params *out) {
    if (!value_is_list(list)) return;
    for (uint32_t i = 0; i < value_list(list)->n; i++) {
        Value p = value_list(list)->at[i];
        VEC_PUSH(out, (TemplateParam){ .name = value_str(field(p, "name")), .required = flag(p, "required"),
                                       .array = has_text(p, "type", "array"), .object = has_text(p, "type", "object"),
                                       .constrained = flag(p, "constrained"), .fallback = field(p, "default") });
    }
}

static void render(const Template *t, Value args) {
    Error err = { 0 };
    Buf out = { 0 };
    if (!template_render_command(t, args, &out, &err)) print_error("refused", &err);
    else if (!bytes) print_text("text", buf_str(&out));
    if (bytes) fwrite(buf_str(&out).at, 1, out.n, bytes), fputc(0, bytes);
    buf_clear(&out);
}

static void command(Value request) {
    Error err = { 0 };
    Template *t = NULL;
    Params params = { 0 };
    read_params(field(request, "params"), &params);
    TemplateCommand c = { .params = params.at, .n_params = params.n, .unsafe_raw = flag(request, "unsafe_raw") };
    Value args = field(request, "args");
    if (!template_compile_command(value_str(field(request, "command")), &c, &t, &err)) print_error("error", &err);
    else for (uint32_t i = 0; value_is_list(args) && i < value_list(args)->n; i++) render(t, value_list(args)->at[i]);
    template_free(t);
    VEC_CLEAR(&params);
}

int main(int argc, char **argv) {
    char *line = NULL;
    size_t cap = 0;
    ssize_t n;
    if (argc == 3 && strcmp(argv[1], "-b") == 0) bytes = fopen(argv[2], "wb");
    Heap *heap = heap_new(0);
    while ((n = getline(&line, &cap, stdin)) > 0) {
        Value request;
        Error err = { 0 };
        if (!json_read(heap, (Str){ line, (size_t)n }, NULL, &request, &err)) print_error("error", &err);
        else if (value_is_gone(field(request, "command"))) plain(request);
        else command(request);
        heap_reset(heap);
    }
    heap_free(heap);
    free(line);
    if (bytes) fclose(bytes);
    return 0;
}
