/* Native tools: callbacks of the host program with an ordinary tool definition. */
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include "base/mem.h"
#include "harness_private.h"
#include "value/json.h"

/* `heap` and `schema` belong to its own parameters; NULL if the project declares the tool. */
struct HarnessNative { HarnessTool *run; void *user; Heap *heap; Schema *schema; };

/* A callback may use threads: `lock` protects the call's heap and the fields below it. */
struct HarnessCall {
    ToolCallFrame *f;
    pthread_mutex_t lock;
    Buf arguments, injected;             /* JSON, created on request */
    char *id;
    int fd, timer;                       /* for harness_call_cancel_fd; -1: not requested */
    bool answered;
};

/* ---- execution ---- */

static _Thread_local const ToolCallFrame *inside;

const ToolCallFrame *harness_tool_inside(void) { return inside; }

static void end_call(HarnessCall *c) {
    buf_clear(&c->arguments);
    buf_clear(&c->injected);
    free(c->id);
    if (c->timer >= 0) close(c->timer);
    if (c->fd >= 0) close(c->fd);
    pthread_mutex_destroy(&c->lock);
}

static bool run_native(ToolCallFrame *f, Error *err) {
    const HarnessNative *n = f->entry->data;
    HarnessCall call = { .f = f, .fd = -1, .timer = -1, .id = str_dup(f->call_id) };
    const ToolCallFrame *outer = inside;
    pthread_mutex_init(&call.lock, NULL);
    f->value = VALUE_NONE;
    inside = f;
    n->run(n->user, &call);
    inside = outer;
    bool answered = call.answered;
    end_call(&call);
    return answered || cancel_check(f->cancel, err);
}

/* ---- queries of a callback ---- */

static const char *json_of(HarnessCall *c, Buf *kept, Value v) {
    Error err;
    pthread_mutex_lock(&c->lock);
    if (!kept->n && (!value_is_dict(v) || !json_write(kept, v, &(JsonWrite){ 0 }, &err))) buf_add(kept, STR("{}"));
    pthread_mutex_unlock(&c->lock);
    return kept->at;
}

const char *harness_call_arguments(HarnessCall *c) { return json_of(c, &c->arguments, c->f->args); }
const char *harness_call_injected(HarnessCall *c) { return json_of(c, &c->injected, c->f->injected); }
const char *harness_call_id(HarnessCall *c) { return c->id; }
bool harness_call_cancelled(HarnessCall *c) { return cancel_expired(c->f->cancel); }

static void watch(int set, int fd) {
    if (fd >= 0) epoll_ctl(set, EPOLL_CTL_ADD, fd, &(struct epoll_event){ .events = EPOLLIN });
}

/* The token's own descriptor does not signal deadlines, so this creates one that signals both. */
int harness_call_cancel_fd(HarnessCall *c) {
    pthread_mutex_lock(&c->lock);
    if (c->fd < 0 && (c->fd = epoll_create1(EPOLL_CLOEXEC)) >= 0) {
        int64_t end = cancel_deadline_ns(c->f->cancel);
        watch(c->fd, cancel_fd(c->f->cancel));
        if (end != INT64_MAX && (c->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)) >= 0) {
            if (end < 1) end = 1;                         /* 0 would disarm the timer */
            timerfd_settime(c->timer, TFD_TIMER_ABSTIME, &(struct itimerspec){ .it_value = { end / 1000000000, end % 1000000000 } }, NULL);
            watch(c->fd, c->timer);
        }
    }
    int fd = c->fd;
    pthread_mutex_unlock(&c->lock);
    return fd;
}

/* ---- results of a callback ---- */

static bool read_value(HarnessCall *c, const char *json, Value *out) {
    Error err;
    return json && json_read(c->f->heap, str_from(json), &(JsonRead){ 0 }, out, &err);
}

bool harness_call_emit(HarnessCall *c, const char *name, const char *json) {
    Error err = { 0 };
    Value payload = VALUE_NONE;
    pthread_mutex_lock(&c->lock);
    bool ok = name && (!json || read_value(c, json, &payload)) && c->f->host->calls->emit(c->f->host, str_from(name), payload, &err);
    pthread_mutex_unlock(&c->lock);
    return ok;
}

void harness_call_progress(HarnessCall *c, double done, double total, const char *message) {
    Error err = { 0 };
    pthread_mutex_lock(&c->lock);
    c->f->host->calls->progress(c->f->host, value_from_float(done), total > 0 ? value_from_float(total) : VALUE_GONE,
        message ? str_from(message) : STR(""), &err);
    pthread_mutex_unlock(&c->lock);
}

bool harness_call_return(HarnessCall *c, const char *json) {
    Value v;
    pthread_mutex_lock(&c->lock);
    bool ok = read_value(c, json, &v);
    if (ok) c->f->value = v, c->f->is_error = false, c->answered = true;
    pthread_mutex_unlock(&c->lock);
    return ok;
}

void harness_call_fail(HarnessCall *c, const char *message) {
    Error err = { 0 };
    pthread_mutex_lock(&c->lock);
    kind_error_value(c->f, str_from(message && *message ? message : "failed"), &err);
    c->answered = true;
    pthread_mutex_unlock(&c->lock);
}

/* ---- registration ---- */

static bool add_json(Buf *out, Heap *h, const char *key, const char *json, Error *err) {
    Value v;
    if (!json) return true;
    if (!json_read(h, str_from(json), &(JsonRead){ .reject_duplicates = true }, &v, err)) return error_wrap(err, "%s", key);
    buf_add_fmt(out, ",\"%s\":", key);
    return json_write(out, v, &(JsonWrite){ 0 }, err);
}

static bool write_definition(Buf *out, const HarnessToolSpec *s, Error *err) {
    Heap *h = heap_new(0);
    buf_add(out, STR("{\"name\":"));
    json_write_string(out, str_from(s->name), false);
    buf_add(out, STR(",\"description\":"));
    json_write_string(out, s->description ? str_from(s->description) : STR(""), false);
    if (s->timeout_ms) buf_add_fmt(out, ",\"timeout_ms\":%lld", (long long)s->timeout_ms);
    bool ok = add_json(out, h, "output_schema", s->output_schema, err) &&
              add_json(out, h, "safety", s->safety, err) && add_json(out, h, "injected", s->injected, err);
    buf_add_char(out, '}');
    heap_free(h);
    return ok;
}

static Project *define(Harness *h, const HarnessToolSpec *s, Error *err) {
    Buf text = { 0 };
    Project *made = write_definition(&text, s, err) ? runtime_define(h->rt, DEFINITION_TOOL, buf_str(&text), err) : NULL;
    buf_clear(&text);
    return made;
}

void harness_native_free(HarnessNative *n) {
    schema_free(n->schema);
    if (n->heap) heap_free(n->heap);
    free(n);
}

/* Checks that the parameters are an object without injected names, which models and listings rely on. */
static bool check_parameters(Value root, const ToolDef *def, Error *err) {
    Value *type = value_is_dict(root) ? dict_find_str(value_dict(root), STR("type")) : NULL;
    Value *properties = type ? dict_find_str(value_dict(root), STR("properties")) : NULL;
    if (!type || !value_is_string(*type) || !str_eq(value_str(*type), STR("object")))
        return error_set(err, ERR_VALIDATION, "parameters: must be a JSON Schema of type \"object\"");
    for (size_t i = 0; properties && value_is_dict(*properties) && i < def->injected.n; i++)
        if (dict_find_str(value_dict(*properties), def->injected.at[i]))
            return error_set(err, ERR_CONFIG, "\"" STR_FMT "\" is both a parameter and injected", STR_ARG(def->injected.at[i]));
    return true;
}

static bool take_parameters(const char *json, HarnessNative *n, ToolDef *def, Error *err) {
    if (!json) return true;
    n->heap = heap_new(0);
    bool ok = json_read(n->heap, str_from(json), &(JsonRead){ .reject_duplicates = true }, &def->parameters, err) &&
              schema_compile(&(SchemaInput){ .root = def->parameters }, &n->schema, err);
    if (!ok) return error_wrap(err, "parameters");
    heap_freeze_all(n->heap);
    def->schema = n->schema;
    return check_parameters(def->parameters, def, err);
}

static bool add_new(Harness *h, Project *made, const HarnessToolSpec *s, HarnessNative *n, Error *err) {
    ToolEntry e = { .def = made->tools[0], .execute = run_native, .data = n };
    e.def.kind = TOOL_NATIVE;
    if (!project_names_free(runtime_project(h->rt), &e.def, err) || !take_parameters(s->parameters, n, &e.def, err)) return false;
    Problems problems = { 0 };
    bool ok = safety_of(&e.def, &made->arena, &e.safety, &problems);
    if (!ok) error_set(err, ERR_CONFIG, STR_FMT, STR_ARG(problems.n ? problems.at[0].message : STR("safety is not valid")));
    problems_clear(&problems);
    if (!ok) return false;
    return registry_add(runtime_registry(h->rt), &e, err);
}

/* True for a tool that the project declares and no function implements yet. */
static bool is_declared(Harness *h, const char *name) {
    const ToolEntry *e = registry_find(runtime_registry(h->rt), str_from(name), NULL, 0);
    return e && e->execute == kind_missing && str_eq(e->def.name, str_from(name));
}

static bool register_tool(Harness *h, const HarnessToolSpec *s, Error *err) {
    if (!s->name || !s->run) return error_set(err, ERR_VALIDATION, "a tool needs a name and a function");
    if (s->timeout_ms < 0) return error_set(err, ERR_VALIDATION, "timeout_ms must be >= 0");
    HarnessNative *n = mem_zero(1, sizeof *n);
    n->run = s->run;
    n->user = s->user;
    bool declared = is_declared(h, s->name);
    Project *made = declared ? NULL : define(h, s, err);
    bool ok = declared ? registry_implement(runtime_registry(h->rt), str_from(s->name), run_native, n, err) : made && add_new(h, made, s, n, err);
    if (ok) VEC_PUSH(&h->natives, n);
    else harness_native_free(n);
    if (ok && made) VEC_PUSH(&h->made, made);
    else if (made) project_free(made);
    return ok;
}

bool harness_register(Harness *h, const HarnessToolSpec *spec, HarnessError *err) {
    HarnessToolSpec s = { 0 };
    Error why = { 0 };
    memcpy(&s, spec, spec->size && spec->size < sizeof s ? spec->size : sizeof s);
    pthread_mutex_lock(&h->lock);
    bool ok = register_tool(h, &s, &why);
    pthread_mutex_unlock(&h->lock);
    return ok || harness_error_out(err, &why);
}
