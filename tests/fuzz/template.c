/* Templates: must not crash or hang; errors are one line with a position. A command that compiles keeps its structure
 * for all values: parsed as shell text, it has as many words and commands with hostile values as with a harmless one,
 * and leaves no quote open. */
#include <stdio.h>
#include <stdlib.h>
#include "template/shell_scan.h"
#include "template/template.h"
#include "value/dict.h"
#include "value/json.h"
#include "value/list.h"

static Heap *heap;

static void check(bool ok, const char *what, Str text) {
    if (ok) return;
    fprintf(stderr, "template: %s\n" STR_FMT "\n", what, STR_ARG(text));
    abort();
}

static void check_error(const Error *err, Str text) {
    check(err->kind != ERR_NONE && err->kind != ERR_INTERNAL, "error has a kind", text);
    check(err->line >= 1 && err->column >= 1, "error has a place", text);
    for (const char *p = err->msg; *p; p++) check(*p != '\n' || memchr(text.at, '\n', text.n), "error is one line", text);
}

static Value read_json(const char *json) {
    Value v;
    check(json_read(heap, str_from(json), NULL, &v, NULL), "the test's own data", str_from(json));
    return v;
}

static void plain(Str text) {
    Template *t = NULL;
    Error err = { 0 };
    Buf out = { 0 };
    if (!template_compile(text, &(TemplateOptions){ .max_output = 1 << 16 }, &t, &err)) { check_error(&err, text); return; }
    Value data = read_json("{\"x\":\"v\",\"xs\":[\"a\",[1,2.5],null],\"ob\":{\"k\":true},\"o\":0,\"y\":\"\"}");
    if (!template_render(t, data, &out, &err)) check(err.kind == ERR_LIMIT, "only a limit stops text", text);
    buf_clear(&out);
    template_free(t);
}

/* ---- commands ---- */

typedef struct { size_t words, commands; bool closed; } Shape;

static Shape shape_of(Str command) {
    ShellState s;
    Shape shape = { 0 };
    shell_scan_start(&s);
    shell_scan_text_start(&s);
    for (size_t i = 0; i < command.n; i++) {
        bool on = s.word.on && s.depth == 0, first = s.command.place == SHELL_AT_COMMAND;
        shell_scan_feed(&s, command.at[i], (uint32_t)i);
        shape.words += on && !s.word.on;
        shape.commands += !first && s.command.place == SHELL_AT_COMMAND && s.depth == 0;
    }
    shape.closed = shell_scan_end(&s) == SHELL_OK;
    return shape;
}

static Value arguments(const char *value) {
    Dict *d = dict_new(heap, 8, NULL), *inner = dict_new(heap, 1, NULL);
    Value v = value_from_object(string_new(heap, str_from(value), NULL));
    Value list = value_from_object(list_from(heap, (Value[]){ v, v }, 2, NULL));
    static const char *const names[] = { "x", "y", "o", "c", "d" };
    for (size_t i = 0; i < 5; i++) dict_put_str(heap, d, str_from(names[i]), v, NULL);
    dict_put_str(heap, inner, STR("k"), v, NULL);
    dict_put_str(heap, d, STR("xs"), list, NULL);
    dict_put_str(heap, d, STR("ob"), value_from_object(inner), NULL);
    return value_from_object(d);
}

static bool render(const Template *t, const char *value, Buf *out, Str text) {
    Error err = { 0 };
    buf_reset(out);
    bool ok = template_render_command(t, arguments(value), out, &err);
    if (!ok) check(err.kind == ERR_VALIDATION || err.kind == ERR_LIMIT, "a refusal has the right kind", text);
    return ok;
}

static void command(Str text) {
    static const TemplateParam params[] = {
        { .name = STR("x"), .required = true }, { .name = STR("y"), .required = true }, { .name = STR("o") },
        { .name = STR("c"), .required = true, .constrained = true }, { .name = STR("d"), .fallback = VALUE_TRUE },
        { .name = STR("xs"), .required = true, .array = true }, { .name = STR("ob"), .required = true, .object = true },
    };
    static const char *const hostile[] = {
        "a b", "';touch x;'", "\";id;\"", "$(id)", "`id`", "a\nb", "\\", "'", "\"", "~", "*", "{a,b}", "#", "2", ">f", "&",
            "\xe4\xbd\xa0$(id)", "-x", "do", "\\\n", "a=b", "\r",
    };
    Template *t = NULL;
    Error err = { 0 };
    Buf out = { 0 };
    TemplateCommand c = { .params = params, .n_params = 7, .max_output = 1 << 16 };
    if (!template_compile_command(text, &c, &t, &err)) {
        check_error(&err, text);
        check(err.kind != ERR_CONFIG || err.hint[0] || err.msg[0] == '.' || err.msg[0] == 'n', "a load error says what to do", text);
        return;
    }
    if (render(t, "plain", &out, text)) {
        Shape expected = shape_of(buf_str(&out));
        check(expected.closed, "nothing stays open", buf_str(&out));
        for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++) {
            if (!render(t, hostile[i], &out, text)) continue;
            Shape got = shape_of(buf_str(&out));
            check(got.words == expected.words && got.commands == expected.commands && got.closed, "the command keeps its shape", buf_str(&out));
        }
    }
    Value nothing = read_json("{\"x\":1,\"y\":true,\"c\":2.5,\"xs\":[],\"ob\":{}}");
    buf_reset(&out);
    if (!template_render_command(t, nothing, &out, &err)) check(err.kind == ERR_VALIDATION || err.kind == ERR_LIMIT, "kind", text);
    buf_clear(&out);
    template_free(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (!heap) heap = heap_new(256 << 20);
    Str text = { (const char *)data, size };
    plain(text);
    command(text);
    heap_reset(heap);
    return 0;
}
