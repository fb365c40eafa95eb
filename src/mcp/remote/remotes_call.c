/* Calls a server's tool, after all checks of the pipeline. */
#include "base/utf8.h"
#include "mcp/remote/client_private.h"
#include "mcp/remote/remotes_private.h"
#include "script/content.h"

enum { TASK_TTL_MS = 3600000 };

/* ---- the result ---- */

static void describe(Value block, Buf *out) {
    Str type = value_member_text(block, "type");
    Value inside = value_member(block, "resource");
    if (out->n) buf_add_char(out, '\n');
    if (str_eq(type, STR("text"))) buf_add(out, value_member_text(block, "text"));
    else if (str_eq(type, STR("resource")) && value_member_text(inside, "text").n) buf_add(out, value_member_text(inside, "text"));
    else if (str_eq(type, STR("resource"))) buf_add_fmt(out, "[resource " STR_FMT "]", STR_ARG(value_member_text(inside, "uri")));
    else if (str_eq(type, STR("resource_link"))) buf_add_fmt(out, "[resource " STR_FMT "]", STR_ARG(value_member_text(block, "uri")));
    else buf_add_fmt(out, "[" STR_FMT " " STR_FMT "]", STR_ARG(type), STR_ARG(value_member_text(block, "mimeType")));
}

/* Omits content blocks of unknown types; the text names them. */
static bool take_content(ToolCallFrame *f, Value blocks, Buf *text, Error *err) {
    List *kept = list_new(f->heap, 4, err);
    bool other = false;
    if (!kept) return false;
    for (uint32_t i = 0; value_is_list(blocks) && i < value_list(blocks)->n; i++) {
        Value b = value_list(blocks)->at[i];
        if (!value_is_dict(b)) continue;
        describe(b, text);
        content_mark(value_dict(b));
        if (!content_is_block(b)) continue;
        other = other || !str_eq(value_member_text(b, "type"), STR("text"));
        if (!list_push(f->heap, kept, b, err)) return false;
    }
    if (kept->n > 1 || other) f->content = value_from_object(kept);
    return true;
}

static bool take_result(ToolCallFrame *f, Value result, Error *err) {
    Value structured = value_member(result, "structuredContent"), failed = value_member(result, "isError");
    Buf text = { 0 };
    bool error = value_is_bool(failed) && value_bool(failed), ok = take_content(f, value_member(result, "content"), &text, err);
    if (ok && error) ok = kind_error_value(f, text.n ? buf_str(&text) : STR("the tool failed without a message"), err);
    else if (ok && !value_is_gone(structured)) f->value = structured;
    else if (ok) ok = kind_text_value(f->heap, buf_str(&text), &f->value, err);
    f->is_error = error;
    buf_clear(&text);
    return ok;
}

/* ---- the request ---- */

static bool may_call(const RemoteTool *t, const ToolDef *def, bool *task, Error *err) {
    Remote *s = t->server;
    pthread_mutex_lock(&s->lock);
    bool there = t->pin.n && !t->gone && !t->dropped, held = t->changed.n > 0, now = remotes_is_now(t, def);
    *task = t->task;
    pthread_mutex_unlock(&s->lock);
    if (!there) return error_set(err, ERR_PROTOCOL, "server " STR_FMT " has no tool \"" STR_FMT "\"", STR_ARG(s->def->name), STR_ARG(t->name));
    if (held) return error_set(err, ERR_POLICY, "tool \"" STR_FMT "\" of server " STR_FMT " changed since it was approved: see harness mcp approve",
                               STR_ARG(t->name), STR_ARG(s->def->name));
    if (!now) return error_set(err, ERR_POLICY, "tool \"" STR_FMT "\" of server " STR_FMT " was approved again in the meantime: call it again",
                               STR_ARG(t->name), STR_ARG(s->def->name));
    return true;
}

static bool make_params(ToolCallFrame *f, Str tool, bool as_task, McpClient *client, Value *out, Error *err) {
    Dict *d = dict_new(f->heap, 3, err), *task;
    if (!d || !dict_put_text(f->heap, d, "name", tool, err) || !dict_put_str(f->heap, d, STR("arguments"), f->args, err)) return false;
    if (as_task && mcp_client_version(client) == MCP_2025_11_25
        && (!(task = dict_new(f->heap, 1, err)) || !dict_put_str(f->heap, task, STR("ttl"), value_from_small(TASK_TTL_MS), err)
            || !dict_put_str(f->heap, d, STR("task"), value_from_object(task), err))) return false;
    return *out = value_from_object(d), true;
}

/* *again: the server died before running the call, or the call is safe to repeat. */
static bool call_once(ToolCallFrame *f, RemoteTool *t, Value *result, bool *again, Error *err) {
    Remote *s = t->server;
    RemoteCall call = { s, f };
    RemoteLink *l;
    Value params;
    bool sent = false, task;
    *again = false;
    if (!remotes_take(s, f->cancel, &l, err)) return false;
    bool ok = cancel_check(f->cancel, err) && may_call(t, &f->entry->def, &task, err) && make_params(f, t->name, task, l->client, &params, err);
    bool asked = ok;
    ok = ok && mcp_client_request(l->client, STR("tools/call"), params, &call, f->cancel, f->heap, result, &sent, err);
    bool lost = asked && !ok && err->kind == ERR_IO;
    if (lost) *again = !mcp_client_alive(l->client) && (!sent || safety_repeatable(&f->entry->safety));
    if (lost && sent && !*again) error_hint(err, "the call may have run: it is not sent again");
    if (ok && atomic_load(&s->stale)) {                   /* new tools are available in the next turn */
        Error why = { 0 };
        if (!remotes_list(s, l, f->cancel, &why)) LOG_WRITE(runtime_log(s->all->rt), LOG_WARN, "%s", why.msg);
    }
    remotes_give(s, l);
    return ok;
}

bool remotes_call(ToolCallFrame *f, Error *err) {
    RemoteTool *t = f->entry->data;
    Value result;
    bool again = false;
    f->provider = t->server->def->name;
    bool ok = call_once(f, t, &result, &again, err);
    if (!ok && again) ok = call_once(f, t, &result, &again, err);
    return ok && take_result(f, result, err);
}

bool remotes_call_nowhere(ToolCallFrame *f, Error *err) {
    const ToolDef *d = &f->entry->def;
    return error_set(err, ERR_CONFIG, "tool \"" STR_FMT "\": mcp server \"" STR_FMT "\" is not configured (harness mcp add " STR_FMT " …)", STR_ARG(d->name),
                     STR_ARG(d->server), STR_ARG(d->server));
}
