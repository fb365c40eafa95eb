/* Host functions of scripts: log, events, questions, tasks. Each gets the Host of its call, which refers to its
 * pipe. */
#include "tool/pipeline/pipe.h"

static Pipe *pipe_of(Host *h) { return h->call; }
Run *runtime_host_run(Host *h) { return pipe_of(h)->f.run; }
const Call *runtime_host_call(Host *h) { return pipe_of(h)->f.call; }
const Person *runtime_host_person(Host *h) { return pipe_person(pipe_of(h)); }

/* Notifies hooks; ignores their answers. */
static void tell_hooks(Pipe *p, HookEvent event, Str name, Value payload) {
    HookOutcome out = { 0 };
    if (hook_list_any(run_hooks(p->f.run), event, name)) pipe_dispatch(p, event, name, payload, &out);
}

static const char *level_name(LogLevel level) {
    static const char *const names[] = { "debug", "info", "warn", "error", "off" };
    return names[level];
}

static bool tell_log(Host *h, LogLevel level, Str message, Error *err) {
    Pipe *p = pipe_of(h);
    Buf text = { 0 }, data = { 0 };
    Str source = h->source.n ? h->source : p->f.entry ? p->f.entry->def.name : (Str){ 0 };
    bool ok = true;
    buf_add(&text, message);
    pipe_redact_text(p, &text);
    log_write(h->log, level, &(LogField){ "source", source }, 1, STR_FMT, STR_ARG(buf_str(&text)));
    const Person *person = pipe_person(p);
    if (person->log) person->log(person->ctx, level, source, buf_str(&text));
    if (pipe_listened(p)) {
        event_data_start(&data);
        event_data_str(&data, "level", str_from(level_name(level)));
        event_data_str(&data, "message", buf_str(&text));
        event_data_str(&data, "source", source);
        event_data_end(&data);
        ok = event_emit(p->f.run->events, pipe_place(p), EVENT_LOG, buf_str(&data), err);
    }
    if (ok && hook_list_any(run_hooks(p->f.run), HOOK_LOG, (Str){ 0 })) {
        Heap *heap = heap_new(0);
        Error why;
        Dict *d = dict_new(heap, 3, &why);
        String *m = string_new(heap, buf_str(&text), &why), *l = string_new(heap, str_from(level_name(level)), &why), *s = string_new(heap, source, &why);
        if (d && m && l && s && dict_put_str(heap, d, STR("level"), value_from_object(l), &why) &&
            dict_put_str(heap, d, STR("message"), value_from_object(m), &why) && dict_put_str(heap, d, STR("source"), value_from_object(s), &why))
            tell_hooks(p, HOOK_LOG, (Str){ 0 }, value_from_object(d));
        heap_free(heap);
    }
    buf_clear(&text);
    buf_clear(&data);
    return ok;
}

static bool event_name_ok(Str name) {
    for (size_t i = 0; i < name.n; i++) {
        char c = name.at[i];
        if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.')) return false;
    }
    return name.n > 0 && name.n <= 100;
}

static bool tell_event(Host *h, Str name, Value payload, Error *err) {
    Pipe *p = pipe_of(h);
    if (str_starts(name, STR("custom."))) name = str_sub(name, 7, name.n);
    if (!event_name_ok(name)) return error_set(err, ERR_SCRIPT, "event name must match [a-z0-9_.]+");
    Buf type = { 0 }, data = { 0 };
    bool ok = true;
    buf_add_fmt(&type, "custom." STR_FMT, STR_ARG(name));
    if (pipe_listened(p)) {
        event_data_start(&data);
        event_data_value(&data, "payload", payload);
        event_data_end(&data);
        if (p->f.entry && p->f.entry->redact) redact_json(p->f.entry->redact, &data);
        ok = event_emit_custom(p->f.run->events, pipe_place(p), buf_str(&type), buf_str(&data), err);
    }
    if (ok && value_is_dict(payload)) tell_hooks(p, HOOK_CUSTOM, buf_str(&type), payload);
    buf_clear(&type);
    buf_clear(&data);
    return ok;
}

static bool run_program(Host *h, const SandboxCommand *command, Cancel *cancel, SandboxResult *out, Error *err) {
    SandboxRules rules = *h->rules;
    const char *reads[2];
    if (!h->hook) confine_rules(pipe_of(h)->root, NULL, &rules, reads);
    return pipe_run_program(pipe_of(h), &rules, command, cancel, out, err);
}

static bool reach_task(Host *h, HostTask what, Str id, int64_t timeout_ms, Heap *heap, Value *out, Error *err) {
    Run *r = pipe_of(h)->f.run;
    if (what == HOST_TASK_POLL) return task_poll(r, id, heap, out, err);
    if (what == HOST_TASK_CANCEL) return task_cancel(r, id, heap, out, err);
    return task_await(r, id, timeout_ms, h->cancel, heap, out, err);
}

static bool confirm_write(Host *h, Str path, Error *err) {
    Pipe *p = pipe_of(h);
    Str tool = p->f.entry ? p->f.entry->def.name : STR("fs");
    Buf args = { 0 }, shown = { 0 };
    buf_add_fmt(&shown, "fs:" STR_FMT, STR_ARG(path));
    json_write_string(&args, buf_str(&shown), false);     /* a string: the arguments of a call are always an object */
    buf_reset(&shown);
    buf_add_fmt(&shown, "write " STR_FMT, STR_ARG(path));
    Str why = approval_brief(path) ? STR("part of the system prompt") : STR("sensitive name");
    RunQuestion question = { pipe_place(p), p->f.call_id, tool, buf_str(&args), why, why, buf_str(&shown), pipe_person(p), &p->waited_ns,
        true, false, p, false };
    RunAnswer answer = { 0 };
    bool used = true, ok = run_confirm(p->f.run, &question, h->cancel, &answer, err);
    if (ok && answer.approval.n) ok = store_approval_use(p->f.run->store, buf_str(&answer.approval), &used, err);
    if (ok && answer.args.n) ok = error_set(err, ERR_POLICY, "write " STR_FMT ": the arguments of this question cannot be changed", STR_ARG(path));
    run_answer_clear(&answer);
    buf_clear(&args);
    buf_clear(&shown);
    return ok;
}

const HostCalls runtime_host_calls = {
    .call_tool = runtime_meta_call, .list_tools = runtime_meta_list, .register_tool = runtime_meta_tool, .register_hook = runtime_meta_hook,
    .complete = runtime_host_sample, .ask = runtime_host_ask, .progress = runtime_host_progress, .task = reach_task, .emit = tell_event,
        .log = tell_log, .program = run_program, .confirm_write = confirm_write,
};

/* ---- judging: what a script tells is dropped, everything else is missing ---- */

static bool drop_log(Host *h, LogLevel level, Str message, Error *err) { return (void)h, (void)level, (void)message, (void)err, true; }
static bool drop_event(Host *h, Str name, Value payload, Error *err) { return (void)h, (void)name, (void)payload, (void)err, true; }
static bool drop_progress(Host *h, Value done, Value total, Str message, Error *err) {
    return (void)h, (void)done, (void)total, (void)message, (void)err, true;
}

const HostCalls runtime_judging_calls = { .list_tools = runtime_meta_list, .progress = drop_progress, .emit = drop_event, .log = drop_log };
