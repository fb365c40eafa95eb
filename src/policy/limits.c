#include "policy/limits.h"
#include <stdlib.h>
#include "base/mem.h"
#include "value/int.h"
#include "value/list.h"

#define MIB ((int64_t)1 << 20)

static Value field(Value dict, const char *key) {
    Value v = value_member(dict, key);
    return value_is_none(v) ? VALUE_GONE : v;
}

static int64_t number(Value dict, const char *key, int64_t otherwise) {
    Value v = field(dict, key);
    int64_t n;
    return !value_is_gone(v) && value_is_int(v) && int_to_i64(v, &n) ? n : otherwise;
}

static uint32_t number32(Value dict, const char *key, uint32_t otherwise) {
    int64_t n = number(dict, key, otherwise);
    return n < 0 ? 0 : n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

static double real(Value dict, const char *key) {
    Value v = field(dict, key);
    if (value_is_gone(v)) return 0;
    return value_is_float(v) ? value_float(v) : value_is_int(v) ? int_to_double(v) : 0;
}

static bool flag(Value dict, const char *key, bool otherwise) {
    Value v = field(dict, key);
    return value_is_bool(v) ? value_bool(v) : otherwise;
}

static bool says(Value dict, const char *key, const char *word) {
    Value v = field(dict, key);
    return !value_is_gone(v) && value_is_string(v) && str_eq(value_str(v), str_from(word));
}

static StrList texts(Value dict, const char *key) {
    StrList list = { 0 };
    Value v = field(dict, key);
    if (value_is_gone(v) || !value_is_list(v)) return list;
    list.at = mem_zero(value_list(v)->n + 1, sizeof *list.at);
    for (uint32_t i = 0; i < value_list(v)->n; i++)
        if (value_is_string(value_list(v)->at[i])) list.at[list.n++] = value_str(value_list(v)->at[i]);
    return list;
}

static void read_limits(Value from, Limits *out) {
    Value repair = field(from, "repair");
    out->max_turns = number(from, "max_turns", 100);
    out->max_tool_calls = number(from, "max_tool_calls", 1000);
    out->calls_limited = value_is_dict(from) && dict_find_str(value_dict(from), STR("max_tool_calls"));
    out->max_tool_calls_per_turn = number(from, "max_tool_calls_per_turn", 32);
    out->max_concurrency = number(from, "max_concurrency", 4);
    out->max_tasks = number(from, "max_tasks", 64);
    out->max_tokens = number(from, "max_tokens", 0);
    out->wall_clock_ms = number(from, "wall_clock_ms", 0);
    out->max_spend_usd = real(from, "max_spend_usd");
    out->model_result_bytes = number(from, "model_result_bytes", 16384);
    out->artifact_bytes = number(from, "artifact_bytes", 100 * MIB);
    out->script_heap_bytes = number(from, "script_heap_bytes", 64 * MIB);
    out->script_depth = number(from, "script_depth", 200);
    out->tool_timeout_ms = number(from, "tool_timeout_ms", 0);
    out->repair.invalid_arguments = flag(repair, "invalid_arguments", true);
    out->repair.unknown_tool = flag(repair, "unknown_tool", true);
    out->repair.refused = flag(repair, "refused", true);
    out->repair.max_per_turn = number(repair, "max_per_turn", 3);
}

static void read_delegation(Value from, Limits *out) {
    static const int64_t usual[] = { 20, 10, 5, 3 };
    enum { MOST = sizeof out->delegation.iterations / sizeof *out->delegation.iterations };
    Value list = field(from, "iterations_per_depth");
    out->delegation.max_depth = number(from, "max_depth", 3);
    out->delegation.max_concurrent = number(from, "max_concurrent", 4);
    out->delegation.timeout_ms = number(from, "timeout_ms", 0);
    size_t *n = &out->delegation.n_iterations;
    for (uint32_t i = 0; !value_is_gone(list) && value_is_list(list) && i < value_list(list)->n && *n < MOST; i++) {
        int64_t v;
        if (value_is_int(value_list(list)->at[i]) && int_to_i64(value_list(list)->at[i], &v)) out->delegation.iterations[(*n)++] = v;
    }
    if (*n) return;
    memcpy(out->delegation.iterations, usual, sizeof usual);
    *n = sizeof usual / sizeof *usual;
}

static void read_sandbox(Value from, Limits *out) {
    out->sandbox.mode = says(from, "mode", "off") ? SANDBOX_OFF : says(from, "mode", "best-effort") ? SANDBOX_BEST_EFFORT : SANDBOX_STRICT;
    out->sandbox.mounts = says(from, "mounts", "off") ? SANDBOX_MOUNTS_OFF : says(from, "mounts", "required") ? SANDBOX_MOUNTS_REQUIRED : SANDBOX_MOUNTS_AUTO;
    out->sandbox.network = flag(from, "network", false);
    out->sandbox.real_home = says(from, "home", "real");
    out->sandbox.allow_self_edit = flag(from, "allow_self_edit", false);
    out->sandbox.read_roots = texts(from, "read_roots");
    out->sandbox.write_roots = texts(from, "write_roots");
    out->sandbox.env_allow = texts(from, "env_allow");
    out->sandbox.memory_bytes = (uint64_t)number(from, "memory_bytes", 4096 * MIB);
    out->sandbox.file_bytes = (uint64_t)number(from, "file_bytes", 1024 * MIB);
    out->sandbox.cpu_seconds = number32(from, "cpu_seconds", 600);
    out->sandbox.open_files = number32(from, "open_files", 1024);
    out->sandbox.processes = number32(from, "processes", 256);
}

void limits_from(const Project *p, Limits *out) {
    const Settings *s = &p->settings;
    *out = (Limits){ 0 };
    read_limits(s->limits, out);
    read_delegation(s->delegation, out);
    read_sandbox(s->sandbox, out);
    out->meta.enabled = flag(s->meta, "enabled", false);
    out->meta.max_tools = number(s->meta, "max_tools", 20);
    out->meta.max_hooks = number(s->meta, "max_hooks", 20);
    out->meta.max_agents = number(s->meta, "max_agents", 5);
    out->meta.max_call_depth = number(s->meta, "max_call_depth", 2);
    out->context.max_history = number(s->context, "max_history", 50);
    out->context.max_tokens = number(s->context, "max_tokens", 128000);
    out->has_domains = !value_is_gone(field(s->network, "allowed_domains"));
    out->domains = texts(s->network, "allowed_domains");
}

void limits_clear(Limits *l) {
    free(l->sandbox.read_roots.at);
    free(l->sandbox.write_roots.at);
    free(l->sandbox.env_allow.at);
    free(l->domains.at);
    *l = (Limits){ 0 };
}
