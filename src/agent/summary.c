#include "agent/summary.h"
#include "model/request.h"

enum { MESSAGE_MAX = 2000, TEXT_MAX = 200000, SUMMARY_TOKENS = 600 };

/* *model empty: the agent's own. */
static bool wanted(const Frame *f, Str *model) {
    Value v = value_member(runtime_project(f->s->agents->rt)->settings.context, "summarize");
    *model = value_is_string(v) ? value_str(v) : STR("");
    return model->n > 0 || (value_is_bool(v) && value_bool(v));
}

static bool contains(const List *list, Value message) {
    for (uint32_t i = 0; i < list->n; i++)
        if (value_same(list->at[i], message)) return true;
    return false;
}

/* A message that was only shortened is there in another form: its call's id tells. */
static bool is_left(const List *fitting, Value message) {
    Str id = value_member_text(message, "tool_call_id");
    for (uint32_t i = 0; id.n && i < fitting->n; i++)
        if (str_eq(value_member_text(fitting->at[i], "tool_call_id"), id)) return true;
    return contains(fitting, message);
}

static uint32_t gather(const List *all, const List *fitting, Buf *out) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < all->n; i++) {
        if (is_left(fitting, all->at[i])) continue;
        n++;
        if (out->n > TEXT_MAX) continue;
        buf_add_fmt(out, STR_FMT ": " STR_FMT "\n", STR_ARG(value_member_text(all->at[i], "role")),
                    STR_ARG(str_sub(value_member_text(all->at[i], "content"), 0, MESSAGE_MAX)));
        const List *calls = request_list(all->at[i], "tool_calls");
        for (uint32_t k = 0; calls && k < calls->n; k++)
            buf_add_fmt(out, "  calls " STR_FMT " " STR_FMT "\n", STR_ARG(value_member_text(calls->at[k], "name")),
                        STR_ARG(str_sub(value_member_text(calls->at[k], "arguments"), 0, MESSAGE_MAX)));
    }
    return n;
}

static Value text_message(Heap *h, const char *role, Str text, Error *err) {
    Dict *d = dict_new(h, 2, err);
    bool ok = d && dict_put_text(h, d, "role", str_from(role), err) && dict_put_text(h, d, "content", text, err);
    return ok ? value_from_object(d) : VALUE_GONE;
}

/* One reply of its own, outside of the conversation. */
static bool ask(Frame *f, Str model_name, Str text, Cancel *cancel, Buf *out, Error *err) {
    Completion c = { .heap = heap_new((size_t)64 << 20), .quiet = true, .max_tokens = SUMMARY_TOKENS };
    Model *model = f->model;
    ModelDef def = f->model_def;
    Buf prompt = { 0 };
    buf_add(&prompt, STR("Summarise this part of a conversation in at most 300 words. Keep facts, names, numbers, decisions and what is still to do.\n\n"));
    buf_add(&prompt, text);
    List *messages = list_new(c.heap, 1, err), *none = list_new(c.heap, 0, err);
    Value message = text_message(c.heap, "user", buf_str(&prompt), err);
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

static bool renew(Frame *f, Str model, Str text, uint32_t gone, Cancel *cancel) {
    Error why = { 0 };
    Buf words = { 0 };
    bool ok = ask(f, model, text, cancel, &words, &why);
    if (ok) {
        f->summary = arena_str(&f->arena, buf_str(&words));
        f->summary_of = gone;
    } else {
        LOG_WRITE(f->s->agents->env.log, LOG_WARN, "context.summarize: %s", why.msg);
    }
    buf_clear(&words);
    return ok;
}

bool summary_add(Frame *f, Heap *heap, const List *all, List *fitting, Cancel *cancel, Error *err) {
    Str model;
    if (!wanted(f, &model)) return true;
    Buf text = { 0 };
    uint32_t gone = gather(all, fitting, &text), at = 0;
    if (gone && (f->summary.n == 0 || gone >= f->summary_of + SUMMARY_STEP)) renew(f, model, buf_str(&text), gone, cancel);
    buf_clear(&text);
    if (gone == 0 || f->summary.n == 0) return true;
    Buf words = { 0 };
    buf_add_fmt(&words, "[summary of %u earlier messages] " STR_FMT, f->summary_of, STR_ARG(f->summary));
    Value message = text_message(heap, "user", buf_str(&words), err);
    buf_clear(&words);
    while (at < fitting->n && !str_eq(value_member_text(fitting->at[at], "role"), STR("user"))) at++;
    return !value_is_gone(message) && list_insert(heap, fitting, at < fitting->n ? at + 1 : at, message, err);
}
