/* Requests of a server to us, each only if its entry's `allow` lists it: a question to the user of the call, a
 * completion by the project's model, and the workspace folder. */
#include "mcp/remote/client_private.h"
#include "mcp/remote/remotes_private.h"

static bool allows(const Remote *s, Str what) {
    for (size_t i = 0; i < s->def->allow.n; i++)
        if (str_eq(s->def->allow.at[i], what)) return true;
    return false;
}

static bool put_action(Heap *heap, const char *action, Value *out, Error *err) {
    Dict *d = dict_new(heap, 1, err);
    if (!d || !dict_put_text(heap, d, "action", str_from(action), err)) return false;
    return *out = value_from_object(d), true;
}

/* ---- elicitation ---- */

static bool elicit(void *ctx, void *caller, Value params, Heap *heap, Value *out, Cancel *cancel, Error *err) {
    const Remote *s = ctx;
    RemoteCall *call = caller;
    (void)cancel;                                         /* the call's own token cancels the question */
    if (!call || str_eq(value_member_text(params, "mode"), STR("url"))) return put_action(heap, call ? "decline" : "cancel", out, err);
    Host *h = call->frame->host;
    HostAsk ask = { .kind = HOST_ASK_FORM, .schema = value_member(params, "requestedSchema") };
    Buf text = { 0 };
    buf_add_fmt(&text, "server " STR_FMT " asks: " STR_FMT, STR_ARG(s->def->name), STR_ARG(str_sub(value_member_text(params, "message"), 0, 4000)));
    ask.message = buf_str(&text);
    bool ok = h->calls->ask && value_is_dict(ask.schema) ? h->calls->ask(h, &ask, 1, heap, err) : put_action(heap, "cancel", &ask.answer, err);
    buf_clear(&text);
    if (ok) *out = ask.answer;
    return ok;
}

/* ---- sampling ---- */

static bool add_text(Value block, Buf *out, Error *err) {
    if (!str_eq(value_member_text(block, "type"), STR("text"))) return error_set(err, ERR_PROTOCOL, "sampling supports text only");
    if (out->n) buf_add_char(out, '\n');
    buf_add(out, value_member_text(block, "text"));
    return true;
}

static bool add_message(Heap *h, List *list, Str role, Value content, Error *err) {
    Buf text = { 0 };
    bool ok = true;
    if (value_is_string(content)) buf_add(&text, value_str(content));
    else if (value_is_list(content))
        for (uint32_t i = 0; ok && i < value_list(content)->n; i++) ok = add_text(value_list(content)->at[i], &text, err);
    else ok = add_text(content, &text, err);
    Dict *d = ok ? dict_new(h, 2, err) : NULL;
    ok = d && dict_put_text(h, d, "role", role, err) && dict_put_text(h, d, "content", buf_str(&text), err) && list_push(h, list, value_from_object(d), err);
    buf_clear(&text);
    return ok;
}

static bool make_request(Value params, Heap *h, Value *out, Error *err) {
    Value messages = value_member(params, "messages"), system = value_member(params, "systemPrompt"), max = value_member(params, "maxTokens");
    List *list = list_new(h, 4, err);
    Dict *d = dict_new(h, 2, err);
    if (!list || !d) return false;
    if (!value_is_list(messages)) return error_set(err, ERR_PROTOCOL, "messages must be a list");
    if (value_is_string(system) && !add_message(h, list, STR("system"), system, err)) return false;
    for (uint32_t i = 0; i < value_list(messages)->n; i++) {
        Value m = value_list(messages)->at[i];
        Str role = str_eq(value_member_text(m, "role"), STR("assistant")) ? STR("assistant") : STR("user");
        if (!add_message(h, list, role, value_member(m, "content"), err)) return false;
    }
    if (!dict_put_str(h, d, STR("prompt"), value_from_object(list), err)) return false;
    if (value_is_small(max) && !dict_put_str(h, d, STR("max_tokens"), max, err)) return false;
    return *out = value_from_object(d), true;
}

static Str model_name(const Project *p) {
    if (p->settings.model.n) return p->settings.model;
    return p->settings.n_models ? p->settings.models[0].name : STR("unknown");
}

/* Through the agent's checks: completion hooks, limits, events. */
static bool sample(void *ctx, void *caller, Value params, Heap *heap, Value *out, Cancel *cancel, Error *err) {
    const Remote *s = ctx;
    RemoteCall *call = caller;
    Value request, text;
    Dict *content = dict_new(heap, 2, err), *d = dict_new(heap, 4, err);
    (void)cancel;
    if (!call) return error_set(err, ERR_POLICY, "sampling needs a running call");
    Host *h = call->frame->host;
    if (!h->calls->complete) return error_set(err, ERR_CONFIG, "no model is configured for sampling");
    if (!content || !d || !make_request(params, heap, &request, err) || !h->calls->complete(h, request, heap, &text, err)) return false;
    if (!dict_put_text(heap, content, "type", STR("text"), err) || !dict_put_str(heap, content, STR("text"), text, err)
        || !dict_put_text(heap, d, "role", STR("assistant"), err) || !dict_put_str(heap, d, STR("content"), value_from_object(content), err)
        || !dict_put_text(heap, d, "model", model_name(runtime_project(s->all->rt)), err)
            || !dict_put_text(heap, d, "stopReason", STR("endTurn"), err)) return false;
    return *out = value_from_object(d), true;
}

/* ---- roots ---- */

static bool roots(void *ctx, Heap *heap, Value *out, Error *err) {
    const Remote *s = ctx;
    Str path = runtime_workspace(s->all->rt);
    Buf uri = { 0 };
    buf_add(&uri, STR("file://"));
    for (size_t i = 0; i < path.n; i++) {
        unsigned char c = (unsigned char)path.at[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || strchr("/-._~", c);
        if (plain && c) buf_add_char(&uri, (char)c);
        else buf_add_fmt(&uri, "%%%02X", c);
    }
    Dict *root = dict_new(heap, 2, err), *d = dict_new(heap, 1, err);
    List *list = list_new(heap, 1, err);
    bool ok = root && d && list && dict_put_text(heap, root, "uri", buf_str(&uri), err) && dict_put_text(heap, root, "name", STR("workspace"), err)
              && list_push(heap, list, value_from_object(root), err) && dict_put_str(heap, d, STR("roots"), value_from_object(list), err);
    buf_clear(&uri);
    if (ok) *out = value_from_object(d);
    return ok;
}

/* ---- notifications ---- */

static void progress(void *ctx, void *caller, Value params) {
    RemoteCall *call = caller;
    Error err;
    (void)ctx;
    if (!call || !call->frame->host->calls->progress) return;
    Value total = value_member(params, "total"), done = value_member(params, "progress");
    (void)call->frame->host->calls->progress(call->frame->host, value_is_gone(done) ? VALUE_NONE : done, value_is_gone(total) ? VALUE_NONE : total,
                                             value_member_text(params, "message"), &err);
}

static void notified(void *ctx, Str method, Value params) {
    Remote *s = ctx;
    if (str_eq(method, STR("notifications/tools/list_changed"))) atomic_store(&s->stale, true);
    if (!str_eq(method, STR("notifications/message")) || atomic_fetch_add(&s->told, 1) >= 500) return;
    Str level = value_member_text(params, "level");
    Value data = value_member(params, "data");
    Buf text = { 0 };
    Error err;
    if (value_is_string(data)) buf_add(&text, value_str(data));
    else if (value_is_gone(data) || !json_write(&text, data, &(JsonWrite){ .max_bytes = 4096 }, &err)) buf_add(&text, STR("(something)"));
    if (!redact_empty(runtime_redactor(s->all->rt))) redact_text(runtime_redactor(s->all->rt), &text);
    bool grave = str_eq(level, STR("error")) || str_eq(level, STR("critical")) || str_eq(level, STR("alert")) || str_eq(level, STR("emergency"));
    LOG_WRITE(runtime_log(s->all->rt), grave ? LOG_WARN : str_eq(level, STR("debug")) ? LOG_DEBUG : LOG_INFO, "server " STR_FMT ": " STR_FMT,
              STR_ARG(s->def->name), STR_ARG(str_sub(buf_str(&text), 0, 2000)));
    buf_clear(&text);
}

void remotes_answers(Remote *s, McpClientAnswers *out) {
    *out = (McpClientAnswers){ .elicit = allows(s, STR("elicitation")) ? elicit : NULL, .sample = allows(s, STR("sampling")) ? sample : NULL,
                               .roots = allows(s, STR("roots")) ? roots : NULL, .notified = notified, .progress = progress, .ctx = s };
}
