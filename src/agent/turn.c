/* One user message, from turn.start to turn.end. */
#include <stdio.h>
#include "agent/frame.h"
#include "model/request.h"

static bool payload_of(Frame *f, Heap *h, const Str *text, Value *out, Error *err) {
    Dict *d = dict_new(h, 3, err);
    *out = value_from_object(d);
    return d && dict_put_text(h, d, "run", run_id(f->s->run), err) && dict_put_text(h, d, "agent", f->name, err)
        && (!text || dict_put_text(h, d, "text", *text, err));
}

static void blocked(SessionReply *out, const char *event, const char *reason) {
    out->status = RUN_BLOCKED;
    snprintf(out->reason, sizeof out->reason, "%s: %s", event, reason);
}

/* session.start once, then turn.start, which may change the text. */
static bool ask_start(Frame *f, Heap *h, Str *text, Cancel *cancel, SessionReply *out, Error *err) {
    Value payload;
    HookOutcome o;
    if (f->depth == 0 && !f->s->started) {
        f->s->started = true;
        if (frame_hooked(f, HOOK_SESSION_START)) {
            if (!payload_of(f, h, NULL, &payload, err)) return false;
            frame_ask(f, HOOK_SESSION_START, h, payload, cancel, &o);
            if (o.decision != HOOK_ALLOW) {
                f->s->started = false;
                return blocked(out, "session.start", o.reason), true;
            }
        }
    }
    if (!frame_hooked(f, HOOK_TURN_START)) return true;
    Buf whole = { 0 };                                       /* hooks see all of the message, with what is attached */
    buf_add(&whole, *text);
    if (f->extra.n) buf_add_fmt(&whole, "\n\n" STR_FMT, STR_ARG(buf_str(&f->extra)));
    Str all = buf_str(&whole);
    bool ok = payload_of(f, h, &all, &payload, err);
    buf_clear(&whole);
    if (!ok) return false;
    frame_ask(f, HOOK_TURN_START, h, payload, cancel, &o);
    if (o.decision != HOOK_ALLOW) return blocked(out, "turn.start", o.reason), true;
    if (o.modified) *text = value_member_text(o.payload, "text"), buf_reset(&f->extra);
    return true;
}

static bool tell_start(Frame *f, Str text, Error *err) {
    Buf data = { 0 };
    event_data_start(&data);
    event_data_int(&data, "turn", ++f->turn);
    event_data_str(&data, "text", text);
    if (f->extra.n) event_data_str(&data, "attached", buf_str(&f->extra));
    if (f->attached) {
        Buf list = { 0 };
        parts_write_media(&list, f->attached);
        event_data_raw(&data, "media", buf_str(&list));
        buf_clear(&list);
    }
    event_data_end(&data);
    bool ok = (!f->attached || run_media_put(f->s->run, f->attached, err)) && frame_event(f, EVENT_TURN_STARTED, &data, err)
        && (f->depth > 0 || f->turn > 1 || run_note_title(f->s->run, text, err));
    buf_clear(&data);
    return ok;
}

static bool tell_end(Frame *f, const SessionReply *r, Error *err) {
    Buf data = { 0 };
    event_data_start(&data);
    event_data_int(&data, "turn", f->turn);
    event_data_str(&data, "status", str_from(run_status_name(r->status)));
    event_data_str(&data, "response", buf_str(&r->text));
    if (r->reason[0]) event_data_str(&data, "reason", str_from(r->reason));
    event_data_end(&data);
    bool ok = frame_event(f, EVENT_TURN_ENDED, &data, err) && (f->depth > 0 || run_settle(f->s->run, false, err));
    buf_clear(&data);
    if (!ok || !frame_hooked(f, HOOK_TURN_END)) return ok;
    Heap *h = heap_new((size_t)64 << 20);
    Value payload;
    HookOutcome o;
    Str text = buf_str(&r->text);
    if (payload_of(f, h, &text, &payload, NULL)) frame_ask(f, HOOK_TURN_END, h, payload, NULL, &o);
    heap_free(h);
    return true;
}

/* {kind, name, message, agent, depth} for the hooks of `error`. */
static void tell_error(Frame *f, const SessionReply *r) {
    if (r->status == RUN_COMPLETED || !frame_hooked(f, HOOK_ERROR)) return;
    Heap *h = heap_new((size_t)64 << 20);
    Dict *d = dict_new(h, 5, NULL);
    HookOutcome o;
    if (d && dict_put_text(h, d, "kind", STR("turn"), NULL) && dict_put_text(h, d, "name", str_from(run_status_name(r->status)), NULL) &&
        dict_put_text(h, d, "message", str_from(r->reason), NULL) && dict_put_text(h, d, "agent", f->name, NULL) &&
        dict_put_str(h, d, STR("depth"), value_from_small(f->depth), NULL))
        frame_ask(f, HOOK_ERROR, h, value_from_object(d), NULL, &o);
    heap_free(h);
}

/* A turn interrupted by Ctrl-C, or between two steps by a worker that ends, stays open in the journal, so that the run can be resumed there. */
static bool finish(Frame *f, const SessionReply *r, Error *err) {
    if (r->status == RUN_CANCELLED || r->status == RUN_INTERRUPTED) return true;
    if (!tell_end(f, r, err)) return false;
    tell_error(f, r);
    return true;
}

bool frame_answer(Frame *f, Str text, Cancel *cancel, SessionReply *out, Error *err) {
    Heap *h = heap_new((size_t)64 << 20);
    f->iterations = f->tool_calls = 0;
    f->stops = f->hops = f->repairs = 0;
    atomic_store(&f->more_iterations, 0);
    frame_forget_refusals(f);
    f->usage = (ModelUsage){ 0 };
    if (f->depth == 0) run_turn_model(f->s->run, f->model_def.name);
    bool ok = (f->depth > 0 || run_turn_start(f->s->run, text, err)) && ask_start(f, h, &text, cancel, out, err);
    if (ok && !out->status) {
        VEC_PUSH(&f->starts, ((FrameStart){ (uint32_t)f->history.n, run_change_count(f->s->run) }));
        ok = tell_start(f, text, err) && frame_push_user(f, text, buf_str(&f->extra), f->attached, err) && frame_loop(f, cancel, out, err)
            && finish(f, out, err);
    } else if (ok) {
        tell_error(f, out);                                    /* a hook prevented it from starting */
    }
    f->attached = NULL;
    buf_reset(&f->extra);
    heap_free(h);
    return ok;
}

bool frame_go_on(Frame *f, bool unfinished, Value pending, Cancel *cancel, SessionReply *out, Error *err) {
    Value last = f->history.n ? VEC_LAST(&f->history).value : VALUE_GONE;
    bool answered = !value_is_gone(last) && request_role(last) == ROLE_ASSISTANT && !request_list(last, "tool_calls");
    bool more = true;
    if (f->depth == 0 && !run_turn_start(f->s->run, STR(""), err)) return false;
    if (value_is_list(pending)) {
        if (!frame_run_calls(f, NULL, value_list(pending), cancel, out, err)) return false;
    } else if (answered) {
        if (unfinished) {
            if (!frame_settle(f, value_member_text(last, "content"), cancel, out, &more, err)) return false;
        } else {
            buf_add(&out->text, value_member_text(last, "content"));
            more = false;
        }
    }
    if (more && !out->status && !frame_loop(f, cancel, out, err)) return false;
    if (!out->status) out->status = RUN_COMPLETED;
    return !unfinished || finish(f, out, err);
}
