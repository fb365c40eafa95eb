#include "policy/policy.h"
#include <stdlib.h>
#include "base/mem.h"
#include "base/utf8.h"
#include "value/list.h"

/* A pattern or a property, and the text of its rule. */
typedef struct { Str word, rule; } PolicyRule;
typedef struct { PolicyRule *at; size_t n; } RuleList;

struct Policy { Arena arena; bool allow_only; RuleList allow, deny, never, confirm; };

/* ---- reading ---- */

static Value field(Value dict, const char *key) {
    Value v = value_member(dict, key);
    return value_is_none(v) ? VALUE_GONE : v;
}

/* Loading has checked the types already. A list that is none all the same must not read as an empty one. */
static bool read_rules(Policy *p, Value section, const char *name, const char *key, RuleList *out, Error *err) {
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

/* The blockedTools of a space hold for the whole project, whoever calls. */
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

/* ---- deciding ---- */

static bool names_match(Str pattern, const PolicyTool *t) {
    if (policy_name_matches(pattern, t->name)) return true;
    for (size_t i = 0; i < t->aliases.n; i++)
        if (policy_name_matches(pattern, t->aliases.at[i])) return true;
    return false;
}

bool policy_tool_blocked(const Str *patterns, size_t n, const ToolDef *def) {
    PolicyTool t = { .name = def->name, .aliases = def->aliases };
    for (size_t i = 0; i < n; i++)
        if (names_match(patterns[i], &t) || (def->ambiguous.n && policy_name_matches(patterns[i], def->ambiguous))) return true;
    return false;
}

static const PolicyRule *find_name(const RuleList *list, const PolicyTool *t) {
    for (size_t i = 0; i < list->n; i++)
        if (names_match(list->at[i].word, t)) return &list->at[i];
    return NULL;
}

static const PolicyRule *find_property(const RuleList *list, const Safety *s) {
    for (size_t i = 0; s && i < list->n; i++)
        if (safety_has(s, list->at[i].word)) return &list->at[i];
    return NULL;
}

/* The rule of tools_policy that keeps the tool away; empty: none. */
static Str name_rule(const Policy *p, const PolicyTool *t) {
    const PolicyRule *deny = find_name(&p->deny, t);
    for (size_t i = 0; !deny && t->ambiguous.n && i < p->deny.n; i++)
        if (policy_name_matches(p->deny.at[i].word, t->ambiguous)) deny = &p->deny.at[i];
    if (deny) return deny->rule;
    return p->allow_only && !find_name(&p->allow, t) ? STR("tools_policy.allow") : (Str){ 0 };
}

bool policy_shows(const Policy *p, const PolicyTool *t) { return name_rule(p, t).n == 0; }

bool policy_check(const Policy *p, const PolicyTool *t, Str *rule, Error *err) {
    Str by = name_rule(p, t);
    const PolicyRule *never = by.n ? NULL : find_property(&p->never, t->safety);
    if (never) by = never->rule;
    if (!by.n) return true;
    if (rule) *rule = by;
    if (str_eq(by, STR("tools_policy.allow")))
        return error_set(err, ERR_POLICY, "tool \"" STR_FMT "\" is not in tools_policy.allow", STR_ARG(t->name));
    return error_set(err, ERR_POLICY, "tool \"" STR_FMT "\" is denied by " STR_FMT, STR_ARG(t->name), STR_ARG(by));
}

bool policy_confirms(const Policy *p, const PolicyTool *t, Str *why) {
    const PolicyRule *rule = find_property(&p->confirm, t->safety);
    Str reason = { "", 0 };
    if (t->confirm) reason = STR("confirm: true");
    else if (t->safety && t->safety->requires_confirmation) reason = STR("safety.requires_confirmation");
    else if (rule) reason = rule->rule;
    if (why) *why = reason;
    return reason.n > 0;
}

bool policy_hint_read_only(const Policy *p, const PolicyTool *t) {
    Str why;
    return t->safety->read_only && !policy_confirms(p, t, &why);
}

/* ---- globs ---- */

/* [abc], [a-z], [!a], [^a] at the start of `pattern`: does it match c? *length is 0 when it is no class but a plain bracket. */
static bool class_matches(Str pattern, uint32_t c, size_t *length) {
    size_t i = 1, n;
    bool negated = i < pattern.n && (pattern.at[i] == '!' || pattern.at[i] == '^'), hit = false;
    i += negated;
    for (bool first = true; i < pattern.n; first = false) {
        if (pattern.at[i] == ']' && !first) return *length = i + 1, hit != negated;
        uint32_t low = utf8_decode(str_sub(pattern, i, pattern.n), &n), high = low;
        i += n;
        if (i + 1 < pattern.n && pattern.at[i] == '-' && pattern.at[i + 1] != ']') {
            high = utf8_decode(str_sub(pattern, i + 1, pattern.n), &n);
            i += 1 + n;
        }
        hit = hit || (c >= low && c <= high);
    }
    return *length = 0, false;
}

/* One character of the pattern, not a star, against one of the name. */
static bool step_matches(Str pattern, Str name, size_t *p_length, size_t *n_length) {
    uint32_t c = utf8_decode(name, n_length);
    if (pattern.at[0] == '[') {
        bool hit = class_matches(pattern, c, p_length);
        if (*p_length) return hit;
    }
    uint32_t wanted = utf8_decode(pattern, p_length);
    return pattern.at[0] == '?' || wanted == c;
}

/* Goes back only to the latest star: quadratic at worst, whatever the pattern. */
bool policy_name_matches(Str pattern, Str name) {
    size_t p = 0, n = 0, star = SIZE_MAX, retry = 0, p_length, n_length;
    while (n < name.n) {
        if (p < pattern.n && pattern.at[p] == '*') {
            star = ++p;
            retry = n;
        } else if (p < pattern.n && step_matches(str_sub(pattern, p, pattern.n), str_sub(name, n, name.n), &p_length, &n_length)) {
            p += p_length;
            n += n_length;
        } else if (star != SIZE_MAX) {
            utf8_decode(str_sub(name, retry, name.n), &n_length);
            n = retry += n_length;
            p = star;
        } else {
            return false;
        }
    }
    while (p < pattern.n && pattern.at[p] == '*') p++;
    return p == pattern.n;
}
