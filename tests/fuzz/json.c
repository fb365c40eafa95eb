/* JSON: what is read can be written and read again, with the same bytes and equal values in
 * every style; options never change what a text means. */
#include <stdio.h>
#include <stdlib.h>
#include "value/json.h"

static Heap *heap;

static void check(bool ok, const char *what) {
    if (ok) return;
    fprintf(stderr, "json: %s\n", what);
    abort();
}

static void check_error(const Error *err) {
    check(err->kind == ERR_PARSE || err->kind == ERR_LIMIT, "error has the right kind");
    check(err->line >= 1 && err->column >= 1, "error has a place");
    check(strncmp(err->msg, "json: line ", 11) == 0, "error says where");
    for (const char *p = err->msg; *p; p++) check((unsigned char)*p >= 0x20 && *p != 0x7f, "error is one line of plain text");
}

static Value read_again(Buf *text) {
    Value v;
    Error err = { 0 };
    if (!json_read(heap, buf_str(text), NULL, &v, &err)) check(false, err.msg);
    return v;
}

static void check_equal(Value a, Value b) {
    bool equal = false;
    if (value_equal(a, b, &equal, NULL)) check(equal, "values are equal");   /* false: nested too deep to compare */
}

static void write_as(Buf *out, Value v, const JsonWrite *style) {
    Error err = { 0 };
    if (!json_write(out, v, style, &err)) check(false, err.msg);
}

/* Writes v in a style, reads the result, and compares its compact form. */
static void check_style(Value v, const JsonWrite *style, Str compact) {
    Buf text = { 0 }, again = { 0 };
    write_as(&text, v, style);
    Value w = read_again(&text);
    check_equal(v, w);
    write_as(&again, w, NULL);
    if (!style || !style->sort_keys) check(str_eq(buf_str(&again), compact), "same bytes again");
    else check(again.n == compact.n, "as many bytes again");
    buf_clear(&text);
    buf_clear(&again);
}

static void check_options(Str text, bool ok, Str compact) {
    static const JsonRead variants[] = { { .reject_duplicates = true }, { .max_depth = 3 } };
    Places *places = places_new();
    Dict *names = dict_new(heap, 0, NULL);
    for (size_t i = 0; i < 3; i++) {
        JsonRead options = i < 2 ? variants[i] : (JsonRead){ .places = places, .names = names };
        Value v;
        Error err = { 0 };
        if (!json_read(heap, text, &options, &v, &err)) {
            check_error(&err);
            check(!ok || i < 2, "places and names change nothing");
            continue;
        }
        check(ok, "options do not make a bad text good");
        Buf out = { 0 };
        write_as(&out, v, NULL);
        check(str_eq(buf_str(&out), compact), "options do not change the value");
        buf_clear(&out);
    }
    places_free(places);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (!heap) heap = heap_new(256 << 20);
    Str text = { (const char *)data, size };
    Value v;
    Error err = { 0 };
    Buf compact = { 0 };
    bool ok = json_read(heap, text, NULL, &v, &err);
    if (!ok) check_error(&err);
    else {
        write_as(&compact, v, NULL);
        check_style(v, NULL, buf_str(&compact));
        check_style(v, &(JsonWrite){ .indent = 2 }, buf_str(&compact));
        check_style(v, &(JsonWrite){ .html_safe = true }, buf_str(&compact));
        check_style(v, &(JsonWrite){ .sort_keys = true, .indent = 1, .html_safe = true }, buf_str(&compact));
    }
    check_options(text, ok, buf_str(&compact));
    buf_clear(&compact);
    heap_reset(heap);
    return 0;
}
