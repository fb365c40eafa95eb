/* Shared by the tests of src/template/: values from JSON, compiling and rendering in one step. */
#pragma once
#include "value/value_unit.h"
#include "template/template.h"
#include "value/json.h"

static inline Value unit_json(Heap *h, const char *text) {
    Value v;
    must(json_read(h, str_from(text), NULL, &v, &err));
    return v;
}

/* x, y: required. o: optional. d: has a default. c: has a pattern. xs: array. ob: object. */
static inline TemplateCommand unit_command(Heap *h) {
    static TemplateParam params[8];
    size_t n = 0;
    params[n++] = (TemplateParam){ .name = STR("x"), .required = true };
    params[n++] = (TemplateParam){ .name = STR("y"), .required = true };
    params[n++] = (TemplateParam){ .name = STR("o") };
    params[n++] = (TemplateParam){ .name = STR("d"), .fallback = unit_text(h, "dflt") };
    params[n++] = (TemplateParam){ .name = STR("c"), .required = true, .constrained = true };
    params[n++] = (TemplateParam){ .name = STR("xs"), .required = true, .array = true };
    params[n++] = (TemplateParam){ .name = STR("ob"), .object = true };
    return (TemplateCommand){ .params = params, .n_params = n };
}
