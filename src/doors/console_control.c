/* Answers to questions and commands to runs: all that the console writes into the store. */
#include "doors/console_private.h"
#include "store/store_page.h"

enum { TEXT_MAX = 64 << 10 };

/* ---- the list ---- */

void console_question_json(Store *s, const StoreApproval *a, Buf *out) {
    Buf shown = { 0 };
    bool found = false;
    store_page_approval_json(s, a, store_page_waits(s, a->run), out);
    if (!store_question_note_get(s, a->run, a->id, STORE_QUESTION_SHOWN, &shown, &found, NULL)) found = false;
    out->n--;                                                                /* its closing brace */
    if (found) console_add_member(out, "shown", buf_str(&shown));
    else buf_add(out, STR(",\"shown\":null"));
    buf_add_char(out, '}');
    buf_clear(&shown);
}

typedef struct Listing { Store *store; Str run; Buf out; size_t n; } Listing;

static bool list_one(void *ctx, const StoreApproval *a) {
    Listing *l = ctx;
    if (l->run.n && !str_eq(a->run, l->run)) return true;
    if (l->n++) buf_add_char(&l->out, ',');
    console_question_json(l->store, a, &l->out);
    return true;
}

void console_approvals(ConsoleCall *c) {
    Error err = { 0 };
    Listing l = { .store = c->console->config->store, .run = http_server_query(c->q, STR("run")) };
    buf_add_char(&l.out, '[');
    if (!store_approval_each(l.store, list_one, &l, &err)) return buf_clear(&l.out), console_fail(c, &err);
    buf_add_char(&l.out, ']');
    console_reply(c, 200, &l.out);
}

/* ---- one question ---- */

typedef struct Question { Store *store; Buf json, state, by, args; bool found; } Question;

static bool take_question(void *ctx, const StoreApproval *a) {
    Question *q = ctx;
    q->found = true;
    console_question_json(q->store, a, &q->json);
    buf_add(&q->state, a->state);
    buf_add(&q->by, a->by);
    buf_add(&q->args, a->args);
    return true;
}

static void question_clear(Question *q) {
    buf_clear(&q->json);
    buf_clear(&q->state);
    buf_clear(&q->by);
    buf_clear(&q->args);
}

static bool read_question(ConsoleCall *c, Question *q, Error *err) {
    *q = (Question){ .store = c->console->config->store };
    if (!store_approval_get(q->store, c->part[0], take_question, q, err)) return false;
    return q->found || error_set(err, ERR_VALIDATION, "there is no question " STR_FMT, STR_ARG(c->part[0]));
}

void console_approval(ConsoleCall *c) {
    Error err = { 0 };
    Question q;
    if (!read_question(c, &q, &err)) console_fail(c, &err);
    else console_reply(c, 200, &q.json);
    question_clear(&q);
}

/* ---- answering ---- */

/* Another answer was first: says whose. */
static void reply_late(ConsoleCall *c, const Question *now) {
    Buf out = { 0 };
    Error err = { 0 };
    Str id = c->part[0];
    if (str_eq(buf_str(&now->state), STR("withdrawn"))) error_set(&err, ERR_POLICY, STR_FMT " was withdrawn: the call that asked has ended", STR_ARG(id));
    else if (str_eq(buf_str(&now->state), STR("open"))) error_set(&err, ERR_POLICY, STR_FMT " has expired: the call will be refused", STR_ARG(id));
    else error_set(&err, ERR_POLICY, STR_FMT " was answered already, by " STR_FMT, STR_ARG(id), STR_ARG(buf_str(&now->by)));
    buf_add(&out, STR("{\"error\":"));
    console_error_json(&out, &err);
    console_add_member(&out, "state", buf_str(&now->state));
    console_add_member(&out, "by", buf_str(&now->by));
    buf_add_char(&out, '}');
    console_reply(c, 409, &out);
}

static void put_answer(ConsoleCall *c, Str answer) {
    Error err = { 0 };
    Question now;
    bool first = false;
    bool ok = store_approval_answer(c->console->config->store, c->part[0], answer, buf_str(&c->console->by), &first, &err);
    if (ok && first) console_streams_changed(c->console->streams);
    ok = ok && read_question(c, &now, &err);
    if (!ok) return console_fail(c, &err);
    if (first) console_reply(c, 200, &now.json);
    else reply_late(c, &now);
    question_clear(&now);
}

static bool add_args(ConsoleCall *c, Value args, Buf *answer, Error *err) {
    Question q;
    if (!value_is_dict(args)) return error_set(err, ERR_VALIDATION, "\"args\" is not an object");
    bool ok = read_question(c, &q, err);
    if (ok && str_find(buf_str(&q.args), STR("[redacted]")) >= 0)
        ok = error_set(err, ERR_VALIDATION, "arguments that held a secret cannot be changed");
    question_clear(&q);
    buf_add(answer, STR(",\"args\":"));
    return ok && json_write(answer, args, &(JsonWrite){ .max_bytes = CONSOLE_BODY_MAX }, err);
}

void console_approve(ConsoleCall *c) {
    static const char *const known[] = { "args", NULL };
    Error err = { 0 };
    Buf answer = { 0 };
    Value args = value_member(c->body, "args");
    buf_add(&answer, STR("{\"answer\":\"yes\""));
    bool ok = console_body_known(c, known, &err);
    if (ok && !value_is_gone(args) && !value_is_none(args)) ok = add_args(c, args, &answer, &err);
    buf_add_char(&answer, '}');
    if (ok) put_answer(c, buf_str(&answer));
    else console_fail(c, &err);
    buf_clear(&answer);
}

void console_deny(ConsoleCall *c) {
    static const char *const known[] = { "reason", NULL };
    Error err = { 0 };
    Buf answer = { 0 };
    Str reason;
    if (!console_body_known(c, known, &err) || !console_body_text(c, "reason", TEXT_MAX, &reason, &err)) return console_fail(c, &err);
    buf_add(&answer, STR("{\"answer\":\"no\""));
    if (str_trim(reason).n) console_add_member(&answer, "reason", str_trim(reason));
    buf_add_char(&answer, '}');
    put_answer(c, buf_str(&answer));
    buf_clear(&answer);
}

/* ---- commands ---- */

static void send_command(ConsoleCall *c, const char *kind, Str body) {
    Error err = { 0 };
    Buf status = { 0 }, out = { 0 };
    if (!console_find_run(c, &status)) return;
    if (!str_eq(buf_str(&status), STR("running"))) {
        error_set(&err, ERR_POLICY, "run " STR_FMT " is not running: it is " STR_FMT, STR_ARG(c->part[0]), STR_ARG(buf_str(&status)));
        console_fail_with(c, 409, &err);
    } else if (!store_command_put(c->console->config->store, c->part[0], str_from(kind), body, buf_str(&c->console->by), &err)) console_fail(c, &err);
    else buf_add(&out, STR("{\"ok\":true}")), console_reply(c, 202, &out);
    buf_clear(&status);
}

void console_cancel(ConsoleCall *c) {
    static const char *const known[] = { NULL };
    Error err = { 0 };
    if (!console_body_known(c, known, &err)) return console_fail(c, &err);
    send_command(c, "cancel", STR(""));
}

void console_say(ConsoleCall *c) {
    static const char *const known[] = { "text", NULL };
    Error err = { 0 };
    Str text;
    if (!console_body_known(c, known, &err) || !console_body_text(c, "text", TEXT_MAX, &text, &err)) return console_fail(c, &err);
    text = str_trim(text);
    if (text.n) return send_command(c, "message", text);
    error_set(&err, ERR_VALIDATION, "\"text\" is empty");
    console_fail(c, &err);
}
