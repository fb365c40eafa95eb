/* Step 5, second part: `rules:` of the project. Evaluated again when a hook has changed the arguments. */
#include <stdlib.h>
#include "tool/pipeline/pipe.h"

static Str text_argument(const Pipe *p, const char *name) {
    Value v = value_is_dict(p->f.args) ? value_member(p->f.args, name) : VALUE_GONE;
    return value_is_string(v) ? value_str(v) : (Str){ 0 };
}

/* What the call acts on. A missing argument counts as unknown, which matches rows that deny or ask. */
static void fill(const Pipe *p, RulesCall *call, RulesPath *path, Buf *command) {
    const ToolDef *def = &p->f.entry->def;
    Error err = { 0 };
    Str text = text_argument(p, call_kind_argument(call->kind));
    switch (call->kind) {
    case CALL_SHELL:
        if (def->kind != TOOL_COMMAND) call->command = text;
        else if (template_render_command(def->command, p->f.args, command, &err)) call->command = buf_str(command);
        return;
    case CALL_NET_FETCH:
        call->url = text;
        return;
    case CALL_SEARCH:
        if (!text.n) text = STR(".");
        break;
    case CALL_FILE_READ: case CALL_FILE_WRITE: case CALL_FILE_EDIT: case CALL_FILE_DELETE: break;
    default: return;
    }
    if (!text.at) return;
    *path = (RulesPath){ text, rules_role(call->kind) };
    call->paths = path;
    call->n_paths = 1;
}

static RulesCall call_of(const Pipe *p, CallKind kind) {
    const ToolDef *def = &p->f.entry->def;
    return (RulesCall){ .vendor = VENDOR_HARNESS, .tool = def->name, .aliases = def->aliases.at, .n_aliases = def->aliases.n, .ambiguous = def->ambiguous,
                        .kind = kind, .root = p->f.runtime->project->root, .workspace = p->host.workspace, .cwd = p->host.workspace,
                        .home = str_from(getenv("HOME")), .original = runtime_original(p->f.runtime),
                        .copy = runtime_original(p->f.runtime).n ? runtime_workspace(p->f.runtime) : STR("") };
}

static RulesVerdict judge(const Pipe *p, Arena *arena) {
    RulesPath path;
    Buf command = { 0 };
    RulesCall call = call_of(p, project_call_kind(&p->f.entry->def));
    fill(p, &call, &path, &command);
    RulesVerdict v = rules_judge(&p->f.runtime->project->rules, &call, arena);
    buf_clear(&command);
    return v;
}

/* `rule "ask-deploy" of harness.md: because …`: omits the line number, because stored approvals include this text. */
static Str why_of(const RulesVerdict *v, Arena *arena) {
    Str because = v->rule->because;
    return str_from(arena_fmt(arena, "rule \"" STR_FMT "\" of " STR_FMT "%s" STR_FMT "%s%s%s", STR_ARG(v->rule->name), STR_ARG(v->rule->file),
                              because.n ? ": " : "", STR_ARG(because), v->unknown ? " (" : "", v->unknown ? v->unknown : "", v->unknown ? ")" : ""));
}

bool pipe_rules(Pipe *p) {
    p->rules = (RulesVerdict){ 0 };
    p->rule_why = (Str){ 0 };
    if (p->f.runtime->project->rules.n == 0) return true;
    Arena arena = { 0 };
    Buf text = { 0 };
    RulesVerdict v = judge(p, &arena);
    p->rules = v;
    p->rules.unknown = NULL;                             /* it lives in `arena` */
    rules_explain(&v, &text);
    if (v.verdict == RULE_ASK) p->rule_why = why_of(&v, &p->kept.arena);
    if (v.rule) pipe_trace(p, STEP_POLICY, "%s by " STR_FMT, rule_verdict_name(v.verdict), STR_ARG(buf_str(&text)));
    bool ok = v.verdict != RULE_DENY || pipe_refuse(p, STEP_POLICY, v.rule->name, REPAIR_REFUSED, "tool \"" STR_FMT "\" is denied by " STR_FMT,
                                                    STR_ARG(p->f.entry->def.name), STR_ARG(buf_str(&text)));
    buf_clear(&text);
    arena_clear(&arena);
    return ok;
}

bool pipe_rules_read(const Pipe *p) {
    const RuleRows *rules = &p->f.runtime->project->rules;
    for (size_t i = 0; i < rules->n; i++)
        if (rules->at[i].path_key && (rules->at[i].kinds & CALL_KIND_BIT(CALL_FILE_READ))) return true;
    return false;
}

bool pipe_rules_may_read(const Pipe *p, Str absolute) {
    Arena arena = { 0 };
    RulesPath path = { absolute, RULES_READS };
    RulesCall call = call_of(p, CALL_FILE_READ);
    call.paths = &path;
    call.n_paths = 1;
    bool may = rules_judge(&p->f.runtime->project->rules, &call, &arena).verdict < RULE_ASK;
    arena_clear(&arena);
    return may;
}

PipeAsk pipe_reason_to_ask(const Pipe *p) {
    if (p->rules.verdict == RULE_ASK) return (PipeAsk){ p->rule_why, p->rules.rule->name };
    bool answered = p->rules.verdict == RULE_ALLOW && !p->rules.rule->pulled && p->policy.answerable;
    if (p->policy.verdict == POLICY_ASK && !answered) return (PipeAsk){ p->policy.rule, p->policy.rule };
    Str seen = str_from(p->kept.seen.why);
    return (PipeAsk){ seen, seen };
}
