/* Dialogs, pickers and notifications of bridge tools (tool/bridge/page.c). They are never approvals, and have paths of their own. */
#include "base/clock.h"
#include "doors/console_private.h"
#include "store/store_dialog.h"
#include "store/store_page.h"
#include "value/list.h"

enum { FILES_MAX = 100, PATH_BYTES_MAX = 4096, LISTED_MAX = 50 };

static bool is_running(Store *s, Str run) {
    Buf status = { 0 };
    bool running = store_run_status(s, run, &status, NULL) && str_eq(buf_str(&status), STR("running"));
    buf_clear(&status);
    return running;
}

/* A notification does not wait: it is shown also after its run. */
bool console_dialog_shown(Store *s, const StoreDialog *d) {
    if (d->expires_ns && clock_wall_ns() > d->expires_ns) return false;
    return str_starts(d->body, STR("{\"kind\":\"notification\"")) || is_running(s, d->run);
}

/* ---- the list ---- */

static void add_dialog(Buf *out, const StoreDialog *d) {
    buf_add(out, STR("{\"id\":"));
    json_write_string(out, d->id, false);
    console_add_member(out, "run", d->run);
    console_add_member(out, "call", d->call);
    console_add_member(out, "tool", d->tool);
    buf_add(out, STR(",\"asked\":"));
    store_page_time(out, d->asked_ns);
    buf_add(out, STR(",\"expires\":"));
    store_page_time(out, d->expires_ns);
    buf_add_fmt(out, "," STR_FMT, STR_ARG(str_sub(d->body, 1, d->body.n)));          /* the members of the body, and its closing brace */
}

typedef struct Listing { Store *store; Buf out; size_t n; } Listing;

static bool list_one(void *ctx, const StoreDialog *d) {
    Listing *l = ctx;
    if (d->body.n < 2 || !console_dialog_shown(l->store, d)) return true;
    if (l->n++) buf_add_char(&l->out, ',');
    add_dialog(&l->out, d);
    return l->n < LISTED_MAX;
}

void console_dialogs(ConsoleCall *c) {
    Error err = { 0 };
    Listing l = { .store = c->console->config->store };
    buf_add_char(&l.out, '[');
    if (!store_dialog_each(l.store, list_one, &l, &err)) return buf_clear(&l.out), console_fail(c, &err);
    buf_add_char(&l.out, ']');
    console_reply(c, 200, &l.out);
}

/* ---- the answer ---- */

typedef struct Found { Heap *heap; Value body; Buf state, by; bool found; Error err; } Found;

static bool take_dialog(void *ctx, const StoreDialog *d) {
    Found *f = ctx;
    f->found = json_read(f->heap, d->body, NULL, &f->body, &f->err);
    buf_add(&f->state, d->state);
    buf_add(&f->by, d->by);
    return true;
}

static bool find(ConsoleCall *c, Found *f, Error *err) {
    *f = (Found){ .heap = c->heap, .body = VALUE_GONE };
    if (!store_dialog_get(c->console->config->store, c->part[0], take_dialog, f, err)) return false;
    return f->found || error_set(err, ERR_VALIDATION, "there is no dialog " STR_FMT, STR_ARG(c->part[0]));
}

static bool add_button(ConsoleCall *c, Value body, Buf *answer, Error *err) {
    Value buttons = value_member(body, "buttons");
    int64_t n = 0;
    if (!value_is_list(buttons)) return error_set(err, ERR_VALIDATION, "\"button\": this is not a dialog with buttons");
    if (!console_body_int(c, "button", 0, (int64_t)value_list(buttons)->n - 1, &n, err)) return false;
    buf_add_fmt(answer, "{\"button\":%lld}", (long long)n);
    return true;
}

/* Whether a path may be picked is checked by the process that asked. */
static bool add_files(Value body, Value files, Buf *answer, Error *err) {
    if (!str_eq(value_member_text(body, "kind"), STR("picker"))) return error_set(err, ERR_VALIDATION, "\"files\": this is not a file picker");
    if (!value_is_list(files) || value_list(files)->n > FILES_MAX) return error_set(err, ERR_VALIDATION, "\"files\" is not a list of at most %d paths", FILES_MAX);
    if (value_list(files)->n > 1 && !value_truth(value_member(body, "multiple"))) return error_set(err, ERR_VALIDATION, "\"files\": only one can be picked");
    for (size_t i = 0; i < value_list(files)->n; i++) {
        Value v = value_list(files)->at[i];
        if (!value_is_string(v) || value_str(v).n == 0 || value_str(v).n > PATH_BYTES_MAX)
            return error_set(err, ERR_VALIDATION, "\"files\"[%zu] is not a path of 1 to %d bytes", i, PATH_BYTES_MAX);
    }
    buf_add(answer, STR("{\"files\":"));
    bool ok = json_write(answer, files, NULL, err);
    buf_add_char(answer, '}');
    return ok;
}

/* {"button": 0}, {"files": ["a.txt"]}, or {}: closed. */
static bool read_answer(ConsoleCall *c, const Found *f, Buf *answer, Error *err) {
    static const char *const known[] = { "button", "files", NULL };
    Value button = value_member(c->body, "button"), files = value_member(c->body, "files");
    if (!console_body_known(c, known, err)) return false;
    if (!value_is_gone(button) && !value_is_gone(files)) return error_set(err, ERR_VALIDATION, "give either \"button\" or \"files\"");
    if (!value_is_gone(button)) return add_button(c, f->body, answer, err);
    if (!value_is_gone(files)) return add_files(f->body, files, answer, err);
    buf_add(answer, STR("{\"closed\":true}"));
    return true;
}

/* Another answer was first, or the call has ended. */
static void reply_late(ConsoleCall *c, const Found *now) {
    Buf out = { 0 };
    Error err = { 0 };
    if (str_eq(buf_str(&now->state), STR("withdrawn"))) error_set(&err, ERR_POLICY, "the dialog was withdrawn: the call that showed it has ended");
    else error_set(&err, ERR_POLICY, "the dialog was answered already, by " STR_FMT, STR_ARG(buf_str(&now->by)));
    buf_add(&out, STR("{\"error\":"));
    console_error_json(&out, &err);
    console_add_member(&out, "state", buf_str(&now->state));
    console_add_member(&out, "by", buf_str(&now->by));
    buf_add_char(&out, '}');
    console_reply(c, 409, &out);
}

static void found_clear(Found *f) {
    buf_clear(&f->state);
    buf_clear(&f->by);
}

void console_dialog_answer(ConsoleCall *c) {
    Error err = { 0 };
    Found f, now;
    Buf answer = { 0 }, out = { 0 };
    bool first = false, ok = find(c, &f, &err) && read_answer(c, &f, &answer, &err) &&
        store_dialog_answer(c->console->config->store, c->part[0], buf_str(&answer), buf_str(&c->console->by), &first, &err);
    found_clear(&f);
    buf_clear(&answer);
    if (!ok) return console_fail(c, &err);
    if (first) {
        console_streams_changed(c->console->streams);
        buf_add(&out, STR("{\"ok\":true}"));
        return console_reply(c, 200, &out);
    }
    if (find(c, &now, &err)) reply_late(c, &now);
    else console_fail(c, &err);
    found_clear(&now);
}
