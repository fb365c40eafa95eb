/* The tools delegate, delegate_async, delegate_status, delegate_result, delegate_await, and the script functions for
 * agents. */
#include <stdio.h>
#include <stdlib.h>
#include "agent/delegate.h"
#include "artifact/pattern.h"
#include "base/mem.h"
#include "model/request.h"
#include "tool/kind/kind.h"
#include "tool/task/task.h"

/* ---- the calling agent ---- */

/* A call from outside of any conversation (harness call, an MCP client) has no frame: it gets a temporary session. */
typedef struct Owner { Frame *frame; Session *own; } Owner;

static void owner_end(Owner *o) {
    frame_release(o->frame);
    if (o->own) session_detach(o->own);
}

/* The agent that made the call, however deeply nested in scripts: never one with more rights. */
static bool owner_of(Run *run, const Call *call, Agents *a, Owner *out, Error *err) {
    Session *s = run_user(run);
    SessionConfig config = { 0 };
    *out = (Owner){ 0 };
    if (!s && !session_attach(a, &config, run, &out->own, err)) return false;
    if (!s) s = out->own, s->person = call->person;
    out->frame = frame_find(s, call->owner);
    if (!out->frame) out->frame = frame_stand_in(s, call, err);
    if (!out->frame) owner_end(out);
    return out->frame != NULL;
}

/* ---- tools ---- */

static bool run_delegate(ToolCallFrame *f, Error *err) {
    Owner o;
    if (!owner_of(f->run, f->call, f->entry->data, &o, err)) return false;
    bool ok = delegate_run(o.frame, f->call->lane, f->args, f->call_id, f->cancel, f->heap, &f->value, err);
    owner_end(&o);
    return ok;
}

typedef struct AsyncJob { Owner owner; struct RunLane *lane; Heap *heap; Value request; char *id; } AsyncJob;

static bool async_work(void *ctx, Cancel *cancel, Buf *result, Error *err) {
    AsyncJob *j = ctx;
    Value v;
    Heap *h = heap_new((size_t)256 << 20);
    bool ok = delegate_run(j->owner.frame, j->lane, j->request, str_from(j->id), cancel, h, &v, err) && json_write(result, v, NULL, err);
    heap_free(h);
    return ok;
}

static void async_free(void *ctx) {
    AsyncJob *j = ctx;
    owner_end(&j->owner);
    heap_free(j->heap);
    free(j->id);
    free(j);
}

static bool run_async(ToolCallFrame *f, Error *err) {
    AsyncJob *j = mem_zero(1, sizeof *j);
    *j = (AsyncJob){ .lane = f->call->lane, .heap = heap_new((size_t)16 << 20), .id = str_dup(f->call_id) };
    if (!owner_of(f->run, f->call, f->entry->data, &j->owner, err) || !value_copy_all_into(j->heap, f->args, &j->request, err)) return async_free(j), false;
    if (j->owner.own) j->owner.own->person = f->call->task_person;       /* it outlives the call */
    EventPlace place = { .agent = f->call->agent, .parent = f->call->parent, .depth = f->call->depth };
    Buf id = { 0 };
    bool ok = task_start(f->run, STR("delegate"), place, async_work, async_free, j, &id, err);
    Dict *d = ok ? dict_new(f->heap, 2, err) : NULL;
    ok = d && dict_put_text(f->heap, d, "task_id", buf_str(&id), err) && dict_put_text(f->heap, d, "status", str_from(task_begun(f->run, buf_str(&id))), err);
    if (ok) f->value = value_from_object(d);
    buf_clear(&id);
    return ok;
}

static Str task_of(const ToolCallFrame *f) { return value_member_text(f->args, "task_id"); }
static bool run_status(ToolCallFrame *f, Error *err) { return task_poll(f->run, task_of(f), f->heap, &f->value, err); }

static bool run_result(ToolCallFrame *f, Error *err) {
    if (!task_poll(f->run, task_of(f), f->heap, &f->value, err)) return false;
    Value result = value_member(f->value, "result");
    if (!value_is_gone(result)) f->value = result;
    return true;
}

static bool run_await(ToolCallFrame *f, Error *err) {
    Value ms = value_member(f->args, "timeout_ms");
    return task_await(f->run, task_of(f), value_is_small(ms) ? value_small(ms) : -1, f->cancel, f->heap, &f->value, err);
}

typedef struct Row { const char *name, *description, *schema; ToolExecute *execute; ToolDelegates delegates; } Row;

#define WORK "{\"type\":\"object\",\"properties\":{\"agent\":{\"type\":\"string\"},\"task\":{\"type\":\"string\"}},\"required\":[\"agent\",\"task\"]}"
#define TASK "{\"type\":\"object\",\"properties\":{\"task_id\":{\"type\":\"string\"}},\"required\":[\"task_id\"]}"
#define WAIT "{\"type\":\"object\",\"properties\":{\"task_id\":{\"type\":\"string\"},\"timeout_ms\":{\"type\":\"integer\",\"minimum\":0}},\"required\":[\"task_id\"]}"
static const Row rows[] = {
    { "delegate", "Give a task to another agent and get its result.", WORK, run_delegate, DELEGATES_AND_WAITS },
    { "delegate_async", "Give a task to another agent in the background; returns a task_id.", WORK, run_async, DELEGATES_IN_BACKGROUND },
    { "delegate_status", "Is a delegated task finished?", TASK, run_status, DELEGATES_ASKS },
    { "delegate_result", "The result of a delegated task, if it is finished.", TASK, run_result, DELEGATES_ASKS },
    { "delegate_await", "Wait for a delegated task.", WAIT, run_await, DELEGATES_ASKS },
};

static bool add_row(Agents *a, const Row *row, Error *err) {
    Value schema;
    Schema *compiled;
    if (!json_read(a->heap, str_from(row->schema), NULL, &schema, err)) return false;
    if (!schema_compile(&(SchemaInput){ .root = schema }, &compiled, err)) return false;
    VEC_PUSH(&a->schemas, compiled);
    ToolEntry e = { .def = { .name = str_from(row->name), .title = str_from(row->name), .description = str_from(row->description),
                             .kind = TOOL_DELEGATE, .origin = { .source = SOURCE_BUILTIN }, .parameters = schema, .schema = compiled,
                             .timeout_ms = 0, .output_schema = VALUE_GONE, .safety = VALUE_GONE, .retry = VALUE_GONE, .environment = VALUE_GONE },
                    .execute = row->execute, .delegates = row->delegates, .data = a };
    bool read_only = row->delegates == DELEGATES_ASKS;
    e.safety = (Safety){ .read_only = read_only, .idempotent = read_only, .networked = !read_only, .spends_money = !read_only, .parallel_safe = true };
    return registry_add(runtime_registry(a->rt), &e, err);
}

/* Registered if there are agents to delegate to, or agents may be registered later. */
bool delegate_register(Agents *a, Error *err) {
    if (runtime_project(a->rt)->n_agents == 0 && !runtime_limits(a->rt)->meta.enabled) return true;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!add_row(a, &rows[i], err)) return false;
    heap_freeze_all(a->heap);
    return true;
}

/* ---- scripts ---- */

static bool host_delegate(Host *h, Value request, Heap *heap, Value *out, Error *err) {
    Run *run = runtime_host_run(h);
    const Call *call = runtime_host_call(h);
    Owner o;
    if (!value_is_dict(request)) return error_set(err, ERR_SCRIPT, "delegate: the request must be a dict");
    if (!h->hook && runtime_host_confined(h).n)
        return error_set(err, ERR_POLICY, "an agent cannot be confined to " STR_FMT ", the workspace_root of the call", STR_ARG(runtime_host_confined(h)));
    if (!owner_of(run, call, runtime_user(run_runtime(runtime_host_run(h))), &o, err)) return false;
    bool called = call && call->id.n;        /* by a tool, or a hook around its call; else by a hook of the
                                              * conversation */
    Buf wanted = { 0 };
    buf_add_fmt(&wanted, STR_FMT "_delegate", STR_ARG(called ? call->id : STR("hook")));
    Str id = called ? frame_fresh_id(o.frame->s, buf_str(&wanted), true) : frame_hook_id(o.frame, buf_str(&wanted), value_member_text(request, "agent"));
    buf_clear(&wanted);
    bool ok = delegate_run(o.frame, runtime_host_lane(h), request, id, h->cancel, heap, out, err);
    owner_end(&o);
    return ok;
}

/* Messages of a script: content, or parts. */
static bool given_messages(Value messages, Completion *c, Error *err) {
    Value copy;
    List *agreed, *list;
    if (!value_copy_into(c->heap, messages, &copy, err)) return false;
    if (!parts_agree(c->heap, NULL, value_list(copy), &agreed, err) || !parts_restore(c->heap, NULL, agreed, &list, err)) return error_wrap(err, "complete");
    return c->messages = value_from_object(list), true;
}

/* A prompt, or messages. */
static bool completion_messages(Value request, Completion *c, Error *err) {
    Value prompt = value_member(request, "prompt"), messages = value_member(request, "messages");
    if (value_is_list(messages)) prompt = messages;
    if (value_is_list(prompt)) return given_messages(prompt, c, err);
    if (!value_is_string(prompt)) return error_set(err, ERR_SCRIPT, "complete: expected a prompt or a list of messages");
    Dict *d = dict_new(c->heap, 2, err);
    List *l = list_new(c->heap, 1, err);
    if (!d || !l || !dict_put_text(c->heap, d, "role", str_from(request_role_name(ROLE_USER)), err)
        || !dict_put_text(c->heap, d, "content", value_str(prompt), err)
        || !list_push(c->heap, l, value_from_object(d), err)) return false;
    return c->messages = value_from_object(l), true;
}

static bool complete_in(Frame *f, Value request, Cancel *cancel, Heap *heap, Value *out, Error *err) {
    Completion c = { .heap = heap_new((size_t)256 << 20), .quiet = true, .max_tokens = request_int(request, "max_tokens") };
    Model *model = f->model;
    ModelDef def = f->model_def;
    RunStatus status = RUN_OPEN;
    char reason[600];
    List *none = list_new(c.heap, 0, err);
    Str name = value_member_text(request, "model");
    c.tools = value_from_object(none);
    bool ok = completion_messages(request, &c, err)
           && (name.n == 0 || agent_model_of(f->s->agents, name, STR(""), &f->model_def, &model, &def, err))
           && frame_over_limit(f, cancel, &status, reason, err);
    if (ok && status) ok = error_set(err, ERR_LIMIT, "complete: %s", reason);
    ok = ok && frame_complete(f, model, &def, &c, cancel, err);
    if (ok && c.status) ok = error_set(err, ERR_PROVIDER, "complete: %s", c.reason);
    String *text = ok ? string_new(heap, buf_str(&c.reply.text), err) : NULL;
    if (text) *out = value_from_object(text);
    model_reply_clear(&c.reply);
    heap_free(c.heap);
    return text != NULL;
}

/* False if neither the project nor the command line names a model. */
static bool has_model(const Agents *a, Value request) {
    const Settings *s = &runtime_project(a->rt)->settings;
    return value_member_text(request, "model").n || a->config.model.n || a->config.every || a->config.replay || s->n_models || s->model.n;
}

static bool host_complete(Host *h, Value request, Heap *heap, Value *out, Error *err) {
    Owner o;
    if (runtime_host_person(h)->inquire && !has_model(runtime_user(run_runtime(runtime_host_run(h))), request))
        return runtime_host_sample(h, request, heap, out, err);
    if (!owner_of(runtime_host_run(h), runtime_host_call(h), runtime_user(run_runtime(runtime_host_run(h))), &o, err)) return false;
    bool ok = complete_in(o.frame, request, h->cancel, heap, out, err);
    owner_end(&o);
    return ok;
}

/* ---- agents registered at run time ---- */

static StrList names_of(Session *s, const List *list) {
    StrList out = { .at = ARENA_ARRAY(&s->arena, Str, (list ? list->n : 0) + 1) };
    for (uint32_t i = 0; list && i < list->n; i++)
        if (value_is_string(list->at[i])) out.at[out.n++] = arena_str(&s->arena, value_str(list->at[i]));
    return out;
}

static bool good_name(Str name) {
    for (size_t i = 0; i < name.n; i++)
        if (!(name.at[i] == '_' || name.at[i] == '-' || (name.at[i] >= '0' && name.at[i] <= '9') || (name.at[i] >= 'a' && name.at[i] <= 'z')
              || (name.at[i] >= 'A' && name.at[i] <= 'Z'))) return false;
    return name.n > 0 && name.n <= 64;
}

static bool check_blocked(Str agent, Value definition, Error *err) {
    Value given = value_member(definition, "blocked_tools");
    const List *list = request_list(definition, "blocked_tools");
    if (!list && !value_is_gone(given)) return error_set(err, ERR_SCRIPT, "agent \"" STR_FMT "\": blocked_tools must be a list of names", STR_ARG(agent));
    for (uint32_t i = 0; list && i < list->n; i++) {
        const char *hint, *problem = value_is_string(list->at[i]) ? pattern_problem(PATTERN_TOOL, value_str(list->at[i]), &hint) : "is not a string";
        if (problem) return error_set(err, ERR_SCRIPT, "agent \"" STR_FMT "\": blocked_tools[%u] %s", STR_ARG(agent), i, problem);
    }
    return true;
}

static bool check_agent(Session *s, Value definition, Error *err) {
    Str name = value_member_text(definition, "name");
    if (!good_name(name)) return error_set(err, ERR_SCRIPT, "agent \"" STR_FMT "\": name must match [A-Za-z0-9_-]{1,64}", STR_ARG(name));
    if (frame_find_agent(s, name)) return error_set(err, ERR_SCRIPT, "agent \"" STR_FMT "\" is defined more than once", STR_ARG(name));
    if (!check_blocked(name, definition, err)) return false;
    return value_is_gone(value_member(definition, "mcp")) || request_list(definition, "mcp") ||
           error_set(err, ERR_SCRIPT, "agent \"" STR_FMT "\": mcp must be a list of names", STR_ARG(name));
}

static void add_agent(Session *s, Value definition) {
    Str prompt = value_member_text(definition, "system_prompt");
    if (prompt.n == 0) prompt = value_member_text(definition, "prompt");
    const List *servers = request_list(definition, "mcp");
    AgentDef *a = mem_zero(1, sizeof *a);
    pthread_mutex_lock(&s->lock);
    *a = (AgentDef){ .name = arena_str(&s->arena, value_member_text(definition, "name")),
        .description = arena_str(&s->arena, value_member_text(definition, "description")),
                         .model = arena_str(&s->arena, value_member_text(definition, "model")), .prompt = arena_str(&s->arena, prompt),
                         .tools = names_of(s, request_list(definition, "tools")), .hooks = names_of(s, request_list(definition, "hooks")),
                         .blocked_tools = names_of(s, request_list(definition, "blocked_tools")), .mcp = names_of(s, servers), .has_mcp = servers != NULL,
                         .max_iterations = request_int(definition, "max_iterations") };
    VEC_PUSH(&s->made, a);
    pthread_mutex_unlock(&s->lock);
}

static bool host_register_agent(Host *h, Value definition, Error *err) {
    Session *s = run_user(runtime_host_run(h));
    if (!s) return error_set(err, ERR_SCRIPT, "meta.agent_register: needs a conversation");
    if (runtime_meta_again(h, DEFINITION_AGENT, definition)) return true;
    if (!check_agent(s, definition, err) || !runtime_meta_allowed(h, DEFINITION_AGENT, definition, err)) return false;
    add_agent(s, definition);
    return runtime_meta_made(h, DEFINITION_AGENT, definition, err);
}

bool delegate_restore_agent(Session *s, Value definition, Error *err) {
    if (!check_agent(s, definition, err) || !run_meta_restore(s->run, DEFINITION_AGENT, definition, err)) return false;
    add_agent(s, definition);
    return true;
}

const HostCalls delegate_host_calls = { .delegate = host_delegate, .complete = host_complete, .register_agent = host_register_agent };
