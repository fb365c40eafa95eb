/* delegate: resolve → depth → delegation.pre → the child's loop → delegation.post_verify → delegation.post → a result dict. */
#include "agent/delegate.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "agent/journal.h"
#include "base/clock.h"
#include "base/mem.h"
#include "model/request.h"

enum { VERIFY_RETRIES = 2, HOPS_MAX = 8 };

/* ---- permissions ---- */

static bool invokes(const Frame *f, Str agent) {
    for (const Frame *at = f; at; at = at->up) {             /* a restriction applies to all agents below */
        if (!at->def || !at->def->has_can_invoke) continue;
        bool listed = agent.n == 0 && at->def->can_invoke.n > 0;
        for (size_t i = 0; i < at->def->can_invoke.n; i++) listed |= str_eq(at->def->can_invoke.at[i], agent);
        if (!listed) return false;
    }
    return true;
}

static bool any_agents(const Frame *f) { return runtime_project(f->s->agents->rt)->n_agents > 0 || f->s->made.n > 0; }

bool delegate_allowed(const Frame *f, Str agent, Error *err) {
    int64_t max = runtime_limits(f->s->agents->rt)->delegation.max_depth;
    if (agent.n == 0 && !any_agents(f)) return error_set(err, ERR_POLICY, "no agents are defined");
    if (f->depth + 1 > max) return error_set(err, ERR_LIMIT, "delegation.max_depth of %lld reached", (long long)max);
    if (!invokes(f, agent))
        return error_set(err, ERR_POLICY, "agent \"" STR_FMT "\" may not invoke \"" STR_FMT "\" (canInvokeAgents)", STR_ARG(f->name), STR_ARG(agent));
    return true;
}

static void list_agents(const Frame *f, Buf *out, bool described) {
    const Project *p = runtime_project(f->s->agents->rt);
    Session *s = f->s;
    size_t shown = 0;
    pthread_mutex_lock(&s->lock);
    for (size_t i = 0; i < p->n_agents + s->made.n; i++) {
        const AgentDef *a = i < p->n_agents ? &p->agents[i] : s->made.at[i - p->n_agents];
        if (!invokes(f, a->name)) continue;
        if (described) buf_add_fmt(out, "\n- " STR_FMT, STR_ARG(a->name));
        else buf_add_fmt(out, "%s" STR_FMT, shown ? ", " : "", STR_ARG(a->name));
        if (described && a->description.n) buf_add_fmt(out, ": " STR_FMT, STR_ARG(a->description));
        shown++;
    }
    pthread_mutex_unlock(&s->lock);
}

void delegate_describe(const Frame *f, Buf *out) {
    buf_add(out, STR("Give a task to another agent and get its result. Agents:"));
    list_agents(f, out, true);
}

/* ---- result dicts ---- */

static bool error_result(Heap *h, Str agent, Str message, Value *out, Error *err) {
    Dict *d = dict_new(h, 3, err);
    *out = value_from_object(d);
    return d && dict_put_text(h, d, "agent", agent, err) && dict_put_text(h, d, "status", str_from(run_status_name(RUN_FAILED)), err)
        && dict_put_text(h, d, "error", message, err);
}

static bool usage_dict(Heap *h, const ModelUsage *u, Value *out, Error *err) {
    Dict *d = dict_new(h, 3, err);
    if (!d || !dict_put_str(h, d, STR("input"), value_from_small(u->input), err) || !dict_put_str(h, d, STR("output"), value_from_small(u->output), err)
        || !dict_put_str(h, d, STR("usd"), value_from_float(u->usd), err)) return false;
    return *out = value_from_object(d), true;
}

static bool child_result(Frame *child, const SessionReply *r, Heap *h, Value *out, Error *err) {
    Dict *d = dict_new(h, 7, err);
    List *artifacts = list_new(h, child->artifacts.n, err);
    Value usage;
    if (!d || !artifacts || !usage_dict(h, &child->usage, &usage, err)) return false;
    for (size_t i = 0; i < child->artifacts.n; i++) {
        String *key = string_new(h, child->artifacts.at[i], err);
        if (!key || !list_push(h, artifacts, value_from_object(key), err)) return false;
    }
    bool completed = r->status == RUN_COMPLETED;
    *out = value_from_object(d);
    return dict_put_text(h, d, "agent", child->name, err) && dict_put_text(h, d, "status", str_from(run_status_name(r->status)), err)
        && dict_put_text(h, d, "response", buf_str(&r->text), err)
        && (completed || dict_put_text(h, d, "error", str_from(r->reason[0] ? r->reason : run_status_name(r->status)), err))
        && dict_put_str(h, d, STR("tool_calls"), value_from_small(child->tool_calls), err) && dict_put_str(h, d, STR("usage"), usage, err)
        && dict_put_str(h, d, STR("artifacts"), value_from_object(artifacts), err);
}

/* ---- hooks ---- */

static bool names_list(Heap *h, const Str *names, size_t n, Value *out, Error *err) {
    List *l = list_new(h, n, err);
    for (size_t i = 0; l && i < n; i++) {
        String *s = string_new(h, names[i], err);
        if (!s || !list_push(h, l, value_from_object(s), err)) return false;
    }
    return l && (*out = value_from_object(l), true);
}

static bool pre_payload(const Frame *parent, const Frame *child, Str task, Heap *h, Value *out, Error *err) {
    Dict *d = dict_new(h, 8, err);
    Value tools, hooks;
    if (!d || !names_list(h, child->tools, child->n_tools, &tools, err) || !names_list(h, child->hooks, child->n_hooks, &hooks, err)) return false;
    if (!child->tools) tools = VALUE_NONE;                   /* the child gets every tool of the parent */
    *out = value_from_object(d);
    return dict_put_text(h, d, "id", child->id, err) && dict_put_text(h, d, "parent_id", parent->id.n ? parent->id : run_id(parent->s->run), err)
        && dict_put_text(h, d, "task", task, err) && dict_put_text(h, d, "agent", child->name, err) && dict_put_text(h, d, "model", child->model_def.name, err)
        && dict_put_str(h, d, STR("tools"), tools, err) && dict_put_str(h, d, STR("hooks"), hooks, err)
        && dict_put_str(h, d, STR("depth"), value_from_small(child->depth), err);
}

/* {id, parent_id, agent, response, tool_calls, tool_results, usage} */
static bool post_payload(const Frame *parent, Frame *child, const SessionReply *r, Heap *h, Value *out, Error *err) {
    Dict *d = dict_new(h, 7, err);
    List *calls = list_new(h, 4, err), *results = list_new(h, 4, err);
    Value usage, copy;
    if (!d || !calls || !results || !usage_dict(h, &child->usage, &usage, err)) return false;
    for (uint32_t i = 0; i < child->history.n; i++) {
        Value m = child->history.at[i].value;
        const List *made = request_list(m, "tool_calls");
        for (uint32_t k = 0; made && k < made->n; k++)
            if (!value_copy_all_into(h, made->at[k], &copy, err) || !list_push(h, calls, copy, err)) return false;
        if (child->history.at[i].role == ROLE_TOOL
            && (!value_copy_all_into(h, m, &copy, err) || !list_push(h, results, copy, err))) return false;
    }
    *out = value_from_object(d);
    return dict_put_text(h, d, "id", child->id, err) && dict_put_text(h, d, "parent_id", parent->id.n ? parent->id : run_id(parent->s->run), err)
        && dict_put_text(h, d, "agent", child->name, err) && dict_put_text(h, d, "response", buf_str(&r->text), err)
        && dict_put_str(h, d, STR("tool_calls"), value_from_object(calls), err)
        && dict_put_str(h, d, STR("tool_results"), value_from_object(results), err) && dict_put_str(h, d, STR("usage"), usage, err);
}

/* ---- the child ---- */

typedef struct Job {
    Frame *parent, *child;
    struct RunLane *lane;
    Str agent, task;
    bool verify;
    int64_t retries;
    Heap *heap;
    Cancel *cancel;
    char failure[700];                   /* set: the delegation ends with this error */
    HookOutcome next;                    /* delegation.post requests another agent */
    bool has_next;
} Job;

static bool stop(Job *j, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static bool stop(Job *j, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(j->failure, sizeof j->failure, fmt, ap);
    va_end(ap);
    return true;
}

/* Names from a request's or a hook's list; drops those that the child could not use anyway, so that nothing is
 * widened. */
static void narrow_tools(Frame *child, const List *wanted) {
    Str *list = ARENA_ARRAY(&child->arena, Str, wanted->n + 1);
    size_t n = 0;
    for (uint32_t i = 0; i < wanted->n; i++) {
        if (!value_is_string(wanted->at[i])) continue;
        Str name = value_str(wanted->at[i]);
        if (!child->tools || str_among(name, child->tools, child->n_tools)) list[n++] = arena_str(&child->arena, name);
    }
    child->tools = list;
    child->n_tools = n;
}

static void add_hooks(Frame *child, const List *names) {
    Str *list = ARENA_ARRAY(&child->arena, Str, child->n_hooks + names->n + 1);
    size_t n = 0;
    for (; n < child->n_hooks; n++) list[n] = child->hooks[n];
    for (uint32_t i = 0; i < names->n; i++)
        if (value_is_string(names->at[i]) && !str_among(value_str(names->at[i]), list, n)) list[n++] = arena_str(&child->arena, value_str(names->at[i]));
    child->hooks = list;
    child->n_hooks = n;
}

/* Adds the hooks that the agent's definition lists. Its inline hooks need no entry: they are matched by the agent's name. */
static void own_hooks(Frame *child) {
    const AgentDef *def = child->def;
    Str *list = ARENA_ARRAY(&child->arena, Str, child->n_hooks + def->hooks.n + 1);
    size_t n = 0;
    for (; n < child->n_hooks; n++) list[n] = child->hooks[n];
    for (size_t i = 0; i < def->hooks.n; i++)
        if (!str_among(def->hooks.at[i], list, n)) list[n++] = def->hooks.at[i];
    child->hooks = list;
    child->n_hooks = n;
}

Frame *delegate_frame(Frame *parent, const AgentDef *def, Str id) {
    Frame *child = frame_new(parent->s, parent, def, id);
    own_hooks(child);
    return child;
}

static bool open_model(Job *j, Value request, Error *why) {
    Frame *child = j->child, *parent = j->parent;
    Str name = value_member_text(request, "model").n ? value_member_text(request, "model") : child->def->model;
    return agent_model_of(parent->s->agents, name, child->def->provider, &parent->model_def, &child->model, &child->model_def, why);
}

/* The parent continues: only its delegation ends here. */
static bool emit_depth_reached(Frame *parent, Error *err) {
    RunStatus status;
    char reason[600];
    return frame_limit_reached(parent, "delegation.max_depth", runtime_limits(parent->s->agents->rt)->delegation.max_depth, &status, reason, err);
}

static bool prepare(Job *j, Value request, Str id, Error *err) {
    Error why = { 0 };
    Frame *parent = j->parent;
    const AgentDef *def = frame_find_agent(parent->s, j->agent);
    if (!def) {
        Buf names = { 0 };
        list_agents(parent, &names, false);
        stop(j, "unknown agent \"" STR_FMT "\"; agents: " STR_FMT, STR_ARG(j->agent), STR_ARG(buf_str(&names)));
        buf_clear(&names);
        return true;
    }
    if (j->task.n == 0) return stop(j, "a delegation needs a task");
    if (!delegate_allowed(parent, j->agent, &why)) {
        stop(j, "%s", why.msg);
        return why.kind != ERR_LIMIT || emit_depth_reached(parent, err);
    }
    j->child = delegate_frame(parent, def, id);
    j->child->lane = j->lane;
    if (request_list(request, "tools")) narrow_tools(j->child, request_list(request, "tools"));
    if (request_list(request, "hooks")) add_hooks(j->child, request_list(request, "hooks"));
    Value verify = value_member(request, "verify"), retries = value_member(request, "max_verify_retries");
    j->verify = def->verify || (value_is_bool(verify) && value_bool(verify));
    j->retries = value_is_small(retries) ? value_small(retries) : VERIFY_RETRIES;
    if (!open_model(j, request, &why)) return stop(j, "%s", why.msg);
    return true;
}

static bool ask_pre(Job *j, Error *err) {
    Value payload;
    HookOutcome o;
    if (!frame_hooked(j->parent, HOOK_DELEGATION_PRE)) return true;
    if (!pre_payload(j->parent, j->child, j->task, j->heap, &payload, err)) return false;
    frame_ask(j->parent, HOOK_DELEGATION_PRE, j->heap, payload, j->cancel, &o);
    char said[HOOK_SAID_MAX];
    if (o.decision != HOOK_ALLOW) return stop(j, "%s", hook_outcome_say(&o, "blocked", said));
    if (!o.modified) return true;
    j->task = value_member_text(o.payload, "task");
    if (request_list(o.payload, "tools")) narrow_tools(j->child, request_list(o.payload, "tools"));
    return true;
}

static bool emit_started(Job *j, Error *err) {
    Buf data = { 0 };
    event_data_start(&data);
    event_data_str(&data, "id", j->child->id);
    event_data_str(&data, "agent", j->agent);
    event_data_str(&data, "task", j->task);
    event_data_str(&data, "model", j->child->model_def.name);
    event_data_int(&data, "depth", j->child->depth);
    event_data_end(&data);
    bool ok = frame_event(j->parent, EVENT_DELEGATION_STARTED, &data, err);
    buf_clear(&data);
    return ok;
}

static bool emit_ended(Job *j, Str id, const SessionReply *r, int64_t elapsed_ns, Error *err) {
    Buf data = { 0 };
    event_data_start(&data);
    event_data_str(&data, "id", id);
    event_data_str(&data, "agent", j->agent);
    if (j->failure[0]) {
        event_data_str(&data, "error", str_from(j->failure));
    } else {
        event_data_str(&data, "status", str_from(run_status_name(r->status)));
        event_data_int(&data, "input_tokens", j->child->usage.input);
        event_data_int(&data, "output_tokens", j->child->usage.output);
    }
    event_data_ms(&data, "elapsed_ms", elapsed_ns);
    event_data_end(&data);
    bool ok = frame_event(j->parent, j->failure[0] ? EVENT_DELEGATION_FAILED : EVENT_DELEGATION_COMPLETED, &data, err);
    buf_clear(&data);
    return ok;
}

/* Continues a child that an earlier process had started. */
static bool run_child(Job *j, SessionReply *r, Error *err) {
    bool unfinished, begun;
    Value pending;
    if (!journal_rebuild(j->child, &unfinished, &pending, err)) return false;
    begun = j->child->history.n > 0;
    if (!begun) return frame_answer(j->child, j->task, j->cancel, r, err);
    return frame_go_on(j->child, unfinished, pending, j->cancel, r, err);
}

static bool verified(Job *j, SessionReply *r, bool *fine, Error *err) {
    Value payload;
    HookOutcome o;
    *fine = true;
    if (!j->verify || r->status != RUN_COMPLETED || !frame_hooked(j->parent, HOOK_DELEGATION_POST_VERIFY)) return true;
    if (!post_payload(j->parent, j->child, r, j->heap, &payload, err)) return false;
    frame_ask(j->parent, HOOK_DELEGATION_POST_VERIFY, j->heap, payload, j->cancel, &o);
    if (o.decision == HOOK_ALLOW) return true;
    *fine = false;
    if (j->retries-- > 0) {
        buf_reset(&r->text);
        r->status = RUN_OPEN;
        return frame_answer(j->child, str_from(o.reason), j->cancel, r, err);
    }
    return stop(j, "verification failed: %s", o.reason);
}

static bool ask_post(Job *j, SessionReply *r, Error *err) {
    Value payload;
    HookOutcome o;
    if (!frame_hooked(j->parent, HOOK_DELEGATION_POST)) return true;
    if (!post_payload(j->parent, j->child, r, j->heap, &payload, err)) return false;
    frame_ask(j->parent, HOOK_DELEGATION_POST, j->heap, payload, j->cancel, &o);
    if (o.decision == HOOK_BLOCK && o.hook.n == 0) return stop(j, "result withheld, because the delegation.post hooks could not see it: %s", o.reason);
    if (o.decision == HOOK_BLOCK) return stop(j, "result withheld by hook " STR_FMT ": %s", STR_ARG(o.hook), o.reason);
    if (o.decision == HOOK_DELEGATE) {
        j->next = o;
        j->has_next = true;
    } else if (o.modified) {
        Str response = value_member_text(o.payload, "response");
        buf_reset(&r->text);
        buf_add(&r->text, response);
    }
    return true;
}

static bool work(Job *j, SessionReply *r, Error *err) {
    if (!ask_pre(j, err)) return false;
    if (j->failure[0]) return true;
    if (!emit_started(j, err) || !run_child(j, r, err)) return false;
    for (bool fine = false; !fine && !j->failure[0];)
        if (!verified(j, r, &fine, err)) return false;
    return j->failure[0] ? true : ask_post(j, r, err);
}

/* Acquires one of the slots for concurrent children. */
static bool take_place(Job *j) {
    Error why = { 0 };
    for (;;) {
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += 50000000;
        if (until.tv_nsec >= 1000000000) until.tv_nsec -= 1000000000, until.tv_sec++;
        if (sem_clockwait(&j->parent->children, CLOCK_MONOTONIC, &until) == 0) return true;
        if (!cancel_check(j->cancel, &why)) return stop(j, "%s", why.msg), false;
    }
}

static bool once(Frame *parent, struct RunLane *lane, Value request, Str id, Cancel *cancel, Heap *heap, Value *out, HookOutcome *next, bool *has_next,
                 Error *err) {
    int64_t timeout = runtime_limits(parent->s->agents->rt)->delegation.timeout_ms, start = clock_mono_ns();
    Job j = { .parent = parent, .lane = lane, .heap = heap, .agent = value_member_text(request, "agent"), .task = value_member_text(request, "task"),
              .cancel = cancel_new_pausable(cancel, timeout * 1000000) };
    SessionReply r = { 0 };
    bool ok = prepare(&j, request, id, err);
    if (ok && !j.failure[0] && take_place(&j)) {
        ok = work(&j, &r, err);
        sem_post(&parent->children);
    }
    ok = ok && emit_ended(&j, id, &r, clock_mono_ns() - start, err);
    ok = ok && (j.failure[0] ? error_result(heap, j.agent, str_from(j.failure), out, err) : child_result(j.child, &r, heap, out, err));
    if (ok && j.has_next) *next = j.next, *has_next = true;
    session_reply_clear(&r);
    frame_release(j.child);
    cancel_free(j.cancel);
    return ok;
}

/* True if the same agent already had the same task. */
static bool circles(const Value *done, int n, Value request) {
    for (int i = 0; i < n; i++)
        if (str_eq(value_member_text(done[i], "agent"), value_member_text(request, "agent"))
            && str_eq(value_member_text(done[i], "task"), value_member_text(request, "task"))) return true;
    return false;
}

bool delegate_run(Frame *parent, struct RunLane *lane, Value request, Str id, Cancel *cancel, Heap *heap, Value *out, Error *err) {
    Value done[HOPS_MAX];
    for (int n = 0;; n++) {
        HookOutcome next;
        bool has_next = false;
        if (n == HOPS_MAX || circles(done, n, request))
            return error_result(heap, value_member_text(request, "agent"), STR("a delegation.post hook delegates in a circle"), out, err);
        done[n] = request;
        Buf own = { 0 };
        buf_add(&own, id);
        if (n) buf_add_fmt(&own, "_next_%d", n);         /* the same id when resumed */
        bool ok = once(parent, lane, request, buf_str(&own), cancel, heap, out, &next, &has_next, err);
        buf_clear(&own);
        if (!ok) return false;
        if (!has_next) return true;
        request = next.request;
    }
}
