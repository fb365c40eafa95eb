#include "agent/summary.h"
#include "model/request.h"

enum { MESSAGE_MAX = 2000, MESSAGE_MIN = 200, TEXT_MAX = 200000, SUMMARY_TOKENS = 600, COMPACT_TOKENS = 1500 };

/* *model empty: the agent's own. */
static bool wanted(const Frame *f, Str *model) {
    Value v = value_member(runtime_project(f->s->agents->rt)->settings.context, "summarize");
    *model = value_is_string(v) ? value_str(v) : STR("");
    return model->n > 0 || (value_is_bool(v) && value_bool(v));
}

static void add_message(Buf *out, Value message, size_t most) {
    buf_add_fmt(out, STR_FMT ": " STR_FMT "\n", STR_ARG(value_member_text(message, "role")),
        STR_ARG(str_sub(value_member_text(message, "content"), 0, most)));
    const List *calls = request_list(message, "tool_calls");
    for (uint32_t k = 0; calls && k < calls->n; k++)
        buf_add_fmt(out, "  calls " STR_FMT " " STR_FMT "\n", STR_ARG(value_member_text(calls->at[k], "name")),
                    STR_ARG(str_sub(value_member_text(calls->at[k], "arguments"), 0, most)));
}

/* The removed messages, as text. */
static void gather(const Frame *f, const ContextReport *report, Buf *out) {
    for (uint32_t i = 0; i < report->from && out->n <= TEXT_MAX; i++)
        if (context_left(report, i)) add_message(out, f->history.at[i].value, MESSAGE_MAX);
}

static Value text_message(Heap *h, Role role, Str text, Error *err) {
    Dict *d = dict_new(h, 2, err);
    bool ok = d && dict_put_text(h, d, "role", str_from(request_role_name(role)), err) && dict_put_text(h, d, "content", text, err);
    return ok ? value_from_object(d) : VALUE_GONE;
}

/* A separate request, outside of the conversation. */
static bool ask(Frame *f, Str model_name, Str text, int64_t tokens, Cancel *cancel, Buf *out, Error *err) {
    Completion c = { .heap = heap_new((size_t)64 << 20), .quiet = true, .max_tokens = tokens };
    Model *model = f->model;
    ModelDef def = f->model_def;
    Buf prompt = { 0 };
    buf_add_fmt(&prompt, "Summarise this part of a conversation in at most %d words. Keep facts, names, numbers, decisions and what is still to do.\n\n", (int)(tokens / 2));
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
    if (ask(f, model, buf_str(&text), SUMMARY_TOKENS, cancel, &words, &why)) {
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

/* The newest messages matter most: when the text would be too long, each is cut more, and then the oldest are left out. */
bool summary_of_all(Frame *f, Cancel *cancel, Buf *out, Error *err) {
    Str model;
    Buf text = { 0 };
    size_t n = f->history.n, most = n ? TEXT_MAX / n : TEXT_MAX, first = 0;
    if (most > MESSAGE_MAX) most = MESSAGE_MAX;
    if (most < MESSAGE_MIN) most = MESSAGE_MIN, first = n - TEXT_MAX / MESSAGE_MIN;
    (void)wanted(f, &model);
    for (size_t i = first; i < n; i++) add_message(&text, f->history.at[i].value, most);
    bool ok = ask(f, model, buf_str(&text), COMPACT_TOKENS, cancel, out, err)
           && (str_trim(buf_str(out)).n || error_set(err, ERR_PROVIDER, "the model's summary is empty"));
    buf_clear(&text);
    return ok;
}
