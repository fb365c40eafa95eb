/* The steps of a verdict: tools_policy and limits.deny; rules; hooks; rules again if a hook changed the call. A step can only make the verdict stricter. */
#include "guard/judge.h"
#include <limits.h>
#include "policy/policy.h"
#include "policy/rules.h"
#include "value/list.h"

void guard_ruling_set(GuardRuling *r, GuardVerdict v, Str rule, const char *fmt, ...) {
    if (v <= r->verdict) return;
    va_list ap;
    r->verdict = v;
    r->rule = rule;
    r->file = STR("");
    r->line = 0;
    buf_reset(&r->reason);
    va_start(ap, fmt);
    buf_add_vfmt(&r->reason, fmt, ap);
    va_end(ap);
}

void guard_ruling_clear(GuardRuling *r) { buf_clear(&r->reason); }

GuardUnknown guard_judge_unknown(const GuardCase *c) {
    GuardUnknown found = GUARD_UNKNOWN_DENY;
    bool some = false;
    Value own = c->runtime ? value_member(runtime_project(c->runtime)->settings.guard, "unknown") : VALUE_GONE;
    if (!value_is_gone(own)) return GUARD_UNKNOWN_DENY;          /* a project can set no other value */
    for (size_t i = 0; i < c->n_layers; i++) {
        if (!c->layers[i].has_unknown || (some && c->layers[i].unknown > found)) continue;
        found = c->layers[i].unknown;
        some = true;
    }
    return found;
}

/* ---- tools_policy, limits ---- */

static void safety_of_kind(CallKind kind, Arena *arena, Safety *out) {
    static const char *const builtin[CALL_KIND_COUNT] = { [CALL_SHELL] = "bash", [CALL_FILE_READ] = "read", [CALL_FILE_WRITE] = "write",
        [CALL_FILE_EDIT] = "edit",
                                                          [CALL_FILE_DELETE] = "write", [CALL_SEARCH] = "grep", [CALL_AGENT] = "delegate",
                                                              [CALL_META] = "task_poll",
                                                          [CALL_NET_FETCH] = "task_poll" };
    ToolDef def = { .name = builtin[kind] ? str_from(builtin[kind]) : STR("?"), .kind = builtin[kind] ? TOOL_BUILTIN : TOOL_MCP, .safety = VALUE_GONE,
                    .retry = VALUE_GONE, .parameters = VALUE_GONE };
    (void)safety_of(&def, arena, out, NULL);
    if (kind == CALL_NET_FETCH) out->networked = true;
}

/* False: refused. *confirm: the rule of limits.confirm that asks, or "". */
static bool ask_policy(const GuardCase *c, const GuardCall *call, Str *confirm, GuardRuling *out) {
    Safety safety = { 0 };
    Str aliases[1] = { call->vendor_tool };
    ToolDef def = { .name = call->tool, .aliases = { aliases, 1 }, .safety = VALUE_GONE };
    *confirm = STR("");
    if (!c->runtime) return true;
    safety_of_kind(call->kind, c->arena, &safety);
    PolicyDecision d = policy_decide(runtime_policy(c->runtime), &def, &safety, false);
    if (d.verdict == POLICY_ASK) *confirm = d.rule;
    if (d.verdict != POLICY_DENY) return true;
    Error err = { 0 };
    policy_explain(&d, call->tool, &err);
    guard_ruling_set(out, GUARD_DENY, arena_str(c->arena, d.rule), "%s", err.msg);
    return false;
}

/* ---- rules ---- */

static RulesCall rules_call(const GuardCase *c, const GuardCall *call, Str tool, RulesPath paths[2]) {
    RulesCall r = { .vendor = c->envelope->vendor, .tool = tool, .kind = call->kind, .command = call->command, .url = call->url, .root = c->root,
                    .cwd = call->cwd.n ? call->cwd : c->root, .home = c->protect.home, .paths = paths };
    if (call->absolute.n) paths[r.n_paths++] = (RulesPath){ call->absolute, rules_role(call->kind) };
    if (call->filter.n) paths[r.n_paths++] = (RulesPath){ call->filter, rules_role(call->kind) };
    return r;
}

static void take_rule(const GuardCase *c, const RulesVerdict *v, bool outside, GuardRuling *out) {
    Buf why = { 0 };
    GuardVerdict before = out->verdict;
    rules_explain(v, &why);
    guard_ruling_set(out, v->verdict == RULE_DENY ? GUARD_DENY : GUARD_ASK, arena_str(c->arena, v->rule->name), STR_FMT, STR_ARG(buf_str(&why)));
    buf_clear(&why);
    if (out->verdict == before) return;
    out->file = v->rule->file;
    out->line = v->rule->line;
    out->outside |= outside;
}

static RulesVerdict judge_rows(const GuardCase *c, const RuleRows *rows, const GuardCall *call, Str tool) {
    RulesPath paths[2];
    RulesCall r = rules_call(c, call, tool, paths);
    return rules_judge(rows, &r, c->arena);
}

/* The agent does not say which server: every server that a row names is tried. */
static RulesVerdict judge_any_server(const GuardCase *c, const RuleRows *rows, const GuardCall *call) {
    RulesVerdict worst = judge_rows(c, rows, call, call->tool);
    Str tool = str_sub(call->tool, 6, call->tool.n);                     /* after "mcp:?:" */
    for (size_t i = 0; i < rows->n; i++)
        for (size_t k = 0; k < rows->at[i].tools.n; k++) {
            Str pattern = rows->at[i].tools.at[k];
            if (!str_starts(pattern, STR("mcp:"))) continue;
            Str rest = str_sub(pattern, 4, pattern.n);
            ptrdiff_t colon = str_find_char(rest, ':');
            Str server = colon < 0 ? rest : str_sub(rest, 0, (size_t)colon);
            char *name = arena_fmt(c->arena, "mcp:" STR_FMT ":" STR_FMT, STR_ARG(server), STR_ARG(tool));
            RulesVerdict v = judge_rows(c, rows, call, str_from(name));
            if (v.verdict > RULE_ALLOW) worst = rules_stronger(worst, v);
        }
    return worst;
}

static RulesVerdict judge_layer(const GuardCase *c, const RuleRows *rows, const GuardCall *call) {
    return call->any_server ? judge_any_server(c, rows, call) : judge_rows(c, rows, call, call->tool);
}

/* True if a row of the user or the machine allows it. */
static bool ask_rules(const GuardCase *c, const GuardCall *call, Str confirm, GuardRuling *out) {
    bool allowed = false;
    for (size_t i = 0; i < c->n_layers; i++) {
        RulesVerdict v = judge_layer(c, &c->layers[i].rules, call);
        if (v.verdict > RULE_ALLOW) take_rule(c, &v, true, out);
        allowed |= v.verdict == RULE_ALLOW;
    }
    if (!c->runtime) return allowed;
    RulesVerdict v = judge_layer(c, &runtime_project(c->runtime)->rules, call);
    if (v.verdict > RULE_ALLOW) take_rule(c, &v, false, out);
    if (confirm.n && v.verdict != RULE_ALLOW) guard_ruling_set(out, GUARD_ASK, arena_str(c->arena, confirm), "the user must agree: " STR_FMT, STR_ARG(confirm));
    return allowed;
}

/* ---- files that are protected, tools that are unknown ---- */

static bool writes(CallKind kind) { return kind == CALL_FILE_WRITE || kind == CALL_FILE_EDIT || kind == CALL_FILE_DELETE; }

/* A server's tool whose name says that it only reads. */
static bool reads_by_name(Str tool) {
    static const char *const verbs[] = { "read", "get", "list", "search", "find", "stat", "view", "show", "query", "fetch", "describe", "head", "tail", "cat",
        "grep", "directory_tree" };
    ptrdiff_t colon;
    while ((colon = str_find_char(tool, ':')) >= 0) tool = str_sub(tool, (size_t)colon + 1, tool.n);
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
        if (str_starts(tool, str_from(verbs[i]))) return true;
    return false;
}

/* Tools of servers have arguments of any name: each text that is the path of a protected file counts, also in lists and objects. */
static bool names_protected(const GuardCase *c, Value v, unsigned depth, Str *found) {
    enum { DEPTH_MAX = 4 };
    Entry *e;
    if (value_is_string(v)) {
        Str s = value_str(v);
        bool path = s.n && s.n < PATH_MAX && !memchr(s.at, 0, s.n) && !memchr(s.at, '\n', s.n);
        if (path && str_starts(s, STR("file://"))) s = str_sub(s, 7, s.n);
        *found = s;
        return path && s.n && guard_protect_covers(&c->protect, guard_path_resolve(s, c->root, c->arena));
    }
    if (depth == DEPTH_MAX) return false;
    for (uint32_t i = 0; value_is_list(v) && i < value_list(v)->n; i++)
        if (names_protected(c, value_list(v)->at[i], depth + 1, found)) return true;
    for (uint32_t i = 0; value_is_dict(v) && dict_next(value_dict(v), &i, &e);)
        if (names_protected(c, e->value, depth + 1, found)) return true;
    return false;
}

static void ask_protect(const GuardCase *c, const GuardCall *call, GuardRuling *out) {
    if (writes(call->kind) && guard_protect_covers(&c->protect, call->absolute))
        guard_ruling_set(out, GUARD_DENY, STR("protected"), "agents may not write " STR_FMT ", which is protected", STR_ARG(call->path));
    Str found;
    if ((call->kind == CALL_MCP || call->unknown) && !reads_by_name(call->tool) && names_protected(c, call->args, 0, &found))
        guard_ruling_set(out, GUARD_DENY, STR("protected"), "agents may not write " STR_FMT ", which is protected, with a tool that may write it", STR_ARG(found));
    if (call->kind != CALL_SHELL || !call->command.at) return;
    Buf why = { 0 };
    GuardVerdict v = guard_protect_shell(&c->protect, call->command, call->cwd, &why);
    guard_ruling_set(out, v, STR("protected"), STR_FMT, STR_ARG(buf_str(&why)));
    buf_clear(&why);
}

static void ask_unknown(const GuardCase *c, const GuardCall *call, bool allowed, GuardRuling *out) {
    if (!call->unknown) return;
    GuardUnknown unknown = allowed ? GUARD_UNKNOWN_ALLOW : guard_judge_unknown(c);
    out->outside |= unknown != GUARD_UNKNOWN_DENY;                   /* the project alone denies it */
    GuardVerdict v = unknown == GUARD_UNKNOWN_ALLOW ? GUARD_PASS : unknown == GUARD_UNKNOWN_ASK ? GUARD_ASK : GUARD_DENY;
    guard_ruling_set(out, v, STR("guard.unknown"), "%s has a tool " STR_FMT " that harness guard does not know (guard.unknown in ~/.config/harness/guard.md)",
                     vendor_title(c->envelope->vendor), STR_ARG(str_sub(call->vendor_tool, 0, 100)));
}

/* ---- a call ---- */

static Str subject_of(const GuardCall *call) {
    if (call->command.at) return call->command;
    if (call->path.n) return call->path;
    return call->url.at ? call->url : STR("");
}

static void note_call(const GuardCase *c, const GuardCall *call, GuardRuling *out) {
    out->tool = call->tool;
    out->vendor_tool = call->vendor_tool;
    out->kind = call->kind;
    out->subject = arena_str(c->arena, subject_of(call));
}

/* Everything but hooks. Several calls count as explicitly allowed only if each of them is. */
static bool judge_steps(const GuardCase *c, const GuardCalls *calls, GuardRuling *out) {
    bool all = true;
    for (size_t i = 0; i < calls->n; i++) {
        const GuardCall *call = &calls->at[i];
        GuardVerdict before = out->verdict;
        Str confirm;
        ask_protect(c, call, out);
        if (ask_policy(c, call, &confirm, out)) {
            bool allowed = ask_rules(c, call, confirm, out);
            ask_unknown(c, call, allowed, out);
            all = all && allowed;
        }
        if (i == 0 || out->verdict > before) note_call(c, call, out);
    }
    return all;
}

static void judge_changed(const GuardCase *c, const GuardCall *call, GuardRuling *out) {
    GuardEnvelope e = *c->envelope;
    GuardCalls again = { 0 };
    Error err = { 0 };
    if (!guard_calls_input(&e, call, out->changed, c->root, c->heap, &e.input, &err) || !guard_calls(&e, c->root, c->heap, c->arena, &again, &err)) {
        guard_ruling_set(out, GUARD_DENY, STR("tool.pre"), "%s", err.msg);
        return;
    }
    out->changed = e.input;
    if (!out->reason.n) buf_add(&out->reason, STR("a hook of the project changed the arguments"));
    judge_steps(c, &again, out);
}

static void judge_call(const GuardCase *c, GuardRuling *out) {
    GuardCalls calls = { 0 };
    Error err = { 0 };
    if (!guard_calls(c->envelope, c->root, c->heap, c->arena, &calls, &err)) {
        out->vendor_tool = c->envelope->tool;
        guard_ruling_set(out, GUARD_DENY, STR("guard.unknown"), "%s", err.msg);
        return;
    }
    bool allowed = judge_steps(c, &calls, out);
    for (size_t i = 0; out->verdict != GUARD_DENY && c->runtime && i < calls.n; i++) {
        guard_judge_call_hooks(c, &calls.at[i], out);
        if (value_is_gone(out->changed)) continue;
        if (calls.n > 1) guard_ruling_set(out, GUARD_DENY, STR("tool.pre"), "a hook changed one of several files of a call, which is not possible");
        else judge_changed(c, &calls.at[i], out);
    }
    if (out->verdict == GUARD_PASS && allowed) out->verdict = GUARD_ALLOW;
}

void guard_judge(const GuardCase *c, GuardRuling *out) {
    *out = (GuardRuling){ .verdict = GUARD_PASS, .changed = VALUE_GONE, .vendor_tool = c->envelope->tool };
    if (c->envelope->event == GUARD_EVENT_NOTE) return;
    if (guard_event_calls(c->envelope->event)) judge_call(c, out);
    else if (c->runtime) guard_judge_event_hooks(c, out);
}
