/* Invalid text ends in a one-line error with a position; valid text reads the same twice, whatever the heap limit
 * was. */
#include <stdlib.h>
#include "value/dict.h"
#include "value/heap.h"
#include "value/json.h"
#include "value/list.h"
#include "value/yaml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void require(bool ok) { if (!ok) abort(); }

static void check_error(const Error *err, uint32_t first_line) {
    require(err->kind == ERR_PARSE || err->kind == ERR_LIMIT);
    require(str_starts(str_from(err->msg), STR("yaml: line ")));
    for (const char *c = err->msg; *c; c++) require((unsigned char)*c >= 0x20 && *c != 0x7f);
    require(err->line >= first_line && err->column >= 1);
}

/* Every key and item has a position at or after the first line. */
static size_t check_places(const Places *p, Value v, uint32_t first_line) {
    Place at;
    size_t nodes = 1;
    if (value_is_list(v))
        for (uint32_t i = 0; i < value_list(v)->n; i++) {
            require(places_value(p, v, i, &at) && at.line >= first_line && at.column >= 1);
            nodes += check_places(p, value_list(v)->at[i], first_line);
        }
    Entry *e;
    if (value_is_dict(v))
        for (uint32_t i = 0; dict_next(value_dict(v), &i, &e);) {
            require(places_key(p, v, i - 1, &at) && at.line >= first_line && at.column >= 1);
            require(places_value(p, v, i - 1, &at) && at.line >= first_line);
            nodes += 1 + check_places(p, e->value, first_line);
        }
    return nodes;
}

/* Writing it as JSON and reading it back gives the same value. */
static void check_json(Heap *h, Value v) {
    Buf text = { 0 };
    Error err = { 0 };
    Value again = VALUE_GONE;
    bool same = false;
    require(json_write(&text, v, NULL, &err) && json_read(h, buf_str(&text), NULL, &again, &err));
    require(value_equal(v, again, &same, &err) && same);
    buf_clear(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    if (n < 4) return 0;
    uint8_t flags = data[0];
    YamlRead options = { .first_line = data[1], .expect_map = flags & 1 };
    if (flags & 2) options.max_nodes = 1 + (unsigned)data[2];
    if (flags & 4) options.max_depth = 1 + (unsigned)data[3] % 120;
    if (flags & 8) options.max_bytes = 64;
    size_t limit = flags & 16 ? ((size_t)data[3] << 6) + 1 : 0;
    uint32_t first = options.first_line ? options.first_line : 1;
    Str text = { (const char *)data + 4, n - 4 };

    Error err = { 0 }, err2 = { 0 };
    Value a = VALUE_GONE, b = VALUE_GONE;
    static Heap *kept;   /* creating a heap costs more than most inputs */
    if (!kept) kept = heap_new(0);
    Heap *h = heap_new(limit), *h2 = kept;
    heap_reset(h2);
    Places *places = flags & 32 ? places_new() : NULL;
    options.places = places;
    bool ok = yaml_read(h, text, &options, &a, &err);
    options.places = NULL;
    bool ok2 = yaml_read(h2, text, &options, &b, &err2);
    if (!ok) check_error(&err, first);
    if (!ok2) check_error(&err2, first);
    require(ok2 || !ok);
    require(ok == ok2 || limit);
    if (ok) {
        bool same = false;
        if (options.max_depth <= 100) require(value_equal(a, b, &same, &err) && same);
        if (flags & 64) check_json(h2, b);
        if (options.expect_map) require(value_is_dict(a));
        if (places) {
            size_t nodes = check_places(places, a, first);
            require(nodes <= (options.max_nodes ? options.max_nodes : YAML_NODES_MAX));
        }
    } else if (!limit) {
        require(str_eq(str_from(err.msg), str_from(err2.msg)));
    }
    places_free(places);
    heap_free(h);
    return 0;
}
