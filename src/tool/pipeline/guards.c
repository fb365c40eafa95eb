#include "tool/pipeline/guards.h"
#include <stdio.h>
#include "tool/pipeline/pipe.h"

typedef struct Visit { void (*each)(void *ctx, const ToolGuard *g); void *ctx; HookEvent event; } Visit;

const char *tool_guard_name(ToolGuardKind kind) {
    static const char *const names[] = {
#define X(id, name) [TOOL_GUARD_##id] = name,
        TOOL_GUARDS(X)
#undef X
    };
    return names[kind];
}

static void add(const Visit *v, ToolGuardKind kind, Str name, const char *effect) {
    v->each(v->ctx, &(ToolGuard){ .kind = kind, .name = name, .effect = effect });
}

/* ---- one function for each kind, false: every call is denied ---- */

static bool add_blocked(const Visit *v, const Call *call, const ToolEntry *e) {
    if (!policy_tool_blocked(call->removed, call->n_removed, &e->def)) return true;
    add(v, TOOL_GUARD_BLOCKED, STR("blocked_tools"), "denies");
    return false;
}

static bool add_policy(const Visit *v, const Run *r, const ToolEntry *e) {
    PolicyDecision d = policy_decide(r->rt->policy, &e->def, &e->safety, e->held);
    if (d.verdict != POLICY_ALLOW) add(v, TOOL_GUARD_POLICY, d.rule, d.verdict == POLICY_DENY ? "denies" : "asks");
    return d.verdict != POLICY_DENY;
}

/* Evaluates each row alone for a call with unknown arguments: a row that may deny or ask about some call of the tool matches. */
static void add_rules(const Visit *v, const Run *r, const ToolEntry *e) {
    const Project *p = r->rt->project;
    RulesCall call = { .vendor = VENDOR_HARNESS, .tool = e->def.name, .aliases = e->def.aliases.at, .n_aliases = e->def.aliases.n,
                       .ambiguous = e->def.ambiguous, .kind = project_call_kind(&e->def), .root = p->root };
    for (size_t i = 0; i < p->rules.n; i++) {
        RuleDef *row = &p->rules.at[i];
        Arena arena = { 0 };
        Buf what = { 0 };
        RulesVerdict d = rules_judge(&(RuleRows){ .at = row, .n = 1 }, &call, &arena);
        bool always = !row->shell.n && !row->n_paths && !row->hosts.n && !row->urls.n;
        if (!always) rule_describe(row, &what);
        if (d.verdict == RULE_DENY || d.verdict == RULE_ASK)
            v->each(v->ctx, &(ToolGuard){ .kind = TOOL_GUARD_RULE, .name = row->name, .effect = d.verdict == RULE_DENY ? "denies" : "asks",
                                          .origin = &(Origin){ .file = row->file, .line = row->line }, .when = buf_str(&what) });
        buf_clear(&what);
        arena_clear(&arena);
    }
}

static void add_hook(void *ctx, const HookDef *def, HookCover cover) {
    const Visit *v = ctx;
    v->each(v->ctx, &(ToolGuard){ .kind = TOOL_GUARD_HOOK, .name = def->name, .effect = hook_event_name(v->event), .origin = &def->origin,
                                  .when = cover == HOOK_COVERS_SOMETIMES ? str_trim(def->when_text) : STR("") });
}

/* The payload has the members that are the same in every call: the tool, its kind, the agent and, before the call, the tool's safety. */
static bool add_hooks(Visit *v, Run *r, const Call *call, const ToolEntry *e, HookEvent event, Error *err) {
    Heap *h = heap_new(0);
    Dict *d = dict_new(h, 4, err);
    Value safety = d && event == HOOK_TOOL_PRE ? safety_value(&e->safety, h, err) : VALUE_GONE;
    bool ok = d && dict_put_text(h, d, "name", e->def.name, err) && dict_put_text(h, d, "agent", call->agent, err) &&
              dict_put_text(h, d, "kind", str_from(call_kind_name(project_call_kind(&e->def))), err) &&
              (value_is_gone(safety) || dict_put_str(h, d, STR("safety"), safety, err));
    v->event = event;
    if (ok)
        hook_covering(run_hooks(r), &(HookDispatch){ .event = event, .payload = value_from_object(d), .heap = h, .cancel = r->cancel, .agents = call->agents,
                      .n_agents = call->n_agents, .extra = call->hooks, .n_extra = call->n_hooks }, add_hook, v);
    heap_free(h);
    return ok;
}

static void add_timeout(const Visit *v, const Run *r, const ToolEntry *e) {
    char text[64];
    int64_t ms = runtime_timeout_ms(r->rt, &e->def);
    if (ms <= 0) return;
    snprintf(text, sizeof text, "timeout %lld ms", (long long)ms);
    add(v, TOOL_GUARD_LIMIT, str_from(text), "ends the call");
}

bool tool_guards(Run *r, const Call *call, const ToolEntry *e, void (*each)(void *ctx, const ToolGuard *g), void *ctx, Error *err) {
    Visit v = { .each = each, .ctx = ctx };
    if (!add_blocked(&v, call, e) || !add_policy(&v, r, e)) return true;
    add_rules(&v, r, e);
    if (e->root) add(&v, TOOL_GUARD_WORKSPACE, e->safety.workspace_root, "confines");
    if (!add_hooks(&v, r, call, e, HOOK_TOOL_PRE, err)) return false;
    if (e->inspect) add(&v, TOOL_GUARD_CHECK, STR("arguments"), "may deny or ask");
    add_timeout(&v, r, e);
    return add_hooks(&v, r, call, e, HOOK_TOOL_POST, err);
}
