#include "tool/task/task.h"
#include <stdio.h>
#include <stdlib.h>
#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"
#include "tool/pipeline/pipe.h"
#include "value/json.h"

typedef enum { TASK_QUEUED, TASK_RUNNING, TASK_DONE, TASK_FAILED, TASK_CANCELLED } TaskStatus;
static const char *const status_names[] = {
    [TASK_QUEUED] = "queued", [TASK_RUNNING] = "running", [TASK_DONE] = "done", [TASK_FAILED] = "failed", [TASK_CANCELLED] = "cancelled",
};
bool task_status_running(Str status) {
    return str_eq(status, str_from(status_names[TASK_RUNNING])) || str_eq(status, str_from(status_names[TASK_QUEUED]));
}

struct Task {
    Run *run;
    Arena arena;                         /* holds its strings */
    Str id, tool;
    EventPlace place;
    Cancel *cancel;
    TaskStatus status;                   /* guarded by the list's lock, like everything below */
    bool announced;
    bool queued;                         /* at its start, limits.max_tasks others were running or queued */
    bool stopped;                        /* cancelled because the run ends */
    Buf value;                           /* JSON, once it has ended */
    int64_t started_ns;
    /* A tool's call: */
    Call call;
    const ToolEntry *entry;
    bool args_changed;
    /* Or work of a higher room: */
    TaskWork *work;
    void (*free)(void *ctx);
    void *ctx;
};

/* Ended tasks are kept until the run ends: their results may be queried. */
struct Tasks {
    pthread_mutex_t lock;
    pthread_cond_t ended;
    Scheduler *scheduler;
    Table ids;
    VEC(Task *) all;
    size_t told;                         /* index in `all`: earlier tasks were announced */
    int64_t starting;                    /* announced, and not in `all` yet */
    bool closing;                        /* the run ends: start no more tasks */
};

static Tasks *list_of(Run *r) {
    pthread_mutex_lock(&r->lock);
    if (!r->tasks) {
        r->tasks = mem_zero(1, sizeof *r->tasks);
        pthread_mutex_init(&r->tasks->lock, NULL);
        thread_cond_init(&r->tasks->ended);
        r->tasks->scheduler = scheduler_new((size_t)(r->rt->limits.max_tasks > 0 ? r->rt->limits.max_tasks : 1));
    }
    Tasks *t = r->tasks;
    pthread_mutex_unlock(&r->lock);
    return t;
}

bool task_any(Run *r) {
    pthread_mutex_lock(&r->lock);
    bool any = r->tasks != NULL;
    pthread_mutex_unlock(&r->lock);
    return any;
}

/* ---- running ---- */

static bool set_status(Task *t, TaskStatus status) {
    Tasks *list = t->run->tasks;
    pthread_mutex_lock(&list->lock);
    bool ok = t->status <= TASK_RUNNING;                  /* only the first end counts */
    if (ok) t->status = status;
    if (status > TASK_RUNNING) pthread_cond_broadcast(&list->ended);
    pthread_mutex_unlock(&list->lock);
    return ok;
}

/* Logs a failure to write: there is no caller to report it to. */
static void complain(const Task *t, const Error *err) {
    LOG_WRITE(t->run->rt->config.log, LOG_ERROR, "task " STR_FMT ": %s", STR_ARG(t->id), err->msg);
}

static void emit_end(Task *t, TaskStatus status) {
    if (!event_stream_listened(t->run->events)) return;
    Buf data = { 0 };
    Error err = { 0 };
    event_data_start(&data);
    event_data_str(&data, "task_id", t->id);
    event_data_str(&data, "name", t->tool);
    if (status != TASK_CANCELLED) {
        event_data_bool(&data, "is_error", status == TASK_FAILED);
        event_data_ms(&data, "elapsed_ms", clock_mono_ns() - t->started_ns);
    }
    event_data_end(&data);
    if (!event_emit(t->run->events, t->place, status == TASK_CANCELLED ? EVENT_TASK_CANCELLED : EVENT_TASK_COMPLETED, buf_str(&data), &err)) complain(t, &err);
    buf_clear(&data);
}

static void end_task(Task *t, TaskStatus status, Buf *value, Str result) {
    Error err = { 0 };
    Tasks *list = t->run->tasks;
    if (t->run->store && !store_task_put(t->run->store, t->run->id, t->id, t->tool, str_from(status_names[status]), result, &err)) complain(t, &err);
    emit_end(t, status);
    pthread_mutex_lock(&list->lock);
    t->value = *value;
    pthread_mutex_unlock(&list->lock);
    *value = (Buf){ 0 };
    set_status(t, status);
}

/* Runs the rest of the pipeline on this thread. */
static void work_call(Task *t) {
    Result r;
    Buf value = { 0 }, all = { 0 };
    Pipe *p = pipe_take(t->run, &t->call, t->cancel, &r);
    pipe_resume(p, t->entry, t->args_changed);
    bool ok = !p->broken && pipe_finish(p);
    TaskStatus status = TASK_FAILED;
    if (ok) {
        result_write_value(&value, &r);
        result_write_json(&all, &r);
        status = cancel_fired(t->cancel) ? TASK_CANCELLED : r.is_error ? TASK_FAILED : TASK_DONE;
    } else {
        complain(t, &p->kept.err);
        buf_add(&value, STR("{\"error\":"));
        json_write_string(&value, str_from(p->kept.err.msg), false);
        buf_add_char(&value, '}');
    }
    if (t->call.task_ended) t->call.task_ended(t->call.task_ctx, ok ? &r : NULL, ok ? STR("") : str_from(p->kept.err.msg));
    result_clear(&r);
    end_task(t, status, &value, buf_str(&all));
    buf_clear(&all);
}

static void work_below(Task *t) {
    Buf value = { 0 }, copy = { 0 };
    Error err = { 0 };
    bool ok = t->work(t->ctx, t->cancel, &value, &err);
    if (!ok) {
        buf_reset(&value);
        buf_add(&value, STR("{\"error\":"));
        json_write_string(&value, str_from(err.msg), false);
        buf_add_char(&value, '}');
    }
    redact_json(t->run->rt->redactor, &value);
    buf_add(&copy, buf_str(&value));
    end_task(t, cancel_fired(t->cancel) ? TASK_CANCELLED : ok ? TASK_DONE : TASK_FAILED, &value, buf_str(&copy));
    buf_clear(&copy);
}

static void run_task(void *arg) {
    Task *t = arg;
    t->started_ns = clock_mono_ns();
    if (cancel_fired(t->cancel) || !set_status(t, TASK_RUNNING)) {
        Buf none = { 0 };
        if (t->call.task_ended) t->call.task_ended(t->call.task_ctx, NULL, (Str){ 0 });
        end_task(t, TASK_CANCELLED, &none, (Str){ 0 });
        if (t->free) t->free(t->ctx);
        t->free = NULL;
        return;
    }
    Error err = { 0 };
    if (t->queued && t->run->store && !store_task_put(t->run->store, t->run->id, t->id, t->tool, STR("running"), (Str){ 0 }, &err)) complain(t, &err);
    if (t->work) {
        work_below(t);
    } else {
        work_call(t);
    }
    if (t->free) t->free(t->ctx);
    t->free = NULL;
}

/* ---- starting ---- */

static Task *task_new(Run *r, Str tool, EventPlace place) {
    Task *t = mem_zero(1, sizeof *t);
    t->run = r;
    t->id = str_from(arena_fmt(&t->arena, "task_%.8s_%llu", r->prefix, (unsigned long long)atomic_fetch_add(&r->calls_made, 1) + 1));
    t->tool = arena_str(&t->arena, tool);
    t->place = (EventPlace){ arena_str(&t->arena, place.agent), arena_str(&t->arena, place.parent), place.depth };
    t->cancel = cancel_new(r->cancel, 0);
    return t;
}

static void task_free(Task *t) {
    if (t->free) t->free(t->ctx);
    cancel_free(t->cancel);
    buf_clear(&t->value);
    arena_clear(&t->arena);
    free(t);
}

static const char *begun(const Task *t) { return status_names[t->queued ? TASK_QUEUED : TASK_RUNNING]; }

/* The caller holds the list's lock. */
static bool is_full(const Tasks *list, int64_t max) {
    int64_t busy = list->starting;
    for (size_t i = 0; i < list->all.n; i++) busy += list->all.at[i]->status <= TASK_RUNNING;
    return busy >= max;
}

static bool announce_start(Task *t, Error *err) {
    Run *r = t->run;
    if (r->store && !store_task_put(r->store, r->id, t->id, t->tool, str_from(begun(t)), (Str){ 0 }, err)) return false;
    if (!event_stream_listened(r->events)) return true;
    Buf data = { 0 };
    event_data_start(&data);
    event_data_str(&data, "task_id", t->id);
    event_data_str(&data, "name", t->tool);
    event_data_end(&data);
    bool ok = event_emit(r->events, t->place, EVENT_TASK_STARTED, buf_str(&data), err);
    buf_clear(&data);
    return ok;
}

static bool start(Task *t, Error *err) {
    Tasks *list = list_of(t->run);
    if (t->run->rt->limits.max_tasks == 0) return error_set(err, ERR_LIMIT, "limits.max_tasks of 0 is reached");
    pthread_mutex_lock(&list->lock);
    t->queued = is_full(list, t->run->rt->limits.max_tasks);
    list->starting++;
    pthread_mutex_unlock(&list->lock);
    bool told = announce_start(t, err);
    pthread_mutex_lock(&list->lock);
    list->starting--;
    if (!told) return pthread_mutex_unlock(&list->lock), false;
    if (list->closing) return pthread_mutex_unlock(&list->lock), error_set(err, ERR_CANCELLED, "the run has ended");
    VEC_PUSH(&list->all, t);
    table_put(&list->ids, t->id, t);
    bool ok = scheduler_add(list->scheduler, NULL, run_task, t, err);
    if (!ok) t->status = TASK_FAILED;                     /* the task is in the list and is freed with it */
    pthread_mutex_unlock(&list->lock);
    return ok;
}

static Str *copy_names(Arena *a, const Str *list, size_t n) {
    Str *out = ARENA_ARRAY(a, Str, n + 1);
    for (size_t i = 0; i < n; i++) out[i] = arena_str(a, list[i]);
    return list ? out : NULL;
}

static void copy_call(Task *t, const Pipe *p, Str arguments) {
    const Call *c = p->f.call;
    Arena *a = &t->arena;
    t->call = *c;
    t->call.id = arena_str(a, p->f.call_id);
    t->call.name = arena_str(a, p->f.entry->def.name);
    t->call.arguments = arena_str(a, arguments);
    t->call.args = VALUE_GONE;
    t->call.entry = NULL;
    t->call.scope = arena_str(a, c->scope);
    t->call.agent = arena_str(a, c->agent);
    t->call.parent = arena_str(a, c->parent);
    t->call.owner = arena_str(a, c->owner);
    t->call.agents = copy_names(a, c->agents, c->n_agents);
    t->call.tools = copy_names(a, c->tools, c->n_tools);
    t->call.servers = copy_names(a, c->servers, c->n_servers);
    t->call.removed = copy_names(a, c->removed, c->n_removed);
    t->call.hooks = copy_names(a, c->hooks, c->n_hooks);
    t->call.key = arena_str(a, p->f.idempotency_key);
    t->call.trace = NULL;
    t->call.once = NULL;
    t->call.ended = NULL;
    t->call.person = c->task_person;
    t->entry = p->f.entry;
    t->args_changed = p->args_changed;
}

static bool task_value(Heap *h, Str id, const char *status, Value *out, Error *err) {
    Dict *d = dict_new(h, 4, err);
    String *i = d ? string_new(h, id, err) : NULL, *s = i ? string_new(h, str_from(status), err) : NULL;
    if (!s || !dict_put_str(h, d, STR("task_id"), value_from_object(i), err) || !dict_put_str(h, d, STR("status"), value_from_object(s), err)) return false;
    *out = value_from_object(d);
    return true;
}

bool pipe_background(Pipe *p) {
    Error err = { 0 };
    Task *t = task_new(p->f.run, p->f.entry->def.name, pipe_place(p));
    Buf args = { 0 };
    if (p->args_changed) pipe_args_exact(p, &args);
    else buf_add(&args, p->f.raw);
    copy_call(t, p, buf_str(&args));
    buf_clear(&args);
    Str id = arena_str(&p->kept.arena, t->id);
    if (!start(t, &err)) {
        if (t->status != TASK_FAILED) task_free(t);
        if (err.kind == ERR_CANCELLED) return pipe_refuse(p, STEP_LIMITS, STR("cancelled"), REPAIR_NEVER, "%s", err.msg);
        if (err.kind == ERR_LIMIT) return pipe_limit(p, "limits.max_tasks", p->f.runtime->limits.max_tasks);
        return pipe_broken(p, &err);
    }
    p->out->task_id = id;
    p->ended = true;
    if (!task_value(p->f.heap, id, task_begun(p->f.run, id), &p->out->value, &err)) return pipe_broken(p, &err);
    pipe_trace(p, STEP_TASK, STR_FMT, STR_ARG(id));
    return false;                                          /* nothing more to do on this thread */
}

bool task_start(Run *r, Str tool, EventPlace place, TaskWork *work, void (*release)(void *ctx), void *ctx, Buf *id, Error *err) {
    Task *t = task_new(r, tool, place);
    t->work = work;
    t->free = release;
    t->ctx = ctx;
    buf_add(id, t->id);
    if (start(t, err)) return true;
    if (t->status != TASK_FAILED) task_free(t);
    return false;
}

/* ---- queries ---- */

static Task *find(Run *r, Str id, Error *err) {
    Tasks *list = task_any(r) ? r->tasks : NULL;
    Task *t = NULL;
    if (list) {
        pthread_mutex_lock(&list->lock);
        t = table_get(&list->ids, id);
        pthread_mutex_unlock(&list->lock);
    }
    if (!t) error_set(err, ERR_VALIDATION, "no task of this run has the id \"" STR_FMT "\"", STR_ARG(id));
    return t;
}

const char *task_begun(Run *r, Str id) {
    Task *t = find(r, id, NULL);
    return t ? begun(t) : status_names[TASK_FAILED];
}

static bool describe(Task *t, Heap *h, Value *out, Error *err) {
    Tasks *list = t->run->tasks;
    Buf copy = { 0 };
    pthread_mutex_lock(&list->lock);
    TaskStatus status = t->status;
    buf_add(&copy, buf_str(&t->value));
    pthread_mutex_unlock(&list->lock);
    Value v;
    bool ok = task_value(h, t->id, status_names[status], out, err);
    if (ok && copy.n) ok = json_read(h, buf_str(&copy), &(JsonRead){ 0 }, &v, err) && dict_put_str(h, value_dict(*out), STR("result"), v, err);
    buf_clear(&copy);
    return ok;
}

bool task_poll(Run *r, Str id, Heap *heap, Value *out, Error *err) {
    Task *t = find(r, id, err);
    return t && describe(t, heap, out, err);
}

bool task_await(Run *r, Str id, int64_t timeout_ms, Cancel *cancel, Heap *heap, Value *out, Error *err) {
    Task *t = find(r, id, err);
    if (!t) return false;
    Tasks *list = r->tasks;
    int64_t end = timeout_ms >= 0 && timeout_ms < INT64_MAX / 2000000 ? clock_mono_ns() + timeout_ms * 1000000 : INT64_MAX;
    bool ok = true;
    pthread_mutex_lock(&list->lock);
    while (ok && t->status <= TASK_RUNNING && clock_mono_ns() < end) ok = cancel_wait(&list->ended, &list->lock, cancel, end, err);
    pthread_mutex_unlock(&list->lock);
    return ok && describe(t, heap, out, err);
}

bool task_cancel(Run *r, Str id, Heap *heap, Value *out, Error *err) {
    Task *t = find(r, id, err);
    if (!t) return false;
    cancel_fire(t->cancel);
    pthread_mutex_lock(&r->tasks->lock);
    if (t->status == TASK_QUEUED) t->status = TASK_CANCELLED, pthread_cond_broadcast(&r->tasks->ended);
    pthread_mutex_unlock(&r->tasks->lock);
    return describe(t, heap, out, err);
}

void task_each(Run *r, void (*each)(void *ctx, Str id, bool over, bool failed), void *ctx) {
    if (!task_any(r)) return;
    Tasks *list = r->tasks;
    pthread_mutex_lock(&list->lock);
    for (size_t i = 0; i < list->all.n; i++) each(ctx, list->all.at[i]->id, list->all.at[i]->status > TASK_RUNNING, list->all.at[i]->status > TASK_DONE);
    pthread_mutex_unlock(&list->lock);
}

void task_announce(Run *r, void (*each)(void *ctx, Str id, Str tool, Str status), void *ctx) {
    if (!task_any(r)) return;
    Tasks *list = r->tasks;
    pthread_mutex_lock(&list->lock);
    bool all = true;
    for (size_t i = list->told; i < list->all.n; i++) {
        Task *t = list->all.at[i];
        bool over = t->status > TASK_RUNNING;
        if (over && !t->announced) each(ctx, t->id, t->tool, str_from(status_names[t->status]));
        t->announced = t->announced || over;
        if (all && over) list->told = i + 1;
        else all = false;
    }
    pthread_mutex_unlock(&list->lock);
}

/* The caller holds the lock. */
static void cancel_all(Tasks *list) {
    list->closing = true;                                 /* a task being cancelled may be about to start another one */
    for (size_t i = 0; i < list->all.n; i++) {
        Task *t = list->all.at[i];
        if (t->status > TASK_RUNNING || cancel_fired(t->cancel)) continue;
        t->stopped = true;
        cancel_fire(t->cancel);
    }
}

static bool any_at_work(const Tasks *list) {
    for (size_t i = 0; i < list->all.n; i++)
        if (list->all.at[i]->status <= TASK_RUNNING) return true;
    return false;
}

void task_stop_all(Run *r, void (*each)(void *ctx, Str id, Str tool), void *ctx) {
    if (!task_any(r)) return;
    Tasks *list = r->tasks;
    pthread_mutex_lock(&list->lock);
    cancel_all(list);
    while (any_at_work(list)) pthread_cond_wait(&list->ended, &list->lock);
    for (size_t i = 0; i < list->all.n; i++) {
        const Task *t = list->all.at[i];
        if (t->stopped && t->status == TASK_CANCELLED) each(ctx, t->id, t->tool);
    }
    pthread_mutex_unlock(&list->lock);
}

void task_list_free(Run *r) {
    Tasks *list = r->tasks;
    if (!list) return;
    pthread_mutex_lock(&list->lock);
    cancel_all(list);
    pthread_mutex_unlock(&list->lock);
    scheduler_free(list->scheduler);
    for (size_t i = 0; i < list->all.n; i++) task_free(list->all.at[i]);
    VEC_CLEAR(&list->all);
    table_clear(&list->ids);
    pthread_mutex_destroy(&list->lock);
    pthread_cond_destroy(&list->ended);
    free(list);
    r->tasks = NULL;
}
