/* Step 1: finds the tool. */
#include <stdlib.h>
#include "tool/pipeline/pipe.h"

enum { SCOPES_MAX = 32, CONDITION_MS = 5000 };

static size_t scopes_of(const Run *r, const Call *call, Str out[SCOPES_MAX]) {
    size_t n = 0;
    out[n++] = r->id;
    if (call->scope.n) out[n++] = call->scope;
    if (call->agent.n) out[n++] = call->agent;
    for (size_t i = call->n_agents; i-- > 0 && n < SCOPES_MAX;) out[n++] = call->agents[i];
    return n;
}

static bool listed(const ToolEntry *e, const Str *list, size_t n) {
    bool found = str_among(e->def.name, list, n);
    for (size_t a = 0; a < e->def.aliases.n && !found; a++) found = str_among(e->def.aliases.at[a], list, n);
    return found;
}

/* True if the tool is available in this run, agent and turn. */
static bool offered(const Run *r, const Call *call, const ToolEntry *e) {
    if (e->user_only && !call->by_user) return false;
    if (r->config.only && !listed(e, r->config.only, r->config.n_only)) return false;
    if (call->tools && !listed(e, call->tools, call->n_tools)) return false;
    if (e->def.kind == TOOL_MCP && call->servers && !str_among(e->def.server, call->servers, call->n_servers)) return false;
    return !policy_tool_blocked(call->removed, call->n_removed, &e->def);
}

/* {agent, depth, model, turn, text}, frozen. */
static bool make_ctx(Run *r, const Call *call, Heap *h, Value *out, Error *err) {
    Dict *d = dict_new(h, 5, err);
    pthread_mutex_lock(&r->lock);
    String *agent = string_new(h, call->agent, err), *text = string_new(h, r->turn_text, err), *model = string_new(h, r->turn_model, err);
    pthread_mutex_unlock(&r->lock);
    bool ok = d && agent && text && model && dict_put_str(h, d, STR("agent"), value_from_object(agent), err) &&
              dict_put_str(h, d, STR("depth"), value_from_small(call->depth), err) &&
              dict_put_str(h, d, STR("model"), value_from_object(model), err) &&
              dict_put_str(h, d, STR("turn"), value_from_small(atomic_load(&r->turn)), err) &&
              dict_put_str(h, d, STR("text"), value_from_object(text), err);
    if (!ok) return false;
    *out = value_from_object(d);
    value_freeze(*out);
    return true;
}

bool run_bundle_active(Run *r, const Call *call, const Bundle *bundle, bool *out, Error *err) {
    if (!bundle || !bundle->condition) return *out = true;
    Cancel *token = cancel_new(r->cancel, (int64_t)CONDITION_MS * 1000000);
    Worker *w = worker_take(r->rt->workers, NULL, token);
    Value ctx, answer;
    bool ok = make_ctx(r, call, w->heap, &ctx, err) && module_call_expression(w->vm, bundle->condition, &ctx, 1, &answer, err);
    if (ok) *out = value_truth(answer);
    else error_wrap(err, "bundle \"" STR_FMT "\": condition", STR_ARG(bundle->name));
    worker_give(r->rt->workers, w);
    cancel_free(token);
    return ok;
}

/* An alias that could belong to several servers refers to no tool: the choice must not depend on which server
 * answers. */
static bool refuse_ambiguous(Pipe *p, const Str *scopes, size_t n) {
    const ToolEntry **all, *found[2] = { 0 };
    size_t n_all = registry_list(p->f.runtime->registry, scopes, n, &all), k = 0;
    for (size_t i = 0; i < n_all && k < 2; i++)
        if (all[i]->def.ambiguous.n && str_eq(all[i]->def.ambiguous, p->f.call->name) && offered(p->f.run, p->f.call, all[i])) found[k++] = all[i];
    free(all);
    if (k == 0) return false;
    pipe_refuse(p, STEP_RESOLVE, STR("ambiguous_tool"), REPAIR_UNKNOWN_TOOL,
                "tool \"" STR_FMT "\" is ambiguous: several MCP servers could have it (call \"" STR_FMT "\"%s" STR_FMT "%s)",
                STR_ARG(p->f.call->name), STR_ARG(found[0]->def.name), k > 1 ? " or \"" : "", STR_ARG(k > 1 ? found[1]->def.name : STR("")),
                k > 1 ? "\"" : "");
    return true;
}

static bool refuse_unknown(Pipe *p, const Str *scopes, size_t n) {
    const Call *call = p->f.call;
    if (str_starts(call->name, STR("mcp__")) && refuse_ambiguous(p, scopes, n)) return false;
    Str near = registry_nearest(p->f.runtime->registry, call->name, scopes, n);
    const ToolEntry *e = near.n ? registry_find(p->f.runtime->registry, near, scopes, n) : NULL;
    p->out->unknown_tool = true;
    if (e && offered(p->f.run, call, e) && !str_eq(near, call->name)) p->out->nearest = arena_str(&p->kept.arena, near);
    if (p->out->nearest.n)
        return pipe_refuse(p, STEP_RESOLVE, STR("unknown_tool"), REPAIR_UNKNOWN_TOOL, "unknown tool \"" STR_FMT "\" (did you mean \"" STR_FMT "\"?)",
                           STR_ARG(call->name), STR_ARG(near));
    return pipe_refuse(p, STEP_RESOLVE, STR("unknown_tool"), REPAIR_UNKNOWN_TOOL, "unknown tool \"" STR_FMT "\"", STR_ARG(call->name));
}

/* Rechecks a held tool: the user may have approved it meanwhile. */
static const ToolEntry *find(Registry *r, Str name, const Str *scopes, size_t n) {
    const ToolEntry *e = registry_find(r, name, scopes, n);
    if (!e || !e->held || !e->recheck) return e;
    e->recheck(e->data);
    return registry_find(r, name, scopes, n);
}

static size_t list(Registry *r, const Str *scopes, size_t n, const ToolEntry ***out) {
    size_t found = registry_list(r, scopes, n, out), held = 0;
    for (size_t i = 0; i < found; i++)
        if ((*out)[i]->held && (*out)[i]->recheck) held++, (*out)[i]->recheck((*out)[i]->data);
    if (!held) return found;
    free(*out);
    return registry_list(r, scopes, n, out);
}

bool pipe_resolve(Pipe *p) {
    MEM_UNSET Str scopes[SCOPES_MAX];
    const Call *call = p->f.call;
    size_t n = scopes_of(p->f.run, call, scopes);
    const ToolEntry *e = call->entry && !call->entry->held ? call->entry : find(p->f.runtime->registry, call->name, scopes, n);
    if (!e || !offered(p->f.run, call, e)) return refuse_unknown(p, scopes, n);
    bool active = true;
    MEM_UNSET Error err;
    if (e->def.bundle && !run_bundle_active(p->f.run, call, e->def.bundle, &active, &err))
        return pipe_refuse(p, STEP_RESOLVE, STR("condition"), REPAIR_NEVER, "%s", err.msg);
    if (!active) {
        return pipe_refuse(p, STEP_RESOLVE, STR("condition"), REPAIR_UNKNOWN_TOOL,
                           "tool \"" STR_FMT "\" is unavailable: the condition of bundle \"" STR_FMT "\" is false", STR_ARG(call->name),
                           STR_ARG(e->def.bundle->name));
    }
    p->f.entry = e;
    p->out->name = e->def.name;
    pipe_trace(p, STEP_RESOLVE, STR_FMT " (%s%s" STR_FMT ")", STR_ARG(e->def.name), tool_kind_name(e->def.kind), e->def.origin.file.n ? ", " : "",
               STR_ARG(e->def.origin.file));
    return true;
}

bool tool_allowed_by_plan(const ToolEntry *e) { return e->delegates || safety_only_reads(&e->def, &e->safety); }

bool tool_entry_runs_beside(const ToolEntry *e) { return e->safety.read_only || e->safety.parallel_safe; }

bool tool_runs_beside(Run *r, const Call *call) {
    MEM_UNSET Str scopes[SCOPES_MAX];
    const ToolEntry *e = call->entry ? call->entry : registry_find(r->rt->registry, call->name, scopes, scopes_of(r, call, scopes));
    return e && tool_entry_runs_beside(e);
}

/* True if there is an agent to delegate to. */
static bool has_agents(Run *r) {
    if (r->rt->project->n_agents) return true;
    pthread_mutex_lock(&r->lock);
    bool made = r->defined[DEFINITION_AGENT] > 0;
    pthread_mutex_unlock(&r->lock);
    return made;
}

/* task_* if a task can be or was started, artifact_read if there is an artifact. */
static bool needed(Run *r, const ToolEntry *e, const ToolEntry **all, size_t n) {
    if (e->def.kind == TOOL_DELEGATE && !has_agents(r)) return false;
    if (!e->service) return true;
    if (e->service == SERVICE_ARTIFACTS) return atomic_load(&r->has_artifacts);
    bool any = task_any(r);
    for (size_t i = 0; i < n && !any; i++) any = all[i]->def.async;
    return any;
}

static bool shown(Run *r, const Call *call, const ToolEntry *e) {
    bool active = true;
    Error err;
    return policy_shows(r->rt->policy, &e->def) && run_bundle_active(r, call, e->def.bundle, &active, &err) && active;
}

static size_t list_tools(Run *r, const Call *call, bool hidden_too, const ToolEntry ***out) {
    Str scopes[SCOPES_MAX];
    size_t n = list(r->rt->registry, scopes, scopes_of(r, call, scopes), out), kept = 0;
    for (size_t i = 0; i < n; i++) {
        const ToolEntry *e = (*out)[i];
        if (offered(r, call, e) && (!run_planning(r) || tool_allowed_by_plan(e)) && needed(r, e, *out, n)
            && (hidden_too || shown(r, call, e))) (*out)[kept++] = e;
    }
    return kept;
}

size_t tool_visible(Run *r, const Call *call, const ToolEntry ***out) { return list_tools(r, call, false, out); }
size_t tool_known(Run *r, const Call *call, const ToolEntry ***out) { return list_tools(r, call, true, out); }
