#include "agent/summary.h"
#include "model/request.h"

enum { MESSAGE_MAX = 2000, TEXT_MAX = 200000, SUMMARY_TOKENS = 600 };

/* *model empty: the agent's own. */
static bool wanted(const Frame *f, Str *model) {
    Value v = value_member(runtime_project(f->s->agents->rt)->settings.context, "summarize");
    *model = value_is_string(v) ? value_str(v) : STR("");
    return model->n > 0 || (value_is_bool(v) && value_bool(v));
}

static void add_message(Buf *out, Value message) {
    buf_add_fmt(out, STR_FMT ": " STR_FMT "\n", STR_ARG(value_member_text(message, "role")),
        STR_ARG(str_sub(value_member_text(message, "content"), 0, MESSAGE_MAX)));
    const List *calls = request_list(message, "tool_calls");
    for (uint32_t k = 0; calls && k < calls->n; k++)
        buf_add_fmt(out, "  calls " STR_FMT " " STR_FMT "\n", STR_ARG(value_member_text(calls->at[k], "name")),
                    STR_ARG(str_sub(value_member_text(calls->at[k], "arguments"), 0, MESSAGE_MAX)));
}

/* The removed messages, as text. */
static void gather(const Frame *f, const ContextReport *report, Buf *out) {
    for (uint32_t i = 0; i < report->from && out->n <= TEXT_MAX; i++)
        if (context_left(report, i)) add_message(out, f->history.at[i].value);
}

static Value text_message(Heap *h, Role role, Str text, Error *err) {
    Dict *d = dict_new(h, 2, err);
    bool ok = d && dict_put_text(h, d, "role", str_from(request_role_name(role)), err) && dict_put_text(h, d, "content", text, err);
    return ok ? value_from_object(d) : VALUE_GONE;
}

/* A separate request, outside of the conversation. */
static bool ask(Frame *f, Str model_name, Str text, Cancel *cancel, Buf *out, Error *err) {
    Completion c = { .heap = heap_new((size_t)64 << 20), .quiet = true, .max_tokens = SUMMARY_TOKENS };
    Model *model = f->model;
    ModelDef def = f->model_def;
    Buf prompt = { 0 };
    buf_add(&prompt, STR("Summarise this part of a conversation in at most 300 words. Keep facts, names, numbers, decisions and what is still to do.\n\n"));
    buf_add(&prompt, text);
    List *messages = list_new(c.heap, 1, err), *none = list_new(c.heap, 0, err);
    Value message = text_message(c.heap, ROLE_USER, buf_str(&prompt), err);
    bool ok = messages && none && !value_is_gone(message) && list_push(c.heap, messages, message, err)
           && (model_name.n == 0 || agent_model_of(f->s->agents, model_name, STR(""), &f->model_def, &model, &def, err));
    if (ok) {
        c.messages = value_from_object(messages);
        c.tools = value_from_object(none);
        ok = frame_complete(f, model, &def, &c, cancel, err) && (!c.status || error_set(err, ERR_PROVIDER, "%s", c.reason));
    }
    if (ok) buf_add(out, buf_str(&c.reply.text));
    buf_clear(&prompt);
    model_reply_clear(&c.reply);
    heap_free(c.heap);
    return ok;
}

static void renew(Frame *f, Str model, const ContextReport *report, Cancel *cancel) {
    Error why = { 0 };
    Buf text = { 0 }, words = { 0 };
    gather(f, report, &text);
    if (ask(f, model, buf_str(&text), cancel, &words, &why)) {
        buf_reset(&f->summary);
        buf_add(&f->summary, buf_str(&words));
        f->summary_of = report->dropped;
    } else {
        LOG_WRITE(f->s->agents->env.log, LOG_WARN, "context.summarize: %s", why.msg);
    }
    buf_clear(&text);
    buf_clear(&words);
}

bool summary_add(Frame *f, Heap *heap, const ContextReport *report, List *fitting, Cancel *cancel, Error *err) {
    Str model;
    if (!wanted(f, &model)) return true;
    uint32_t gone = report->dropped, at = 0;
    if (gone && (f->summary.n == 0 || gone >= f->summary_of + SUMMARY_STEP)) renew(f, model, report, cancel);
    if (gone == 0 || f->summary.n == 0) return true;
    Buf words = { 0 };
    buf_add_fmt(&words, "[summary of %u earlier messages] " STR_FMT, f->summary_of, STR_ARG(buf_str(&f->summary)));
    Value message = text_message(heap, ROLE_USER, buf_str(&words), err);
    buf_clear(&words);
    while (at < fitting->n && request_role(fitting->at[at]) != ROLE_USER) at++;
    return !value_is_gone(message) && list_insert(heap, fitting, at < fitting->n ? at + 1 : at, message, err);
}
