/* Shared by the tests of src/schema/. */
#pragma once
#include "unit.h"
#include "schema/schema.h"
#include "value/json.h"
#include "value/list.h"

static inline Value unit_json(Heap *h, const char *text) {
    Value v;
    Error err = { 0 };
    if (!json_read(h, str_from(text), NULL, &v, &err)) fail_msg("%s: %s", text, err.msg);
    return v;
}

static inline Schema *unit_schema(Heap *h, const char *text) {
    Schema *s = NULL;
    Error err = { 0 };
    if (!schema_compile(&(SchemaInput){ .root = unit_json(h, text), .assert_format = true }, &s, &err)) fail_msg("%s: %s", text, err.msg);
    return s;
}

/* All problems as "path: message @schema" lines. */
static inline char *unit_problems(const Schema *s, Value v) {
    SchemaProblems p = { 0 };
    Buf out = { 0 };
    bool valid = schema_validate(s, v, &p);
    assert_int_equal(valid, schema_validate(s, v, NULL));
    assert_int_equal(valid, p.n == 0);
    for (size_t i = 0; i < p.n; i++)
        buf_add_fmt(&out, STR_FMT ": " STR_FMT " @" STR_FMT "\n", STR_ARG(p.at[i].path), STR_ARG(p.at[i].message), STR_ARG(p.at[i].schema));
    if (p.more) buf_add(&out, STR("…\n"));
    schema_problems_clear(&p);
    return out.at ? buf_take(&out) : str_dup(STR(""));
}
