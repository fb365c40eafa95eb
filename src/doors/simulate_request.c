#include "doors/simulate_private.h"
#include "doors/policy_files.h"
#include "value/int.h"
#include "value/json.h"

enum { DEPTH_MAX = 100, FILES_MAX = 100 };

static bool add_draft(SimulateRequest *r, const Entry *e, Error *err) {
    Str path = value_str(e->key), shown = str_sub(path, 0, 100);
    if (!policy_files_has(path)) {
        error_set(err, ERR_VALIDATION, "files: \"" STR_FMT "\" cannot be drafted", STR_ARG(shown));
        return error_hint(err, "a draft replaces harness.md, harness.yaml, AGENTS.md, tools.json, .mcp.json or a file below .harness/");
    }
    if (!value_is_string(e->value) && !value_is_none(e->value))
        return error_set(err, ERR_VALIDATION, "files: the text of \"" STR_FMT "\" is neither a string nor null", STR_ARG(shown));
    if (!vec_limit(r->drafts.n, FILES_MAX, "files in a draft", err)) return false;
    bool removed = value_is_none(e->value);
    VEC_PUSH(&r->drafts, ((Draft){ .path = path, .text = removed ? STR("") : value_str(e->value), .removed = removed }));
    return true;
}

static bool read_files(SimulateRequest *r, Value files, Error *err) {
    Entry *e;
    if (value_is_gone(files) || value_is_none(files)) return true;
    if (!value_is_dict(files)) return error_set(err, ERR_VALIDATION, "\"files\" is not an object");
    for (uint32_t i = 0; dict_next(value_dict(files), &i, &e);)
        if (!add_draft(r, e, err)) return false;
    return true;
}

static bool read_limit(SimulateRequest *r, Value limit, Error *err) {
    r->limit = SIMULATE_CALLS_MAX;
    if (value_is_gone(limit) || value_is_none(limit)) return true;
    if (value_is_int(limit) && int_to_i64(limit, &r->limit) && r->limit >= 1 && r->limit <= SIMULATE_CALLS_MAX) return true;
    return error_set(err, ERR_VALIDATION, "\"limit\" is not a whole number from 1 to %d", SIMULATE_CALLS_MAX);
}

static bool check_keys(Value root, Error *err) {
    static const Str known[] = { STR("files"), STR("limit") };
    Entry *e;
    for (uint32_t i = 0; dict_next(value_dict(root), &i, &e);) {
        Str key = str_sub(value_str(e->key), 0, 64);
        if (!str_among(value_str(e->key), known, 2)) return error_set(err, ERR_VALIDATION, "the request has an unknown member \"" STR_FMT "\"", STR_ARG(key));
    }
    return true;
}

bool simulate_request_read(Str text, SimulateRequest *out, Error *err) {
    Value root;
    out->heap = heap_new((size_t)64 << 20);
    if (!json_read(out->heap, text, &(JsonRead){ .reject_duplicates = true, .max_depth = DEPTH_MAX }, &root, err)) return error_wrap(err, "the request");
    if (!value_is_dict(root)) return error_set(err, ERR_VALIDATION, "the request is not a JSON object");
    return check_keys(root, err) && read_files(out, value_member(root, "files"), err) && read_limit(out, value_member(root, "limit"), err);
}

void simulate_request_clear(SimulateRequest *r) {
    VEC_CLEAR(&r->drafts);
    if (r->heap) heap_free(r->heap);
}
