#include "artifact/field.h"
#include "base/vec.h"
#include "value/int.h"
#include "value/list.h"

const char *field_type_name(Value v) {
    if (value_is_none(v)) return "null";
    if (value_is_bool(v)) return "bool";
    if (value_is_int(v)) return "int";
    if (value_is_float(v)) return "number";
    if (value_is_string(v)) return "string";
    if (value_is_list(v)) return "list";
    return value_is_dict(v) ? "map" : value_type_name(v);
}

static const char *const type_names[] = {
    [FIELD_STRING] = "string", [FIELD_BOOL] = "bool", [FIELD_INT] = "int",   [FIELD_NUMBER] = "number",
    [FIELD_STRINGS] = "list",  [FIELD_MAP] = "map",   [FIELD_LIST] = "list", [FIELD_ANY] = "value",
};

char *field_path(const FieldInput *in, const char *name) {
    return arena_fmt(in->context->arena, "%s%s%s", in->path, in->path[0] ? "." : "", name);
}

static bool mismatch(const FieldInput *in, const char *name, const char *want, Value got) {
    document_error(in->context, in->document, in->map, str_from(name), "%s: expected %s, got %s", field_path(in, name), want,
                   field_type_name(got));
    return false;
}

static bool read_strings(const FieldInput *in, const char *name, Value v, StrList *out) {
    if (!value_is_list(v)) return mismatch(in, name, "list", v);
    const List *l = value_list(v);
    Str *at = ARENA_ARRAY(in->context->arena, Str, l->n ? l->n : 1);
    bool ok = true;
    for (uint32_t i = 0; i < l->n; i++) {
        if (value_is_string(l->at[i])) {
            at[i] = value_str(l->at[i]);
            continue;
        }
        document_report(in->context, in->document, PROBLEM_ERROR, document_item_place(in->document, v, i), (Str){ 0 },
                        "%s[%u]: expected string, got %s", field_path(in, name), i, field_type_name(l->at[i]));
        ok = false;
    }
    if (ok) *out = (StrList){ at, l->n };
    return ok;
}

static bool read_int(const FieldInput *in, const char *name, Value v, int64_t *out) {
    if (!value_is_int(v)) return mismatch(in, name, "int", v);
    if (int_to_i64(v, out)) return true;
    document_error(in->context, in->document, in->map, str_from(name), "%s: number is out of range", field_path(in, name));
    return false;
}

static bool read_value(const FieldInput *in, const Field *f, Value v, void *to) {
    switch (f->type) {
    case FIELD_STRING:
        if (!value_is_string(v)) break;
        return *(Str *)to = value_str(v), true;
    case FIELD_BOOL:
        if (!value_is_bool(v)) break;
        return *(bool *)to = value_bool(v), true;
    case FIELD_INT: return read_int(in, f->name, v, to);
    case FIELD_NUMBER:
        if (!value_is_int(v) && !value_is_float(v)) break;
        return *(double *)to = value_is_int(v) ? int_to_double(v) : value_float(v), true;
    case FIELD_STRINGS: return read_strings(in, f->name, v, to);
    case FIELD_MAP:
        if (!value_is_dict(v)) break;
        return *(Value *)to = v, true;
    case FIELD_LIST:
        if (!value_is_list(v)) break;
        return *(Value *)to = v, true;
    case FIELD_ANY: return *(Value *)to = v, true;
    }
    return mismatch(in, f->name, type_names[f->type], v);
}

bool field_read_one(const FieldInput *in, const Field *f, void *out) {
    if (f->flags & (FIELD_IGNORED | FIELD_UNKNOWN)) return true;
    Value *v = dict_find_str(value_dict(in->map), str_from(f->name));
    if (v && !value_is_none(*v)) return read_value(in, f, *v, (char *)out + f->offset);
    if (!(f->flags & FIELD_REQUIRED)) return true;
    document_report(in->context, in->document, PROBLEM_ERROR, v ? document_place(in->document, in->map, str_from(f->name)) : in->at,
                    (Str){ 0 }, "%s is required", field_path(in, f->name));
    return false;
}

/* ---- unknown keys ---- */

static const Field *find(const Field *fields, size_t n, Str key) {
    for (size_t i = 0; i < n; i++)
        if (str_eq(str_from(fields[i].name), key)) return &fields[i];
    return NULL;
}

static Str suggestion(const FieldInput *in, const Field *fields, size_t n, Str key) {
    Str *names = ARENA_ARRAY(in->context->arena, Str, n ? n : 1);
    size_t known = 0;
    for (size_t i = 0; i < n; i++)
        if (!(fields[i].flags & FIELD_UNKNOWN)) names[known++] = str_from(fields[i].name);
    return field_hint(in->context->arena, key, names, known);
}

Str field_hint(Arena *arena, Str word, const Str *known, size_t n) {
    Str nearest = str_nearest(word, known, n);
    return nearest.n ? str_from(arena_fmt(arena, "did you mean \"" STR_FMT "\"?", STR_ARG(nearest))) : (Str){ 0 };
}

static bool unknown_keys(const FieldInput *in, const Field *fields, size_t n) {
    Severity severity = in->strict_unknown || in->context->strict ? PROBLEM_ERROR : PROBLEM_WARNING;
    bool ok = true;
    Entry *e;
    for (uint32_t i = 0; dict_next(value_dict(in->map), &i, &e);) {
        Str key = value_is_string(e->key) ? value_str(e->key) : STR("");
        const Field *f = find(fields, n, key);
        if (f && !(f->flags & FIELD_UNKNOWN)) continue;
        Str hint = f ? str_from(f->hint) : suggestion(in, fields, n, key);
        document_report(in->context, in->document, severity, document_place(in->document, in->map, key), hint, "%s%sunknown key \"" STR_FMT "\"", in->path, in->path[0] ? ": " : "", STR_ARG(key));
        ok = ok && severity != PROBLEM_ERROR;
    }
    return ok;
}

bool field_read(const FieldInput *in, const Field *fields, size_t n, void *out) {
    bool ok = true;
    for (size_t i = 0; i < n; i++) ok = field_read_one(in, &fields[i], out) && ok;
    return unknown_keys(in, fields, n) && ok;
}

bool field_given(const FieldInput *in, const char *name) { return dict_find_str(value_dict(in->map), str_from(name)) != NULL; }

bool field_is_map(const FieldInput *in) {
    if (value_is_dict(in->map)) return true;
    document_report(in->context, in->document, PROBLEM_ERROR, in->at, (Str){ 0 }, "%s: expected map, got %s", in->path,
                    field_type_name(in->map));
    return false;
}
