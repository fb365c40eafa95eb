/* meta.*: scripts that inspect, call and create tools. Disabled unless meta.enabled; limited; checked by hooks. A
 * created tool obeys all policy like any other. */
#include <stdio.h>
#include "artifact/builtin_names.h"
#include "tool/pipeline/pipe.h"
#include "value/json.h"
#include "value/list.h"

static bool enabled(const Pipe *p, Error *err) {
    return p->f.runtime->limits.meta.enabled || error_set(err, ERR_POLICY, "meta is disabled (meta.enabled)");
}

/* ---- calling ---- */

bool runtime_meta_call(Host *h, Str name, Value args, int64_t timeout_ms, Heap *heap, Value *out, Error *err) {
    Pipe *p = h->call;
    const Call *outer = p->f.call;
    Buf text = { 0 };
    if (!enabled(p, err)) return false;
    Call call = *outer;
    call.ended = NULL;
    call.task_ended = NULL;
    call.by_user = false;
    call.id = call.key = call.scope = (Str){ 0 };
    call.name = name;
    call.entry = NULL;
    call.parent = p->f.call_id;
    call.nesting = outer->nesting + 1;
    call.nested = call.wait = true;
    call.once = &p->once;
    call.lane = runtime_host_lane(h);
    call.timeout_ms = timeout_ms;
    call.root = p->root;
    Result r = { 0 };
    bool none = value_is_gone(args) || value_is_none(args), ok = none || json_write(&text, args, &(JsonWrite){ 0 }, err);
    if (none) buf_add(&text, STR("{}"));
    call.arguments = buf_str(&text);
    call.args = VALUE_GONE;
    if (ok) ok = tool_call(p->f.run, &call, h->cancel, &r, err) && value_copy_all_into(heap, r.value, out, err);
    p->waited_ns += r.waited_ns;
    result_clear(&r);
    buf_clear(&text);
    return ok;
}

static bool add_tool(Heap *heap, List *list, const ToolEntry *e, Error *err) {
    Dict *d = dict_new(heap, 4, err);
    String *name = d ? string_new(heap, e->def.name, err) : NULL, *text = name ? string_new(heap, e->def.description, err) : NULL;
    Value parameters = VALUE_NONE;
    return text && (value_is_gone(e->def.parameters) || value_copy_all_into(heap, e->def.parameters, &parameters, err)) &&
           dict_put_str(heap, d, STR("name"), value_from_object(name), err) && dict_put_str(heap, d, STR("description"), value_from_object(text), err) &&
           dict_put_str(heap, d, STR("parameters"), parameters, err) && list_push(heap, list, value_from_object(d), err);
}

bool runtime_meta_list(Host *h, Str pattern, Heap *heap, Value *out, Error *err) {
    Pipe *p = h->call;
    const ToolEntry **all;
    if (!enabled(p, err)) return false;
    size_t n = tool_visible(p->f.run, p->f.call, &all);
    List *list = list_new(heap, n, err);
    bool ok = list != NULL;
    for (size_t i = 0; ok && i < n; i++)
        if (pattern.n == 0 || policy_name_matches(pattern, all[i]->def.name)) ok = add_tool(heap, list, all[i], err);
    free(all);
    if (ok) *out = value_from_object(list);
    return ok;
}

/* ---- registering ---- */

static Str name_in(Value definition) {
    Value *v = value_is_dict(definition) ? dict_find_str(value_dict(definition), STR("name")) : NULL;
    return v && value_is_string(*v) ? value_str(*v) : (Str){ 0 };
}

/* {kind, name, definition} for the hooks of meta.*, which may block. */
static bool ask_hooks(Pipe *p, DefinitionKind kind, Value definition, Error *err) {
    Str event = str_from(project_definition(kind)->event);
    if (!hook_list_any(run_hooks(p->f.run), HOOK_META, event)) return true;
    Heap *h = heap_new(0);
    HookOutcome out = { .decision = HOOK_BLOCK };
    Value copy;
    Dict *d = dict_new(h, 3, err);
    String *k = string_new(h, str_from(project_definition(kind)->kind), err), *name = string_new(h, name_in(definition), err);
    bool ok = d && k && name && value_copy_all_into(h, definition, &copy, err) && dict_put_str(h, d, STR("kind"), value_from_object(k), err) &&
              dict_put_str(h, d, STR("name"), value_from_object(name), err) && dict_put_str(h, d, STR("definition"), copy, err);
    if (ok) pipe_dispatch(p, HOOK_META, event, value_from_object(d), &out);
    heap_free(h);
    if (!ok || out.decision == HOOK_ALLOW) return ok;
    char said[HOOK_SAID_MAX];
    return error_set(err, ERR_POLICY, STR_FMT " %s", STR_ARG(event), hook_outcome_say(&out, "blocked", said));
}

/* Writes the event from which another process of the run restores the definition. It is the last step; an
 * incomplete definition is marked in it. */
static bool emit_made(Pipe *p, DefinitionKind kind, Value definition, Error *err) {
    if (!pipe_listened(p)) return true;
    Buf data = { 0 };
    event_data_start(&data);
    event_data_str(&data, "kind", str_from(project_definition(kind)->kind));
    event_data_str(&data, "name", name_in(definition));
    event_data_value(&data, "definition", definition);
    if (redact_would(p->f.runtime->redactor, buf_str(&data))) event_data_bool(&data, "redacted", true);
    event_data_end(&data);
    bool ok = event_emit_custom(p->f.run->events, pipe_place(p), str_from(project_definition(kind)->event), buf_str(&data), err);
    buf_clear(&data);
    return ok;
}

/* Reserves (1) or returns (-1) one of the run's slots for this kind. */
static bool take_place(Run *r, DefinitionKind kind, int step, Error *err) {
    const Limits *l = &r->rt->limits;
    const int64_t limits[] = { [DEFINITION_TOOL] = l->meta.max_tools, [DEFINITION_HOOK] = l->meta.max_hooks, [DEFINITION_AGENT] = l->meta.max_agents };
    int64_t max = limits[kind];
    pthread_mutex_lock(&r->lock);
    bool ok = step < 0 || r->defined[kind] < max;
    if (ok) r->defined[kind] += step;
    pthread_mutex_unlock(&r->lock);
    return ok || error_set(err, ERR_LIMIT, "meta.max_%s of %lld is reached", project_definition(kind)->list, (long long)max);
}

static bool allowed(Pipe *p, DefinitionKind kind, Value definition, Error *err) {
    if (p->root) return error_set(err, ERR_POLICY, "a call confined to a workspace_root cannot register anything: it would outlive the call");
    return enabled(p, err) && take_place(p->f.run, kind, 1, err) && (ask_hooks(p, kind, definition, err) || (take_place(p->f.run, kind, -1, err), false));
}

bool runtime_meta_allowed(Host *h, DefinitionKind kind, Value definition, Error *err) {
    if (!allowed(h->call, kind, definition, err)) return false;
    return cancel_check(h->cancel, err) || (take_place(((Pipe *)h->call)->f.run, kind, -1, NULL), false);   /* hooks may have used up the time */
}

bool runtime_meta_made(Host *h, DefinitionKind kind, Value definition, Error *err) {
    return emit_made(h->call, kind, definition, err);
}

Project *runtime_define(Runtime *rt, DefinitionKind kind, Str definition, Error *err) {
    Project *made = NULL;
    Problems problems = { 0 };
    ProjectInput in = { .predeclared = rt->tool_modules, .hook_predeclared = rt->hook_modules, .universe = rt->project->universe,
                        .within = rt->project };
    if (!project_define(&in, kind, definition, &made, &problems)) {
        size_t i = 0;
        while (i < problems.n && problems.at[i].severity != PROBLEM_ERROR) i++;
        error_set(err, ERR_CONFIG, STR_FMT, STR_ARG(i < problems.n ? problems.at[i].message : STR("the definition is not valid")));
    }
    problems_clear(&problems);
    return made;
}

static Project *define(Pipe *p, DefinitionKind kind, Value definition, Error *err) {
    Buf text = { 0 };
    Project *made = json_write(&text, definition, &(JsonWrite){ 0 }, err) ? runtime_define(p->f.runtime, kind, buf_str(&text), err) : NULL;
    buf_clear(&text);
    return made;
}

static void keep(Run *r, Project *made) {
    pthread_mutex_lock(&r->lock);
    VEC_PUSH(&r->made, made);
    pthread_mutex_unlock(&r->lock);
}

/* A tool made by a script cannot ask for secrets, and only its own run sees it. */
static bool register_tool(Pipe *p, Project *made, Error *err) {
    Run *r = p->f.run;
    ToolDef *def = &made->tools[0];
    ToolEntry e = { .def = *def, .execute = def->script ? kind_starlark : kind_missing, .scope = r->id };
    const StrList *listed = &p->f.runtime->project->settings.builtin_tools;
    if (builtin_names_taken(def->name, listed->at, listed->n)) return error_set(err, ERR_CONFIG, "tool \"" STR_FMT "\" is built in", STR_ARG(def->name));
    if (!project_names_free(p->f.runtime->project, def, err)) return false;
    if (def->injected.n) return error_set(err, ERR_POLICY, "a tool that a script registers gets no injected values");
    if (!safety_of(def, &made->arena, &e.safety, NULL)) return error_set(err, ERR_CONFIG, "safety declares less than the script does");
    return registry_add(p->f.runtime->registry, &e, err);
}

static bool make_tool(Pipe *p, Value definition, Error *err) {
    Project *made = define(p, DEFINITION_TOOL, definition, err);
    bool ok = made && made->n_tools == 1 && register_tool(p, made, err);
    if (ok) keep(p->f.run, made);
    else project_free(made), take_place(p->f.run, DEFINITION_TOOL, -1, err);
    return ok;
}

bool runtime_meta_tool(Host *h, Value definition, Error *err) {
    if (runtime_meta_again(h, DEFINITION_TOOL, definition)) return true;
    return runtime_meta_allowed(h, DEFINITION_TOOL, definition, err) && make_tool(h->call, definition, err)
        && runtime_meta_made(h, DEFINITION_TOOL, definition, err);
}

/* A run that registers hooks gets its own list, invisible to other runs. */
static bool register_hook(Run *r, HookDef *def, Error *err) {
    pthread_mutex_lock(&r->lock);
    Hooks *own = atomic_load(&r->own_hooks), *list = own ? own : hook_list_new(r->rt->project, r->rt->workers, r->rt->hook_stats);
    bool ok = hook_list_add(list, def, err);
    if (ok && !own) atomic_store_explicit(&r->own_hooks, list, memory_order_release);
    if (!ok && !own) hook_list_free(list);
    pthread_mutex_unlock(&r->lock);
    return ok;
}

static bool make_hook(Pipe *p, Value definition, Error *err) {
    Project *made = define(p, DEFINITION_HOOK, definition, err);
    bool ok = made && made->n_hooks == 1;
    if (ok && made->hooks[0].allow_on_error) ok = error_set(err, ERR_POLICY, "a hook that a script registers fails closed");
    ok = ok && register_hook(p->f.run, &made->hooks[0], err);
    if (ok) keep(p->f.run, made);
    else project_free(made), take_place(p->f.run, DEFINITION_HOOK, -1, err);
    return ok;
}

bool runtime_meta_hook(Host *h, Value definition, Error *err) {
    if (runtime_meta_again(h, DEFINITION_HOOK, definition)) return true;
    return runtime_meta_allowed(h, DEFINITION_HOOK, definition, err) && make_hook(h->call, definition, err)
        && runtime_meta_made(h, DEFINITION_HOOK, definition, err);
}

/* ---- restoring definitions of an earlier process of the run ---- */

static Str print_of(Run *r, DefinitionKind kind, Value definition) {
    Buf text = { 0 };
    Error err;
    buf_add_fmt(&text, "%s ", project_definition(kind)->kind);
    Str out = json_write(&text, definition, &(JsonWrite){ 0 }, &err) ? arena_str(&r->arena, buf_str(&text)) : (Str){ 0 };
    buf_clear(&text);
    return out;
}

bool run_meta_restore(Run *r, DefinitionKind kind, Value definition, Error *err) {
    Call who = { 0 };
    Result none;
    Pipe *p = pipe_take(r, &who, NULL, &none);
    bool ok = allowed(p, kind, definition, err);
    if (ok && kind == DEFINITION_TOOL) ok = make_tool(p, definition, err);
    if (ok && kind == DEFINITION_HOOK) ok = make_hook(p, definition, err);
    if (p->broken) ok = (*err = p->kept.err, false);
    pipe_give(p);
    pthread_mutex_lock(&r->lock);
    if (ok) VEC_PUSH(&r->restored, print_of(r, kind, definition));
    pthread_mutex_unlock(&r->lock);
    return ok;
}

bool runtime_meta_again(Host *h, DefinitionKind kind, Value definition) {
    Run *r = ((Pipe *)h->call)->f.run;
    bool found = false;
    pthread_mutex_lock(&r->lock);
    if (r->restored.n) {
        Str print = print_of(r, kind, definition);
        for (size_t i = 0; i < r->restored.n && !found; i++)
            if ((found = str_eq(r->restored.at[i], print))) r->restored.at[i] = (Str){ 0 };
    }
    pthread_mutex_unlock(&r->lock);
    return found;
}
