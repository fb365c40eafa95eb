#include "policy/rules.h"
#include "net/target.h"
#include "policy/policy.h"
#include "policy/rules_private.h"

/* A call, and what is computed from it once. */
typedef struct Judge {
    const RuleRows *rules;
    const RulesCall *call;
    Arena *arena;
    bool parsed, spelled;
    ShellCommands commands;
    RulesRoots roots;
    RulesSpelling *spellings;            /* one for each path */
} Judge;

static const ShellCommands *commands(Judge *j) {
    if (!j->parsed) j->commands = shell_commands(j->call->command, j->arena);
    j->parsed = true;
    return &j->commands;
}

static void spell(Judge *j) {
    if (j->spelled) return;
    j->spelled = true;
    j->roots = rules_path_roots(j->call, j->arena);
    j->spellings = ARENA_ARRAY(j->arena, RulesSpelling, j->call->n_paths + 1);
    for (size_t i = 0; i < j->call->n_paths; i++) j->spellings[i] = rules_path_spell(j->call, j->call->paths[i].path, j->arena);
}

/* ---- what a row is about ---- */

static bool covers(const RuleDef *r, const RulesCall *call) {
    if (r->vendors && !(r->vendors & VENDOR_BIT(call->vendor))) return false;
    return !r->kinds || (r->kinds & CALL_KIND_BIT(call->kind));
}

static bool names_tool(const RuleDef *r, const RulesCall *call) {
    for (size_t i = 0; i < r->tools.n; i++) {
        if (policy_name_matches(r->tools.at[i], call->tool)) return true;
        for (size_t k = 0; k < call->n_aliases; k++)
            if (policy_name_matches(r->tools.at[i], call->aliases[k])) return true;
        if (r->decide != RULE_ALLOW && call->ambiguous.n && policy_name_matches(r->tools.at[i], call->ambiguous)) return true;
    }
    return r->tools.n == 0;
}

RulesRole rules_role(CallKind kind) {
    switch (kind) {
    case CALL_FILE_WRITE: return RULES_WRITES;
    case CALL_FILE_EDIT: return RULES_EDITS;
    case CALL_FILE_DELETE: return RULES_DELETES;
    default: return RULES_READS;
    }
}

static bool key_has_role(const char *key, RulesRole role) {
    static const CallKind kinds[] = { [RULES_READS] = CALL_FILE_READ, [RULES_WRITES] = CALL_FILE_WRITE, [RULES_EDITS] = CALL_FILE_EDIT,
                                      [RULES_DELETES] = CALL_FILE_DELETE };
    return rule_path_kinds(key) & CALL_KIND_BIT(kinds[role]);
}

/* ---- hosts and URLs ---- */

/* The canonical host of a URL; false if it cannot be read. */
static bool host_of(Str url, Target *out) {
    ptrdiff_t scheme = str_find(url, STR("://"));
    if (scheme <= 0) return false;
    Str rest = str_sub(url, (size_t)scheme + 3, url.n);
    size_t n = 0;
    while (n < rest.n && !strchr("/?#\\", rest.at[n])) n++;
    rest.n = n;
    for (size_t i = 0; i < n; i++)
        if (rest.at[i] == '@') rest = (Str){ rest.at + i + 1, n - i - 1 }, n = rest.n, i = 0;
    Error err = { 0 };
    return target_parse(rest, 443, out, &err);
}

static bool host_is(Str pattern, Str host) {
    if (str_eq(pattern, STR("*"))) return true;
    if (!str_starts(pattern, STR("*."))) return str_eq(pattern, host);
    Str suffix = str_sub(pattern, 1, pattern.n);
    return host.n > suffix.n && str_ends(host, suffix);
}

static RulesMatch url_matches(const RuleDef *r, const RulesCall *call) {
    Target target;
    if (r->hosts.n == 0 && r->urls.n == 0) return RULES_YES;
    if (!call->url.at) return RULES_MAYBE;
    bool known = host_of(call->url, &target);
    for (size_t i = 0; known && i < r->hosts.n; i++)
        if (host_is(r->hosts.at[i], str_from(target.host))) return RULES_YES;
    for (size_t i = 0; i < r->urls.n; i++)
        if (glob_word(r->urls.at[i], call->url)) return RULES_YES;
    return known || r->hosts.n == 0 ? RULES_NO : RULES_MAYBE;
}

/* ---- rows that deny or ask ---- */

static RulesMatch paths_may(Judge *j, const RuleDef *r, const char **unknown) {
    const RulesCall *call = j->call;
    if (!r->path_key) return RULES_YES;
    if (call->n_paths == 0) return *unknown = "the path of the call is unknown", RULES_MAYBE;
    spell(j);
    for (size_t i = 0; i < call->n_paths; i++)
        for (size_t k = 0; k < r->n_paths && key_has_role(r->path_key, call->paths[i].role); k++)
            if (rules_path_may(&r->paths[k], &j->roots, &j->spellings[i], j->arena)) return RULES_YES;
    return RULES_NO;
}

static RulesMatch shell_may(Judge *j, const RuleDef *r, const char **unknown) {
    if (r->shell.n == 0) return RULES_YES;
    if (!j->call->command.at) return *unknown = "the command of the call is unknown", RULES_MAYBE;
    return rules_shell_may(&r->shell, commands(j), unknown, j->arena);
}

static RulesMatch least(RulesMatch a, RulesMatch b) { return a < b ? a : b; }

static RulesMatch row_may(Judge *j, const RuleDef *r, const char **unknown) {
    *unknown = NULL;
    if (!covers(r, j->call) || !names_tool(r, j->call)) return RULES_NO;
    RulesMatch url = url_matches(r, j->call);
    if (url == RULES_MAYBE) *unknown = "the address of the call is unknown";
    return least(url, least(shell_may(j, r, unknown), paths_may(j, r, unknown)));
}

/* The first row with this verdict that matches; one that matches only because something is unknown comes last. */
static bool find_row(Judge *j, RuleVerdict verdict, bool pulled_only, bool own_only, RulesVerdict *out) {
    bool found = false;
    for (size_t i = 0; i < j->rules->n; i++) {
        const RuleDef *r = &j->rules->at[i];
        const char *unknown;
        if (r->decide != verdict || (pulled_only && !r->pulled) || (own_only && r->pulled)) continue;
        RulesMatch match = row_may(j, r, &unknown);
        if (match == RULES_NO || (found && match == RULES_MAYBE)) continue;
        *out = (RulesVerdict){ .verdict = verdict, .rule = r, .unknown = match == RULES_MAYBE ? unknown : NULL };
        if (match == RULES_YES) return true;
        found = true;
    }
    return found;
}

/* ---- rows that allow ---- */

/* The rows considered together: those of one layer, or those that share `otherwise`. */
typedef struct AllowSet { bool pulled; RuleVerdict otherwise; /* RULE_NONE: any */ } AllowSet;

static bool in_set(const Judge *j, const RuleDef *r, const AllowSet *set) {
    if (r->decide != RULE_ALLOW || r->pulled != set->pulled || !covers(r, j->call)) return false;
    return set->otherwise == RULE_NONE || r->otherwise == set->otherwise;
}

static const RuleDef *command_row(const Judge *j, const AllowSet *set, const ShellCommand *c) {
    for (size_t i = 0; i < j->rules->n; i++) {
        const RuleDef *r = &j->rules->at[i];
        if (r->shell.n && in_set(j, r, set) && names_tool(r, j->call) && rules_shell_must(&r->shell, c)) return r;
    }
    return NULL;
}

/* The row that matches the first command, if each command is matched by a row. */
static const RuleDef *shell_row(Judge *j, const AllowSet *set) {
    const RuleDef *first = NULL;
    if (j->call->kind != CALL_SHELL || !j->call->command.at) return NULL;
    const ShellCommands *list = commands(j);
    if (list->problem || !list->exact) return NULL;
    for (size_t i = 0; i < list->n; i++) {
        const ShellCommand *c = &list->at[i];
        if (rules_shell_hides(c)) return NULL;
        if (c->words_n == 0) continue;
        const RuleDef *r = command_row(j, set, c);
        if (!r && !rules_shell_passes(c)) return NULL;
        if (!first) first = r;
    }
    return first;
}

static const RuleDef *path_row(Judge *j, const AllowSet *set, Str spelling, RulesRole role) {
    bool folder = j->call->kind == CALL_SEARCH;
    for (size_t i = 0; i < j->rules->n; i++) {
        const RuleDef *r = &j->rules->at[i];
        if (!r->path_key || !in_set(j, r, set) || !names_tool(r, j->call) || !key_has_role(r->path_key, role)) continue;
        for (size_t k = 0; k < r->n_paths; k++)
            if (rules_path_must(&r->paths[k], &j->roots, spelling, folder, j->arena)) return r;
    }
    return NULL;
}

static const RuleDef *paths_row(Judge *j, const AllowSet *set) {
    const RuleDef *first = NULL;
    spell(j);
    for (size_t i = 0; i < j->call->n_paths; i++) {
        const RulesSpelling *s = &j->spellings[i];
        const RuleDef *lexical = path_row(j, set, s->lexical, j->call->paths[i].role);
        if (!lexical || !path_row(j, set, s->real, j->call->paths[i].role)) return NULL;
        if (!first) first = lexical;
    }
    return first;
}

/* Rows with conditions on the tool, kind, vendor or address only. */
static const RuleDef *other_row(const Judge *j, const AllowSet *set) {
    for (size_t i = 0; i < j->rules->n; i++) {
        const RuleDef *r = &j->rules->at[i];
        if (r->shell.n || r->path_key || !in_set(j, r, set) || !names_tool(r, j->call)) continue;
        if (url_matches(r, j->call) == RULES_YES) return r;
    }
    return NULL;
}

static const RuleDef *allowed_by(Judge *j, const AllowSet *set) {
    const RuleDef *r = other_row(j, set);
    if (!r) r = shell_row(j, set);
    return r ? r : paths_row(j, set);
}

/* The row whose `otherwise` applies: the call is of a kind that its set is about, and no row of the set allows it. */
static bool find_otherwise(Judge *j, RuleVerdict verdict, RulesVerdict *out) {
    for (int pulled = 0; pulled < 2; pulled++) {
        AllowSet set = { pulled, verdict };
        const RuleDef *first = NULL;
        for (size_t i = 0; i < j->rules->n && !first; i++)
            if (in_set(j, &j->rules->at[i], &set)) first = &j->rules->at[i];
        if (!first || allowed_by(j, &set)) continue;
        *out = (RulesVerdict){ .verdict = verdict, .rule = first, .otherwise = true };
        return true;
    }
    return false;
}

/* ---- the verdict ---- */

/* The ask row of a layer, unless an allow row of the same layer answers it. */
static bool find_ask(Judge *j, bool pulled, RulesVerdict *out) {
    if (!find_row(j, RULE_ASK, pulled, !pulled, out)) return false;
    const RuleDef *answer = allowed_by(j, &(AllowSet){ pulled, RULE_NONE });
    if (!answer) return true;
    *out = (RulesVerdict){ .verdict = RULE_ALLOW, .rule = answer, .answered = out->rule };
    return true;
}

RulesVerdict rules_judge(const RuleRows *rules, const RulesCall *call, Arena *arena) {
    Judge j = { .rules = rules, .call = call, .arena = arena };
    RulesVerdict v = { 0 }, own = { 0 }, pulled = { 0 };
    if (rules->n == 0) return v;
    if (find_row(&j, RULE_DENY, false, false, &v) || find_otherwise(&j, RULE_DENY, &v)) return v;
    if (find_ask(&j, true, &pulled) && pulled.verdict == RULE_ASK) return pulled;
    if (find_ask(&j, false, &own) && own.verdict == RULE_ASK) return own;
    if (find_otherwise(&j, RULE_ASK, &v)) return v;
    if (own.rule) return own;
    if (pulled.rule) return pulled;
    for (int from = 0; from < 2; from++) {
        const RuleDef *r = allowed_by(&j, &(AllowSet){ from, RULE_NONE });
        if (r) return (RulesVerdict){ .verdict = RULE_ALLOW, .rule = r };
    }
    return v;
}

RulesVerdict rules_stronger(RulesVerdict a, RulesVerdict b) { return b.verdict > a.verdict ? b : a; }

void rules_explain(const RulesVerdict *v, Buf *out) {
    if (!v->rule) return;
    buf_add_fmt(out, "rule \"" STR_FMT "\" (" STR_FMT ":%u)", STR_ARG(v->rule->name), STR_ARG(v->rule->file), v->rule->line);
    if (v->otherwise) buf_add_fmt(out, ": no rule allows it (otherwise: %s)", rule_verdict_name(v->verdict));
    if (v->rule->because.n) buf_add_fmt(out, ": " STR_FMT, STR_ARG(v->rule->because));
    if (v->unknown) buf_add_fmt(out, " (%s)", v->unknown);
}
