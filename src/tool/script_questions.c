/* Questions and notifications of a script to the Person of its call, else of the run. Without one, each question has a
 * default answer. */
#include "tool/pipeline/pipe.h"
#include "value/list.h"

/* ---- forms and roots ---- */

static bool cancelled(Heap *heap, Value *out, Error *err) {
    Dict *d = dict_new(heap, 1, err);
    if (!d || !dict_put_text(heap, d, "action", STR("cancel"), err)) return false;
    return *out = value_from_object(d), true;
}

static bool ask_form(Pipe *p, HostAsk *a, Heap *heap, Cancel *cancel, Error *err) {
    const Person *person = pipe_person(p);
    if (!person->ask) return cancelled(heap, &a->answer, err);
    Buf safe = { 0 };
    run_escape(&safe, a->message);
    int64_t since = run_wait_start(cancel);
    if (!person->apart) pthread_mutex_lock(&p->f.runtime->asking);
    bool ok = person->ask(person->ctx, buf_str(&safe), a->schema, heap, &a->answer, cancel, err);
    if (!person->apart) pthread_mutex_unlock(&p->f.runtime->asking);
    p->waited_ns += run_wait_end(cancel, since);
    buf_clear(&safe);
    return ok;
}

static void add_uri(Buf *out, Str path) {
    buf_add(out, STR("file://"));
    for (size_t i = 0; i < path.n; i++) {
        unsigned char c = (unsigned char)path.at[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || strchr("/-._~", c);
        if (plain && c) buf_add_char(out, (char)c);
        else buf_add_fmt(out, "%%%02X", c);
    }
}

/* Without a client that has roots, the workspace is the only root. */
static bool own_roots(Pipe *p, Heap *heap, Value *out, Error *err) {
    Str path = p->host.workspace;
    Buf uri = { 0 };
    size_t slash = path.n;
    while (slash > 0 && path.at[slash - 1] != '/') slash--;
    add_uri(&uri, path);
    Dict *d = dict_new(heap, 2, err);
    List *l = d ? list_new(heap, 1, err) : NULL;
    bool ok = l && dict_put_text(heap, d, "uri", buf_str(&uri), err) && dict_put_text(heap, d, "name", str_sub(path, slash, path.n), err) &&
              list_push(heap, l, value_from_object(d), err);
    buf_clear(&uri);
    if (ok) *out = value_from_object(l);
    return ok;
}

/* ---- samples ---- */

static bool payload_before(Heap *h, const HostAsk *a, Value *out, Error *err) {
    Dict *d = dict_new(h, 3, err);
    List *none = d ? list_new(h, 0, err) : NULL;
    Value messages;
    if (!none || !value_copy_all_into(h, a->messages, &messages, err) || !dict_put_text(h, d, "model", STR("client"), err) ||
        !dict_put_str(h, d, STR("messages"), messages, err) || !dict_put_str(h, d, STR("tools"), value_from_object(none), err)) return false;
    return *out = value_from_object(d), true;
}

static bool payload_after(Heap *h, Str text, Value *out, Error *err) {
    Dict *d = dict_new(h, 4, err), *usage = d ? dict_new(h, 1, err) : NULL;
    List *none = usage ? list_new(h, 0, err) : NULL;
    if (!none || !dict_put_text(h, d, "text", text, err) || !dict_put_str(h, d, STR("tool_calls"), value_from_object(none), err) ||
        !dict_put_text(h, d, "finish_reason", STR("stop"), err) || !dict_put_str(h, d, STR("usage"), value_from_object(usage), err)) return false;
    return *out = value_from_object(d), true;
}

/* A client's model is a model too: the completion.* hooks see the request and the reply. */
static bool ask_hooks(Pipe *p, HookEvent event, Heap *h, Value payload, Cancel *cancel, HookOutcome *out, Error *err) {
    *out = (HookOutcome){ .decision = HOOK_ALLOW };
    if (!hook_list_any(run_hooks(p->f.run), event, (Str){ 0 })) return true;
    run_ask_hooks(p->f.run, p->f.call, event, h, payload, cancel, out);
    char said[HOOK_SAID_MAX];
    return out->decision == HOOK_ALLOW || error_set(err, ERR_POLICY, "%s", hook_outcome_say(out, "blocked", said));
}

static Value member(const HookOutcome *out, const char *name) {
    return out->modified ? value_member(out->payload, name) : VALUE_GONE;
}

static bool hooks_before(Pipe *p, HostAsk *asks, size_t n, Heap *heap, Cancel *cancel, Error *err) {
    Heap *h = heap_new(0);
    HookOutcome out;
    Value payload;
    bool ok = true;
    for (size_t i = 0; ok && i < n; i++) {
        if (asks[i].kind != HOST_ASK_SAMPLE) continue;
        ok = pipe_redact_value(p, asks[i].messages, &asks[i].messages, err) && payload_before(h, &asks[i], &payload, err)
            && ask_hooks(p, HOOK_COMPLETION_PRE, h, payload, cancel, &out, err);
        Value messages = ok ? member(&out, "messages") : VALUE_GONE;
        if (value_is_list(messages)) ok = value_copy_all_into(heap, messages, &asks[i].messages, err);
    }
    heap_free(h);
    return ok;
}

static bool hooks_after(Pipe *p, HostAsk *asks, size_t n, Heap *heap, Cancel *cancel, Error *err) {
    Heap *h = heap_new(0);
    HookOutcome out;
    Value payload;
    bool ok = true;
    for (size_t i = 0; ok && i < n; i++) {
        if (asks[i].kind != HOST_ASK_SAMPLE || !value_is_string(asks[i].answer)) continue;
        ok = payload_after(h, value_str(asks[i].answer), &payload, err) && ask_hooks(p, HOOK_COMPLETION_POST, h, payload, cancel, &out, err);
        Value text = ok ? member(&out, "text") : VALUE_GONE;
        if (value_is_string(text)) ok = value_copy_all_into(heap, text, &asks[i].answer, err);
    }
    heap_free(h);
    return ok;
}

/* ---- asking ---- */

/* Questions leave the process or are displayed, so they are redacted. */
static bool hide_secrets(Pipe *p, HostAsk *asks, size_t n, Heap *heap, Error *err) {
    for (size_t i = 0; i < n; i++) {
        if (asks[i].kind != HOST_ASK_FORM) continue;
        Buf text = { 0 };
        buf_add(&text, asks[i].message);
        pipe_redact_text(p, &text);
        String *safe = string_new(heap, buf_str(&text), err);
        buf_clear(&text);
        if (!safe) return false;
        asks[i].message = string_str(safe);
        if (!pipe_redact_value(p, asks[i].schema, &asks[i].schema, err)) return false;
    }
    return true;
}

static bool has_form(const HostAsk *asks, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (asks[i].kind == HOST_ASK_FORM) return true;
    return false;
}

/* Asks the Person directly if it supports that; hooks see samples only in that case. */
static bool inquire(Pipe *p, HostAsk *asks, size_t n, Heap *heap, Cancel *cancel, Error *err) {
    const Person *person = pipe_person(p);
    for (size_t i = 0; i < n; i++) asks[i].answer = VALUE_GONE;
    if (!person->inquire) return true;
    if (!hooks_before(p, asks, n, heap, cancel, err) || !cancel_check(cancel, err)) return false;
    bool waits = has_form(asks, n);                       /* a program, not the user, answers requests for roots and samples */
    int64_t since = waits ? run_wait_start(cancel) : 0;
    bool ok = person->inquire(person->ctx, asks, n, heap, cancel, err);
    if (waits) p->waited_ns += run_wait_end(cancel, since);
    return ok && hooks_after(p, asks, n, heap, cancel, err);
}

static bool sample_request(Heap *heap, const HostAsk *a, Value *out, Error *err) {
    Dict *d = dict_new(heap, 3, err);
    if (!d || !dict_put_str(heap, d, STR("messages"), a->messages, err) ||
        !dict_put_str(heap, d, STR("max_tokens"), value_from_small(a->max_tokens), err) || !dict_put_str(heap, d, STR("model"), VALUE_NONE, err)) return false;
    return *out = value_from_object(d), true;
}

/* Uses the run's model, if it has one. */
static bool own_sample(Host *h, HostAsk *a, Heap *heap, Error *err) {
    Pipe *p = h->call;
    Value request;
    a->answer = VALUE_NONE;
    if (p->f.runtime->calls.complete == runtime_host_sample) return true;
    Error why = { 0 };
    if (!sample_request(heap, a, &request, err)) return false;
    if (p->f.runtime->calls.complete(h, request, heap, &a->answer, &why)) return true;
    a->answer = VALUE_NONE;
    if (why.kind == ERR_CONFIG) return true;              /* no model configured */
    if (err) *err = why;
    return false;
}

bool runtime_host_ask(Host *h, HostAsk *asks, size_t n, Heap *heap, Error *err) {
    Pipe *p = h->call;
    bool ok = hide_secrets(p, asks, n, heap, err) && inquire(p, asks, n, heap, h->cancel, err);
    for (size_t i = 0; ok && i < n; i++) {
        HostAsk *a = &asks[i];
        if (!value_is_gone(a->answer)) continue;
        if (a->kind == HOST_ASK_FORM) ok = ask_form(p, a, heap, h->cancel, err);
        else if (a->kind == HOST_ASK_ROOTS) ok = own_roots(p, heap, &a->answer, err);
        else ok = own_sample(h, a, heap, err);
    }
    return ok;
}

static Value field(Value request, const char *name) {
    Value *v = value_is_dict(request) ? dict_find_str(value_dict(request), str_from(name)) : NULL;
    return v ? *v : VALUE_GONE;
}

/* Converts a prompt to one user message. */
static bool messages_of(Heap *heap, Value request, Value *out, Error *err) {
    Value prompt = field(request, "prompt"), messages = field(request, "messages");
    if (value_is_list(messages)) return *out = messages, true;
    if (value_is_list(prompt)) return *out = prompt, true;
    if (!value_is_string(prompt)) return error_set(err, ERR_SCRIPT, "expected a prompt or a list of messages");
    Dict *d = dict_new(heap, 2, err);
    List *l = d ? list_new(heap, 1, err) : NULL;
    if (!l || !dict_put_text(heap, d, "role", STR("user"), err) || !dict_put_str(heap, d, STR("content"), prompt, err) ||
        !list_push(heap, l, value_from_object(d), err)) return false;
    return *out = value_from_object(l), true;
}

bool runtime_host_sample(Host *h, Value request, Heap *heap, Value *out, Error *err) {
    Value most = field(request, "max_tokens");
    HostAsk a = { .kind = HOST_ASK_SAMPLE, .max_tokens = value_is_small(most) ? value_small(most) : 1024 };
    if (!messages_of(heap, request, &a.messages, err) || !inquire(h->call, &a, 1, heap, h->cancel, err)) return false;
    if (!value_is_string(a.answer)) return error_set(err, ERR_CONFIG, "no model is configured here, and no client offers sampling");
    return *out = a.answer, true;
}

/* ---- notifications ---- */

bool runtime_host_progress(Host *h, Value done, Value total, Str message, Error *err) {
    Pipe *p = h->call;
    const Person *person = pipe_person(p);
    bool ok = true;
    Buf text = { 0 };
    buf_add(&text, message);
    pipe_redact_text(p, &text);
    if (pipe_listened(p)) {
        Buf data = { 0 };
        event_data_start(&data);
        event_data_str(&data, "id", p->f.call_id);
        event_data_value(&data, "done", done);
        if (!value_is_gone(total)) event_data_value(&data, "total", total);
        event_data_str(&data, "message", buf_str(&text));
        event_data_end(&data);
        ok = event_emit(p->f.run->events, pipe_place(p), EVENT_TOOL_PROGRESS, buf_str(&data), err);
        buf_clear(&data);
    }
    /* Shows no progress while a question is open, so that the question stays visible. */
    if (ok && person->progress && (person->apart || pthread_mutex_trylock(&p->f.runtime->asking) == 0)) {
        person->progress(person->ctx, p->f.call_id, done, total, buf_str(&text));
        if (!person->apart) pthread_mutex_unlock(&p->f.runtime->asking);
    }
    buf_clear(&text);
    return ok;
}
