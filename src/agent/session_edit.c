/* Changes that the user makes to a conversation: undo, clear, compact, plan mode, the model, and the user's own calls. */
#include "agent/context.h"
#include "agent/frame.h"
#include "agent/summary.h"

/* ---- exchanges ---- */

bool session_last_changes(const Session *s, size_t *from, Error *err) {
    const Frame *f = s->top;
    if (f->starts.n == 0) return error_set(err, ERR_VALIDATION, "nothing to undo");
    *from = VEC_LAST(&f->starts).change;
    return true;
}

/* An unfinished answer of a resumed run is dropped. */
static void drop_unfinished(Session *s) {
    s->unfinished = false;
    s->pending = VALUE_GONE;
}

bool session_undo(Session *s, Str files, Error *err) {
    Frame *f = s->top;
    size_t change = 0;
    Buf data = { 0 };
    /* Not the last user message: some of those were added by harness or a hook. */
    if (!session_last_changes(s, &change, err)) return false;
    uint32_t from = VEC_LAST(&f->starts).message;
    event_data_start(&data);
    event_data_int(&data, "messages", (int64_t)f->history.n - from);
    if (files.n) event_data_raw(&data, "files", files);
    event_data_end(&data);
    bool ok = frame_event(f, EVENT_TURN_UNDONE, &data, err);
    buf_clear(&data);
    if (!ok) return false;
    history_cut(&f->history, from);
    run_change_cut(s->run, change);
    f->starts.n--;
    drop_unfinished(s);
    return true;
}

/* ---- the whole history ---- */

static int64_t tokens_of(const Frame *f) {
    int64_t n = 0;
    for (size_t i = 0; i < f->history.n; i++) n += f->history.at[i].tokens;
    return n;
}

bool session_clear(Session *s, size_t *messages, Error *err) {
    Frame *f = s->top;
    Buf data = { 0 };
    *messages = f->history.n;
    if (f->history.n == 0) return error_set(err, ERR_VALIDATION, "nothing to clear: the conversation is empty");
    event_data_start(&data);
    event_data_int(&data, "messages", (int64_t)f->history.n);
    event_data_end(&data);
    bool ok = frame_event(f, EVENT_CONVERSATION_CLEARED, &data, err);
    buf_clear(&data);
    if (!ok || !frame_forget(f, STR(""), err)) return false;
    drop_unfinished(s);
    return run_settle(s->run, false, err);
}

/* A summary is a request to the model, so the limits apply. */
static bool may_ask(Frame *f, Cancel *cancel, Error *err) {
    RunStatus status = RUN_OPEN;
    char reason[600] = "";
    f->iterations = 0;
    if (!frame_over_limit(f, cancel, &status, reason, err)) return false;
    return status == RUN_OPEN || error_set(err, ERR_LIMIT, "%s", reason);
}

static bool tell_compacted(Frame *f, const SessionCompact *c, Str summary, Error *err) {
    Buf data = { 0 };
    event_data_start(&data);
    event_data_int(&data, "messages", (int64_t)c->messages);
    event_data_str(&data, "summary", summary);
    event_data_int(&data, "before", c->before);
    event_data_int(&data, "after", c->after);
    event_data_end(&data);
    bool ok = frame_event(f, EVENT_CONVERSATION_COMPACTED, &data, err) && run_settle(f->s->run, false, err);
    buf_clear(&data);
    return ok;
}

bool session_compact(Session *s, Cancel *cancel, SessionCompact *out, Error *err) {
    Frame *f = s->top;
    Buf summary = { 0 };
    *out = (SessionCompact){ .messages = f->history.n, .before = tokens_of(f) };
    if (f->history.n < 2) return error_set(err, ERR_VALIDATION, "nothing to compact: the conversation has no answer yet");
    bool ok = may_ask(f, cancel, err) && summary_of_all(f, cancel, &summary, err);
    Str words = str_trim(buf_str(&summary));
    out->after = context_tokens(words);
    ok = ok && tell_compacted(f, out, words, err) && frame_forget(f, words, err);
    if (ok) drop_unfinished(s);
    buf_clear(&summary);
    return ok;
}

/* ---- plan mode and the model ---- */

bool session_plan(Session *s, bool on, Error *err) {
    Buf data = { 0 };
    if (on) run_set_plan(s->run, true);                      /* applies even if the event cannot be written */
    event_data_start(&data);
    event_data_bool(&data, "on", on);
    event_data_end(&data);
    bool ok = frame_event(s->top, EVENT_CONVERSATION_PLAN, &data, err) && run_settle(s->run, false, err);
    buf_clear(&data);
    if (ok) run_set_plan(s->run, on);
    return ok;
}

bool session_model(Session *s, Str name, Error *err) {
    Frame *f = s->top;
    Model *m;
    ModelDef def;
    Buf data = { 0 };
    if (!str_eq(name, session_model_name(s)) && !agent_model_known(s->agents, name, err)) return false;
    if (!agent_model_of(s->agents, name, STR(""), &f->model_def, &m, &def, err)) return false;
    event_data_start(&data);
    event_data_str(&data, "model", name);
    event_data_str(&data, "from", session_model_name(s));
    event_data_end(&data);
    bool ok = frame_event(f, EVENT_CONVERSATION_MODEL, &data, err);
    buf_clear(&data);
    if (!ok) return false;
    f->model = m;
    f->model_def = def;
    return true;
}

/* ---- calls of the user ---- */

/* Like `harness call`: the rules of the project and the run's own list apply, the list of an agent does not. */
bool session_call(Session *s, Str tool, Str args, Cancel *cancel, Result *out, Error *err) {
    Call call = { .id = frame_fresh_id(s, STR("user"), false), .name = tool, .arguments = args, .by_user = true, .media = true, .wait = true };
    return tool_call(s->run, &call, cancel, out, err);
}

void session_add_text(Session *s, Str text) {
    Buf *extra = &s->top->extra;
    if (extra->n) buf_add(extra, STR("\n\n"));
    buf_add(extra, text);
}

bool session_add_media(Session *s, const Result *r, Error *err) {
    Frame *f = s->top;
    List *media = NULL;
    if (r->media.n == 0) return true;
    if (!parts_from_blocks(f->heap, r->content, &media, err)) return false;
    if (!f->attached && !(f->attached = list_new(f->heap, 2, err))) return false;
    for (uint32_t i = 0; media && i < media->n; i++)
        if (!list_push(f->heap, f->attached, media->at[i], err)) return false;
    return true;
}
