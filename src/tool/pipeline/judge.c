#include "tool/pipeline/judge.h"
#include "tool/pipeline/pipe.h"

static void set_place(ToolJudgement *out, Str file, uint32_t line) {
    out->file = file;
    out->line = line;
}

/* A hook by its name; two agents may have hooks of the same name, in different files. */
static void place_of_hook(const Project *p, Str name, Str file, ToolJudgement *out) {
    set_place(out, file, 0);
    for (size_t i = 0; i < p->n_hooks; i++)
        if (str_eq(p->hooks[i].name, name) && (!file.n || str_eq(p->hooks[i].origin.file, file)))
            return set_place(out, p->hooks[i].origin.file, p->hooks[i].origin.line);
}

/* tools_policy and limits are in the settings; what a tool says about itself is in its own file. */
static void place_of_policy(const Pipe *p, Str rule, ToolJudgement *out) {
    const ToolDef *def = &p->f.entry->def;
    bool own = str_eq(rule, STR("confirm: true")) || str_starts(rule, STR("safety."));
    if (own) set_place(out, def->origin.file, def->origin.line);
    else if (str_starts(rule, STR("tools_policy")) || str_starts(rule, STR("limits."))) set_place(out, p->f.runtime->project->settings.file, 0);
}

static void fill_denied(const Pipe *p, ToolJudgement *out) {
    const Result *r = p->out;
    *out = (ToolJudgement){ .verdict = RULE_DENY, .step = r->step, .rule = r->rule, .why = r->error };
    bool by_rule = p->rules.verdict == RULE_DENY && r->step == STEP_POLICY;
    if (by_rule) set_place(out, p->rules.rule->file, p->rules.rule->line);
    else if (r->step == STEP_PRE) place_of_hook(p->f.runtime->project, r->rule, r->rule_file, out);
    else if (r->step == STEP_POLICY) place_of_policy(p, r->rule, out);
}

static void fill_passed(const Pipe *p, ToolJudgement *out) {
    PipeAsk ask = pipe_reason_to_ask(p);
    const RuleDef *rule = p->rules.rule;
    *out = (ToolJudgement){ .verdict = RULE_ALLOW };
    if (ask.why.n) {
        *out = (ToolJudgement){ .verdict = RULE_ASK, .step = STEP_CONFIRM, .rule = ask.rule, .why = ask.why };
        if (p->rules.verdict == RULE_ASK) set_place(out, rule->file, rule->line);
        else place_of_policy(p, ask.rule, out);
    } else if (p->rules.verdict == RULE_ALLOW) {
        out->rule = rule->name;
        out->why = rule->because;
        set_place(out, rule->file, rule->line);
    }
}

void judge_verdict(Pipe *p, bool passes, Arena *arena, ToolJudgement *out) {
    if (passes) fill_passed(p, out);
    else fill_denied(p, out);
    Buf why = { 0 };
    buf_add(&why, out->why);
    pipe_redact_text(p, &why);
    out->rule = arena_str(arena, out->rule);
    out->why = arena_str(arena, buf_str(&why));
    out->file = arena_str(arena, out->file);
    buf_clear(&why);
}
