#include "policy/policy.h"
#include <stdlib.h>
#include "artifact/pattern.h"
#include "base/mem.h"
#include "value/list.h"

/* A pattern or a property, and the text of its rule for messages. */
typedef struct { Str word, rule; } PolicyRule;
typedef struct { PolicyRule *at; size_t n; } PolicyRules;

struct Policy { Arena arena; bool allow_only; PolicyRules allow, deny, never, confirm; };

/* ---- reading ---- */

static Value field(Value dict, const char *key) {
    Value v = value_member(dict, key);
    return value_is_none(v) ? VALUE_GONE : v;
}

/* The loader has checked the types. Fail anyway if the value is not a list: it must not count as an empty one. */
static bool read_rules(Policy *p, Value section, const char *name, const char *key, PolicyRules *out, Error *err) {
    Value list = field(section, key);
    if (value_is_gone(list)) return true;
    if (!value_is_list(list)) return error_set(err, ERR_CONFIG, "%s.%s: expected list, got %s", name, key, field_type_name(list));
    out->at = ARENA_ARRAY(&p->arena, PolicyRule, value_list(list)->n + 1);
    for (uint32_t i = 0; i < value_list(list)->n; i++) {
        Value v = value_list(list)->at[i];
        if (!value_is_string(v)) return error_set(err, ERR_CONFIG, "%s.%s[%u]: expected string, got %s", name, key, i, field_type_name(v));
        Str word = arena_str(&p->arena, value_str(v));
        out->at[out->n++] = (PolicyRule){ word, str_from(arena_fmt(&p->arena, "%s.%s: " STR_FMT, name, key, STR_ARG(word))) };
    }
    return true;
}

static bool read_policy(Policy *out, const Settings *s, Error *err) {
    Value mode = field(s->tools_policy, "mode");
    if (!read_rules(out, s->tools_policy, "tools_policy", "allow", &out->allow, err)) return false;
    if (!read_rules(out, s->tools_policy, "tools_policy", "deny", &out->deny, err)) return false;
    if (!read_rules(out, s->limits, "limits", "deny", &out->never, err)) return false;
    if (!read_rules(out, s->limits, "limits", "confirm", &out->confirm, err)) return false;
    if (value_is_gone(mode)) out->allow_only = !value_is_gone(field(s->tools_policy, "allow"));
    else out->allow_only = !value_is_string(mode) || !str_eq(value_str(mode), STR("denylist"));
    return true;
}

/* The blockedTools of a space apply to the whole project, for every caller. */
static void add_blocked(Policy *p, const Project *project) {
    size_t n = p->deny.n;
    for (size_t i = 0; i < project->n_agents; i++)
        if (project->agents[i].from_space) n += project->agents[i].blocked_tools.n;
    PolicyRule *all = ARENA_ARRAY(&p->arena, PolicyRule, n + 1);
    if (p->deny.n) memcpy(all, p->deny.at, p->deny.n * sizeof *all);
    p->deny.at = all;
    for (size_t i = 0; i < project->n_agents; i++) {
        const AgentDef *a = &project->agents[i];
        for (size_t k = 0; a->from_space && k < a->blocked_tools.n; k++) {
            Str word = arena_str(&p->arena, a->blocked_tools.at[k]);
            char *rule = arena_fmt(&p->arena, "blockedTools of " STR_FMT ": " STR_FMT, STR_ARG(a->origin.file), STR_ARG(word));
            p->deny.at[p->deny.n++] = (PolicyRule){ word, str_from(rule) };
        }
    }
}

bool policy_new(const Project *project, Policy **out, Error *err) {
    Policy *p = mem_zero(1, sizeof *p);
    if (!read_policy(p, &project->settings, err)) return policy_free(p), false;
    add_blocked(p, project);
    return *out = p, true;
}

void policy_free(Policy *p) {
    if (!p) return;
    arena_clear(&p->arena);
    free(p);
}

/* ---- decisions ---- */

static bool names_match(Str pattern, const ToolDef *def) {
    if (policy_name_matches(pattern, def->name)) return true;
    for (size_t i = 0; i < def->aliases.n; i++)
        if (policy_name_matches(pattern, def->aliases.at[i])) return true;
    return false;
}

/* Deny rules match ambiguous names; allow rules do not. */
static bool name_denied(Str pattern, const ToolDef *def) {
    return names_match(pattern, def) || (def->ambiguous.n && policy_name_matches(pattern, def->ambiguous));
}

bool policy_tool_blocked(const Str *patterns, size_t n, const ToolDef *def) {
    for (size_t i = 0; i < n; i++)
        if (name_denied(patterns[i], def)) return true;
    return false;
}

static bool listed(const PolicyRules *list, const ToolDef *def) {
    for (size_t i = 0; i < list->n; i++)
        if (names_match(list->at[i].word, def)) return true;
    return false;
}

static Str property_rule(const PolicyRules *list, const Safety *s) {
    for (size_t i = 0; s && i < list->n; i++)
        if (safety_has(s, list->at[i].word)) return list->at[i].rule;
    return STR("");
}

static PolicyDecision deny(PolicyReason reason, Str rule) { return (PolicyDecision){ .verdict = POLICY_DENY, .reason = reason, .rule = rule }; }

static PolicyDecision decide_by_name(const Policy *p, const ToolDef *def) {
    for (size_t i = 0; i < p->deny.n; i++)
        if (name_denied(p->deny.at[i].word, def)) return deny(POLICY_BY_RULE, p->deny.at[i].rule);
    if (p->allow_only && !listed(&p->allow, def)) return deny(POLICY_NOT_LISTED, STR("tools_policy.allow"));
    return (PolicyDecision){ 0 };
}

bool policy_shows(const Policy *p, const ToolDef *def) { return decide_by_name(p, def).verdict == POLICY_ALLOW; }

PolicyDecision policy_decide(const Policy *p, const ToolDef *def, const Safety *safety, bool changed) {
    if (changed) return deny(POLICY_CHANGED, STR("mcp: changed"));
    PolicyDecision by_name = decide_by_name(p, def);
    if (by_name.verdict == POLICY_DENY) return by_name;
    Str never = property_rule(&p->never, safety);
    if (never.n) return deny(POLICY_BY_RULE, never);
    Str ask = def->confirm ? STR("confirm: true")
            : safety && safety->requires_confirmation ? STR("safety.requires_confirmation")
            : STR("");
    bool by_limit = ask.n == 0;
    if (by_limit) ask = property_rule(&p->confirm, safety);
    return (PolicyDecision){ ask.n ? POLICY_ASK : POLICY_ALLOW, POLICY_BY_RULE, ask, .answerable = by_limit && ask.n };
}

bool policy_explain(const PolicyDecision *d, Str tool, Error *err) {
    switch (d->reason) {
    case POLICY_NOT_LISTED: return error_set(err, ERR_POLICY, "tool \"" STR_FMT "\" is not in tools_policy.allow", STR_ARG(tool));
    case POLICY_CHANGED: return error_set(err, ERR_POLICY, "tool \"" STR_FMT "\" changed since it was approved: see harness mcp approve", STR_ARG(tool));
    default: return error_set(err, ERR_POLICY, "tool \"" STR_FMT "\" is denied by " STR_FMT, STR_ARG(tool), STR_ARG(d->rule));
    }
}

bool policy_hint_read_only(const Policy *p, const ToolDef *def, const Safety *safety) {
    return safety->read_only && policy_decide(p, def, safety, false).verdict != POLICY_ASK;
}

bool policy_name_matches(Str pattern, Str name) { return pattern_matches(pattern, name); }
