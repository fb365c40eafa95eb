/* Asks in an open page of the console, which is another process: through the store, as approvals are (store_dialog.h).
 *
 * A run at a terminal asks there, too. The first answer counts and closes the question in the other place. */
#include <stdio.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/random.h"
#include "store/store_dialog.h"
#include "tool/bridge/bridge.h"
#include "tool/pipeline/control.h"
#include "tool/pipeline/pipe.h"
#include "value/list.h"

#define NOTICE_NS (3600 * (int64_t)1000000000)           /* a notification that no user closed is shown this long */

/* One question in the page. */
typedef struct Shown {
    ToolCallFrame *f;
    const BridgeAsk *ask;
    BridgeAnswer *out;
    char id[24];
    Error problem;                       /* why the last pick was refused, for the next question */
    bool answered;                       /* by the page; `out` has its answer */
    bool bad;                            /* the answer does not fit the question */
} Shown;

static bool can_page(const ToolCallFrame *f, const BridgeAsk *ask, Error *why) {
    bool any = false;
    (void)ask;
    if (pipe_person(f->host->call)->away) return error_set(why, ERR_POLICY, "the client is not at this console");
    if (f->run->store && !store_viewer_any(f->run->store, &any, NULL)) any = false;
    return any || error_set(why, ERR_POLICY, "no page of the console is open");
}

/* ---- the question ---- */

static void add_texts(Buf *out, const char *key, const Str *texts, size_t n) {
    event_data_key(out, str_from(key));
    buf_add_char(out, '[');
    for (size_t i = 0; i < n; i++) {
        if (i) buf_add_char(out, ',');
        json_write_string(out, texts[i], false);
    }
    buf_add_char(out, ']');
}

static void add_body(const Shown *s, Buf *out) {
    static const char *const kinds[] = { [BRIDGE_NOTIFY] = "notification", [BRIDGE_DIALOG] = "dialog", [BRIDGE_PICK] = "picker" };
    const BridgeAsk *ask = s->ask;
    event_data_start(out);
    event_data_str(out, "kind", str_from(kinds[ask->kind]));
    event_data_str(out, "label", ask->label);
    event_data_str(out, "title", ask->title);
    event_data_str(out, "text", ask->text);
    if (ask->kind == BRIDGE_DIALOG) add_texts(out, "buttons", ask->buttons, ask->n_buttons);
    if (ask->kind == BRIDGE_PICK) {
        event_data_bool(out, "multiple", ask->multiple);
        add_texts(out, "globs", ask->globs, ask->n_globs);
        add_texts(out, "files", ask->files, ask->n_files);
        event_data_bool(out, "more_files", ask->more_files);
        if (s->problem.kind != ERR_NONE) event_data_str(out, "problem", str_from(s->problem.msg));
    }
    event_data_end(out);
}

static bool put_question(Shown *s, Error *err) {
    ToolCallFrame *f = s->f;
    Buf body = { 0 };
    int64_t now = clock_wall_ns();
    snprintf(s->id, sizeof s->id, "d%016llx", (unsigned long long)random_u64());
    add_body(s, &body);
    StoreDialog d = { .id = str_from(s->id), .run = f->run->id, .call = f->call_id, .tool = f->entry->def.name, .body = buf_str(&body), .asked_ns = now,
                      .expires_ns = s->ask->kind == BRIDGE_NOTIFY ? now + NOTICE_NS : pipe_person(f->host->call)->bridge ? 0
                          : now + BRIDGE_WAIT_MS * (int64_t)1000000 };
    bool ok = run_settle(f->run, false, err) && store_dialog_ask(f->run->store, &d, err);
    buf_clear(&body);
    return ok;
}

/* ---- the answer of the page ---- */

static void take_files(Shown *s, Value files) {
    for (size_t i = 0; value_is_list(files) && i < value_list(files)->n; i++) {
        Value v = value_list(files)->at[i];
        if (!value_is_string(v) || s->out->n_files == BRIDGE_FILES_MAX) s->bad = true;
        else s->out->files[s->out->n_files++] = arena_str(&s->out->arena, value_str(v));
    }
    s->out->closed = s->out->n_files == 0;
}

/* {"button": 1}, {"files": […]} or {"closed": true}. The console has checked it; another program may have written it. */
static bool take_answer(void *ctx, const StoreDialog *d) {
    Shown *s = ctx;
    Heap *h = heap_new(0);
    Value v;
    if (str_eq(d->state, STR("answered")) && json_read(h, d->answer, NULL, &v, NULL) && value_is_dict(v)) {
        Value button = value_member(v, "button");
        s->answered = true;
        s->out->closed = true;
        s->out->n_files = 0;
        if (s->ask->kind == BRIDGE_PICK) take_files(s, value_member(v, "files"));
        else if (value_is_small(button)) {
            s->out->closed = false;
            s->bad = value_small(button) < 0 || (size_t)value_small(button) >= s->ask->n_buttons;
            s->out->button = s->bad ? 0 : (size_t)value_small(button);
        }
    }
    heap_free(h);
    return true;
}

static bool read_answer(Shown *s, Error *err) {
    if (!store_dialog_get(s->f->run->store, str_from(s->id), take_answer, s, err)) return false;
    if (!s->answered) s->out->closed = true;               /* withdrawn */
    return !s->bad || error_set(err, ERR_PROTOCOL, "the answer from the page does not fit the question");
}

/* ---- the terminal beside it ---- */

static void add_terminal_answer(const Shown *s, Buf *out) {
    const BridgeAnswer *a = s->out;
    event_data_start(out);
    if (a->closed) event_data_bool(out, "closed", true);
    else if (s->ask->kind == BRIDGE_DIALOG) event_data_int(out, "button", (int64_t)a->button);
    else add_texts(out, "files", a->files, a->n_files);
    event_data_end(out);
}

/* Closes the question in the page, unless the page answered first. */
static bool settle_terminal(Shown *s, Error *err) {
    Buf answer = { 0 }, by = { 0 };
    bool first = false;
    add_terminal_answer(s, &answer);
    buf_add_fmt(&by, "terminal, uid %u", (unsigned)getuid());
    bool ok = store_dialog_answer(s->f->run->store, str_from(s->id), buf_str(&answer), buf_str(&by), &first, err);
    if (ok && first) s->out->place = &bridge_terminal_place;
    buf_clear(&answer);
    buf_clear(&by);
    return ok && (first || read_answer(s, err));
}

static bool ask_terminal(Shown *s, const Person *person, Cancel *stop, Error *err) {
    Error why = { 0 };
    if (!person->apart) pthread_mutex_lock(&s->f->runtime->asking);
    bool ok = person->bridge(person->ctx, s->ask, s->out, stop, &why);
    if (!person->apart) pthread_mutex_unlock(&s->f->runtime->asking);
    if (ok) return settle_terminal(s, err);
    if (!cancel_fired(stop) || cancel_expired(s->f->cancel)) return *err = why, false;
    return read_answer(s, err);
}

/* ---- asking ---- */

static bool ask_page(Shown *s, Cancel *stop, Error *err) {
    Error fired = { 0 };
    if (cancel_sleep(stop, BRIDGE_WAIT_MS * (int64_t)1000000, &fired)) {     /* no answer in time */
        s->out->closed = true;
        return store_dialog_withdraw(s->f->run->store, str_from(s->id), err);
    }
    return cancel_check(s->f->cancel, err) && read_answer(s, err);
}

static bool ask_once(Shown *s, Error *err) {
    const Person *person = pipe_person(s->f->host->call);
    if (!put_question(s, err)) return false;
    ControlQuestion q = { str_from(s->id), cancel_new(s->f->cancel, 0), s->f->run, false };
    bool ok = control_question_start(s->f->run, &q, err);
    if (ok) {
        ok = person->bridge ? ask_terminal(s, person, q.stop, err) : ask_page(s, q.stop, err);
        control_question_end(s->f->run, &q);
    }
    cancel_free(q.stop);
    if (!ok) (void)store_dialog_withdraw(s->f->run->store, str_from(s->id), NULL);
    return ok;
}

/* A file that may not be picked: the user is told why, and picks again. */
static bool is_refused(Shown *s) {
    s->problem = (Error){ 0 };
    if (s->ask->kind != BRIDGE_PICK || s->out->place || s->out->closed) return false;
    for (size_t i = 0; i < s->out->n_files; i++)
        if (!s->ask->check(s->ask->ctx, s->out->files[i], false, &s->problem)) return true;
    return false;
}

static bool notify(Shown *s, Error *err) {
    const Person *person = pipe_person(s->f->host->call);
    if (!put_question(s, err)) return false;
    if (!person->bridge) return true;
    if (!person->apart) pthread_mutex_lock(&s->f->runtime->asking);
    bool ok = person->bridge(person->ctx, s->ask, s->out, s->f->cancel, err);
    if (!person->apart) pthread_mutex_unlock(&s->f->runtime->asking);
    return ok;
}

static bool show_page(ToolCallFrame *f, const BridgeAsk *ask, BridgeAnswer *out, Cancel *cancel, Error *err) {
    Shown s = { .f = f, .ask = ask, .out = out };
    (void)cancel;                                         /* the frame has the same token */
    if (ask->kind == BRIDGE_NOTIFY) return notify(&s, err);
    do {
        out->n_files = 0;
        if (!ask_once(&s, err)) return false;
    } while (is_refused(&s));
    return true;
}

const BridgePlace bridge_page_place = { "page", false, can_page, show_page };
