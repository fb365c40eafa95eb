/* Step 8: executes the tool under its timeout, with retries where allowed. */
#include "base/clock.h"
#include "base/random.h"
#include "tool/pipeline/pipe.h"
#include "value/int.h"
#include "value/json.h"
#include "value/list.h"

/* ---- serializing mutating calls ---- */

static bool alone(const Pipe *p) {
    return !p->f.call->nested && !p->task && !tool_entry_runs_beside(p->f.entry);
}

static RunLane *lane_of(Pipe *p) { return p->f.call->lane ? p->f.call->lane : &p->f.run->lane; }

/* Waits for the lane's other mutating call. */
static bool enter(Pipe *p, Error *err) {
    Run *r = p->f.run;
    bool ok = true;
    pthread_mutex_lock(&r->lock);
    while (ok && lane_of(p)->busy) ok = cancel_wait(&r->changed, &r->lock, p->f.cancel, INT64_MAX, err);
    if (ok) lane_of(p)->busy = p->alone = true;
    pthread_mutex_unlock(&r->lock);
    return ok;
}

static void leave(Pipe *p) {
    Run *r = p->f.run;
    pthread_mutex_lock(&r->lock);
    lane_of(p)->busy = p->alone = false;
    pthread_cond_broadcast(&r->changed);                  /* wakes the waiters of all lanes; only those of this one
                                                           * proceed */
    pthread_mutex_unlock(&r->lock);
}

/* The lane is kept until the run ends, because an agent's background calls may still wait for it. */
RunLane *runtime_host_lane(Host *h) {
    Pipe *p = h->call;
    Run *r = p->f.run;
    if (!p->alone) return p->f.call->lane;
    pthread_mutex_lock(&r->lock);
    if (!p->inner) p->inner = ARENA_ARRAY(&r->arena, RunLane, 1);
    pthread_mutex_unlock(&r->lock);
    return p->inner;
}

/* ---- injected values ---- */

/* The environment variable that holds a secret; empty if harness.md names none. */
static Str secret_variable(const Project *project, Str name) {
    Value *s = value_is_dict(project->settings.secrets) ? dict_find_str(value_dict(project->settings.secrets), name) : NULL;
    Value *env = s && value_is_dict(*s) ? dict_find_str(value_dict(*s), STR("env")) : NULL;
    return env && value_is_string(*env) ? value_str(*env) : (Str){ 0 };
}

static bool secret_value(const Project *project, Str name, Str *out, Error *err) {
    Str variable = secret_variable(project, name);
    char *text = str_dup(variable);
    *out = str_from(getenv(text));
    free(text);
    if (out->at) return true;
    return error_set(err, ERR_CONFIG, "secret \"" STR_FMT "\": environment variable " STR_FMT " is not set", STR_ARG(name), STR_ARG(variable));
}

static bool hidden_value(Pipe *p, InjectedKind kind, Str secret, Value *out, Error *err) {
    Str text = { 0 };
    switch (kind) {
    case INJECTED_DEPTH: return *out = value_from_small(p->f.call->depth), true;
    case INJECTED_RUN_ID: text = p->f.run->id; break;
    case INJECTED_THREAD_ID: text = p->f.run->config.session.n ? p->f.run->config.session : p->f.run->id; break;
    case INJECTED_AGENT: text = p->f.call->agent; break;
    case INJECTED_WORKSPACE: text = p->host.workspace; break;
    case INJECTED_IDEMPOTENCY_KEY: text = p->f.idempotency_key; break;
    case INJECTED_SECRET:
        if (!secret_value(p->f.runtime->project, secret, &text, err)) return false;
        redact_add_value(p->f.runtime->redactor, text);
        break;
    case INJECTED_UNKNOWN: break;                         /* rejected when loading */
    }
    String *s = string_new(p->f.heap, text, err);
    if (!s) return false;
    *out = value_from_object(s);
    return true;
}

/* {"run_id": …, "secrets": {"NAME": …}}: secrets are below `secrets`. */
static bool make_injected(Pipe *p, Error *err) {
    const StrList *names = &p->f.entry->def.injected;
    Heap *h = p->f.heap;
    p->f.injected = VALUE_GONE;
    if (names->n == 0) return true;
    Dict *all = dict_new(h, names->n, err), *secrets = NULL;
    if (!all) return false;
    for (size_t i = 0; i < names->n; i++) {
        Str name = names->at[i], secret_name;
        Value v;
        InjectedKind kind = project_injected_find(name, &secret_name);
        bool secret = kind == INJECTED_SECRET;
        if (!hidden_value(p, kind, secret_name, &v, err)) return false;
        if (secret && !secrets && (!(secrets = dict_new(h, 2, err)) || !dict_put_str(h, all, STR("secrets"), value_from_object(secrets), err))) return false;
        if (!dict_put_str(h, secret ? secrets : all, secret ? secret_name : name, v, err)) return false;
    }
    p->f.injected = value_from_object(all);
    value_freeze(p->f.injected);
    return true;
}

/* ---- timeout ---- */

enum { COMMAND_TIMEOUT_MS = 60000, ARGV_TIMEOUT_MS = 30000 };

/* The tool's own timeout, else --timeout, limits.tool_timeout_ms, or the kind's default. */
int64_t runtime_timeout_ms(const Runtime *rt, const ToolDef *def) {
    int64_t ms = def->timeout_ms;
    if (ms < 0) ms = rt->config.timeout_ms > 0 ? rt->config.timeout_ms : -1;
    if (ms < 0) ms = rt->limits.tool_timeout_ms > 0 ? rt->limits.tool_timeout_ms : -1;
    if (ms < 0) ms = def->kind == TOOL_COMMAND ? COMMAND_TIMEOUT_MS : def->kind == TOOL_ARGV ? ARGV_TIMEOUT_MS : 0;
    return ms;
}

/* The timeout of the tool or of the caller, whichever is shorter. 0: none. */
int64_t pipe_timeout_ms(const Pipe *p) {
    int64_t ms = runtime_timeout_ms(p->f.runtime, &p->f.entry->def);
    int64_t given = p->f.call->timeout_ms;
    return given > 0 && (ms == 0 || given < ms) ? given : ms;
}

/* ---- one attempt ---- */

/* An approval is valid for one call. It is used up before the event that the call begins is written, so that the user is asked again after a crash
 * in between. */
static bool use_approval(Pipe *p, Error *err) {
    bool used = false;
    if (p->kept.approval.n == 0) return true;
    if (!store_approval_use(p->f.run->store, buf_str(&p->kept.approval), &used, err)) return false;
    buf_reset(&p->kept.approval);
    return used || error_set(err, ERR_POLICY, "the approval of this call was used already");
}

/* The event is on disk before a tool that may change something begins. */
static bool write_executing(Pipe *p) {
    MEM_UNSET Error err;
    error_none(&err);
    if (!use_approval(p, &err)) return pipe_broken(p, &err);
    if (!pipe_listened(p)) return true;
    pipe_event_start(p);
    event_data_raw(&p->kept.data, "args", pipe_args_json(p));
    event_data_str(&p->kept.data, "verdict", p->asked ? STR("approved") : STR("allowed"));
    if (p->asked) event_data_str(&p->kept.data, "rule", pipe_reason_to_ask(p).rule);
    else if (p->rules.verdict == RULE_ALLOW) event_data_str(&p->kept.data, "rule", p->rules.rule->name);
    event_data_str(&p->kept.data, "idempotency_key", p->f.idempotency_key);
    event_data_bool(&p->kept.data, "repeatable", tool_may_resume(p->f.entry));
    if (!pipe_event_end(p, EVENT_TOOL_EXECUTING)) return false;
    return run_settle(p->f.run, safety_mutating(&p->f.entry->safety), &err) || pipe_broken(p, &err);
}

/* Copies the arguments, since a script may modify them and later steps need the originals. */
static bool keep_args(Pipe *p, Error *err) {
    p->keep = p->f.args;
    if (p->f.entry->def.kind != TOOL_STARLARK || !hook_list_any(run_hooks(p->f.run), HOOK_TOOL_POST, (Str){ 0 })) return true;
    return value_copy_all_into(p->f.heap, p->f.args, &p->keep, err);
}

Str pipe_error_member(Value v) { return value_is_dict(v) ? value_member_text(v, "error") : STR(""); }

void pipe_take_error_text(Pipe *p, Value v) {
    Error err;
    Str text = pipe_error_member(v);
    if (!text.n) {
        buf_reset(&p->kept.data);
        if (value_is_string(v)) buf_add(&p->kept.data, value_str(v));
        else if (!json_write(&p->kept.data, v, &(JsonWrite){ 0 }, &err)) buf_add(&p->kept.data, STR("failed"));
        text = str_sub(buf_str(&p->kept.data), 0, 2048);
    }
    p->out->error = arena_str(&p->kept.arena, text);
}

/* True for 429 and 5xx in a result that reports a status. */
static bool transient_status(Value v) {
    Value *s = value_is_dict(v) ? dict_find_str(value_dict(v), STR("status")) : NULL;
    if (!s || !value_is_small(*s)) return false;
    int64_t n = value_small(*s);
    return n == 429 || (n >= 500 && n <= 599);
}

static void fail_attempt(Pipe *p, const Error *err) {
    Result *r = p->out;
    bool stopped = err->kind == ERR_TIMEOUT || err->kind == ERR_CANCELLED;
    r->timed_out = err->kind == ERR_TIMEOUT && !cancel_expired(p->f.cancel);     /* the tool's timeout, not the run's */
    ResultClass cls = r->timed_out || p->f.retryable || err->kind == ERR_IO ? RESULT_RETRYABLE : stopped ? RESULT_FATAL : RESULT_REPAIRABLE;
    pipe_fail(p, STEP_EXECUTE, str_from(error_kind_name(err->kind)), cls,
        str_from(err->hint[0] ? arena_fmt(&p->kept.arena, "%s (%s)", err->msg, err->hint) : err->msg));
}

static void take_value(Pipe *p) {
    Result *r = p->out;
    r->value = p->f.value;
    r->content = p->f.content;
    r->provider = p->f.provider;
    r->timed_out = p->f.timed_out;
    r->is_error = p->f.is_error || pipe_error_member(p->f.value).n;
    if (!r->is_error) return;
    r->step = STEP_EXECUTE;
    r->cls = p->f.retryable || p->f.timed_out || transient_status(p->f.value) ? RESULT_RETRYABLE : RESULT_REPAIRABLE;
    if (p->f.timed_out) r->rule = STR("timeout");
    pipe_take_error_text(p, p->f.value);
}

void pipe_check_output(Pipe *p, CallStep step) {
    const ToolDef *def = &p->f.entry->def;
    buf_reset(&p->kept.data);
    if (p->out->is_error || !def->output || pipe_violations(def->output, p->out->value, &p->kept.data)) return;
    Str problems = arena_str(&p->kept.arena, buf_str(&p->kept.data));
    buf_reset(&p->kept.data);
    buf_add_fmt(&p->kept.data, "the result does not fit output_schema: " STR_FMT, STR_ARG(problems));
    pipe_fail(p, step, STR("output_schema"), RESULT_REPAIRABLE, buf_str(&p->kept.data));
}

/* After anything that could have written, compares the protected files with the loaded ones. */
static bool can_write(const Pipe *p) { return p->f.entry->safety.process || p->f.entry->safety.files == SAFETY_FILES_WRITE; }

static bool check_protected(Pipe *p) {
    MEM_UNSET Error err;
    error_none(&err);
    if (!can_write(p)) return true;
    runtime_review(p->f.runtime, p->f.cancel, &p->waited_ns);
    if (runtime_verify(p->f.runtime, &err)) return true;
    p->out->timed_out = false;
    pipe_fail(p, STEP_EXECUTE, STR("sandbox.tampered"), RESULT_FATAL, str_from(err.msg));
    return pipe_event_tampered(p, &err);
}

/* Reports repositories that the call created: git run inside one obeys its configuration. */
static bool emit_repositories(Pipe *p) {
    Buf fresh = { 0 };
    bool ok = true;
    if (!can_write(p) || !pipe_listened(p)) return true;
    runtime_nested(p->f.runtime, &fresh);
    Str rest = buf_str(&fresh), line;
    while (ok && fresh.n && str_next_line(&rest, &line)) {
        pipe_event_start(p);
        event_data_str(&p->kept.data, "path", line);
        ok = pipe_event_end(p, EVENT_SANDBOX_REPOSITORY);
    }
    buf_clear(&fresh);
    return ok;
}

static void reset_attempt(Pipe *p) {
    Result *r = p->out;
    p->f.value = VALUE_NONE;
    p->text_of = VALUE_GONE;
    p->f.content = VALUE_GONE;
    p->f.is_error = p->f.retryable = p->f.timed_out = false;
    p->f.exit_code = -1;
    buf_reset(&p->kept.change);
    r->is_error = r->timed_out = false;
    r->cls = RESULT_OK;
    r->step = STEP_NONE;
    r->error = r->rule = (Str){ 0 };
}

static void set_heap_limit(Pipe *p) {
    size_t limit = (size_t)p->f.runtime->limits.script_heap_bytes;
    bool script = p->f.entry->def.kind == TOOL_STARLARK;
    heap_set_limit(p->f.heap, script ? heap_stats(p->f.heap).used + limit : 0);
}

/* timeout_ms is a hard limit: a later result counts as a timeout. A killed program has reported that itself. */
static bool in_time(Pipe *p, Error *err) {
    MEM_UNSET Error late;
    if (p->f.timed_out || cancel_check(p->f.cancel, &late) || late.kind != ERR_TIMEOUT) return true;
    if (err) *err = late;
    return false;
}

/* Pins the frame's values: a script that runs in their heap may trigger a collection. */
static bool run_executor(Pipe *p, Error *err) {
    int64_t ms = pipe_timeout_ms(p);
    Cancel *outer = p->f.cancel, *own = ms > 0 ? cancel_new_pausable(outer, ms * 1000000) : NULL;
    if (own) p->f.cancel = p->host.cancel = own, vm_set_cancel(p->f.worker->vm, own);
    Value pinned[] = { p->f.args, p->keep, p->f.injected };
    size_t pin = heap_pin(p->f.heap, pinned, 3);
    set_heap_limit(p);
    bool ok = p->f.entry->execute(&p->f, err) && in_time(p, err);
    heap_set_limit(p->f.heap, 0);
    heap_unpin(p->f.heap, pin);
    if (own) p->f.cancel = p->host.cancel = outer, vm_set_cancel(p->f.worker->vm, outer), cancel_free(own);
    if (!ok) fail_attempt(p, err);
    return ok;
}

static bool attempt(Pipe *p) {
    MEM_UNSET Error err;
    error_none(&err);
    bool only = alone(p);
    reset_attempt(p);
    if (p->args_changed) p->f.raw = (Str){ 0 };
    if (only && !enter(p, &err)) return fail_attempt(p, &err), true;
    bool guarded = can_write(p) && runtime_guard(p->f.runtime, p->f.entry->safety.process, &err), fine = true;
    bool ready = (guarded || !can_write(p)) && make_injected(p, &err) && keep_args(p, &err) && cancel_check(p->f.cancel, &err);
    if (!ready) fail_attempt(p, &err);
    else if ((fine = write_executing(p))) {
        p->reached = true;
        int64_t begun = clock_mono_ns() - p->waited_ns;
        if (run_executor(p, &err)) take_value(p);
        p->worked_ns = clock_mono_ns() - p->waited_ns - begun;
        fine = check_protected(p) && emit_repositories(p);
        pipe_check_output(p, STEP_EXECUTE);
    }
    if (p->f.call->once && (p->once || (p->reached && !safety_repeatable(&p->f.entry->safety)))) *p->f.call->once = true;
    if (guarded) runtime_unguard(p->f.runtime);
    if (only) leave(p);
    return fine;
}

/* ---- retry ---- */

typedef struct Retry { int64_t attempts, first_ms, max_ms; double factor; bool jitter; } Retry;

static int64_t int_of(Value map, const char *key, int64_t fallback) {
    Value *v = value_is_dict(map) ? dict_find_str(value_dict(map), str_from(key)) : NULL;
    int64_t n;
    return v && value_is_int(*v) && int_to_i64(*v, &n) ? n : fallback;
}

static Retry retry_of(Value map) {
    Retry r = { int_of(map, "max_attempts", 1), int_of(map, "initial_backoff_ms", 250), int_of(map, "max_backoff_ms", 8000), 2, true };
    Value *factor = value_is_dict(map) ? dict_find_str(value_dict(map), STR("multiplier")) : NULL;
    Value *jitter = value_is_dict(map) ? dict_find_str(value_dict(map), STR("jitter")) : NULL;
    if (factor) r.factor = value_is_int(*factor) ? int_to_double(*factor) : value_is_float(*factor) ? value_float(*factor) : 2;
    if (jitter && value_is_bool(*jitter)) r.jitter = value_bool(*jitter);
    return r;
}

static bool exit_listed(const Pipe *p) {
    Value retry = p->f.entry->def.retry;
    Value *list = value_is_dict(retry) ? dict_find_str(value_dict(retry), STR("on_exit")) : NULL;
    if (!list || !value_is_list(*list) || p->f.exit_code < 0) return false;
    for (uint32_t i = 0; i < value_list(*list)->n; i++)
        if (value_is_small(value_list(*list)->at[i]) && value_small(value_list(*list)->at[i]) == p->f.exit_code) return true;
    return false;
}

static int64_t backoff_ms(const Retry *r, int attempts) {
    double ms = (double)r->first_ms;
    for (int i = 1; i < attempts && ms < (double)r->max_ms; i++) ms *= r->factor;
    int64_t wait = ms < (double)r->max_ms ? (int64_t)ms : r->max_ms;
    return r->jitter && wait > 1 ? wait / 2 + (int64_t)random_below((uint64_t)wait / 2 + 1) : wait;
}

/* Waits for the next attempt. False: no retry. */
static bool wait_again(Pipe *p) {
    if (!p->out->is_error || value_is_gone(p->f.entry->def.retry) || !safety_repeatable(&p->f.entry->safety)) return false;
    Retry r = retry_of(p->f.entry->def.retry);
    if (p->out->cls != RESULT_RETRYABLE && !exit_listed(p)) return false;
    if (p->attempt >= r.attempts || cancel_expired(p->f.cancel)) return false;
    if (p->once) {
        pipe_trace(p, STEP_RETRY, "not retried: a nested call must not run twice");
        return false;
    }
    int64_t ms = backoff_ms(&r, p->attempt);
    Error err = { 0 };
    if (pipe_listened(p)) {
        pipe_event_start(p);
        event_data_int(&p->kept.data, "attempt", p->attempt);
        event_data_int(&p->kept.data, "wait_ms", ms);
        event_data_str(&p->kept.data, "error", p->out->error);
        if (!pipe_event_end(p, EVENT_TOOL_RETRIED)) return false;
    }
    pipe_trace(p, STEP_RETRY, "attempt %d failed, next attempt in %lld ms", p->attempt, (long long)ms);
    return cancel_sleep(p->f.cancel, ms * 1000000, &err);
}

bool pipe_execute(Pipe *p, bool *again) {
    p->attempt++;
    *again = false;
    if (!attempt(p)) return false;
    pipe_trace(p, STEP_EXECUTE, "%s" STR_FMT, p->out->is_error ? "failed: " : "done", STR_ARG(p->out->error));
    if (wait_again(p)) return *again = true;
    return !p->broken;
}
