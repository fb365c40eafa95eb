/* /resume continues another run, /reload loads the project's files again; both stay in the same conversation. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/vec.h"
#include "cli/report.h"
#include "cli/terminal/talk_private.h"
#include "cli/terminal/width.h"
#include "model/request.h"

enum { LISTED = 15, SHOWN_EXCHANGES = 3, SHOWN_LINES = 12, SHORT_ID = 8 };

/* ---- the list ---- */

typedef struct Picking { Doing *d; Str current; VEC(char *) ids; } Picking;

/* Conversations and jobs have a title, the calls of `harness call` none. */
static bool list_run(void *ctx, const StoreRun *r) {
    Picking *p = ctx;
    if (r->title.n == 0 || str_eq(r->id, p->current)) return true;
    Buf left = { 0 }, right = { 0 };
    VEC_PUSH(&p->ids, str_dup(r->id));
    buf_add_fmt(&left, "%2zu  ", p->ids.n);
    report_age(&left, r->started_ns);
    buf_add(&left, STR(" ago"));
    if (str_eq(r->status, STR("running"))) buf_add(&left, STR(", running"));
    cli_escape_all(&right, r->title, false);
    talk_row(p->d, 24, buf_str(&left), buf_str(&right));
    buf_clear(&left);
    buf_clear(&right);
    return p->ids.n < LISTED;
}

static bool ask_line(const Talk *t, Str question, Buf *answer) {
    Cancel *cancel = cancel_new(NULL, 0);
    Interrupt *interrupt = interrupt_start(cancel);
    bool answered = t->terminal && confirm_terminal_question(t->terminal, question, cancel, answer);
    interrupt_stop(interrupt);
    cancel_free(cancel);
    return answered;
}

/* A number of the list, or a run as `harness runs resume` takes it. */
static bool understand(const Picking *p, Store *store, Str said, Buf *id, Error *err) {
    size_t n = 0, i = 0;
    while (i < said.n && said.at[i] >= '0' && said.at[i] <= '9' && n <= LISTED) n = n * 10 + (size_t)(said.at[i++] - '0');
    bool number = said.n && said.n <= 2 && i == said.n;
    if (number && n >= 1 && n <= p->ids.n) return buf_add(id, str_from(p->ids.at[n - 1])), true;
    if (number && p->ids.n) return error_set(err, ERR_VALIDATION, "type a number from 1 to %zu", p->ids.n);
    return store_run_find(store, said, id, err);
}

/* *id stays empty if the user chose none. */
static bool pick(Doing *d, Store *store, Buf *id, Error *err) {
    Picking p = { .d = d, .current = run_id(session_run(d->t->session)) };
    Buf answer = { 0 };
    bool ok = true;
    if (d->rest.n) {
        ok = understand(&p, store, d->rest, id, err);
    } else if ((ok = store_run_each(store, list_run, &p, err)) && p.ids.n == 0) {
        buf_add(&d->out, STR("no earlier run in this folder\n"));
    } else if (ok) {
        talk_show(d);
        if (ask_line(d->t, STR("continue which run? its number, or Enter for none: "), &answer) && str_trim(buf_str(&answer)).n)
            ok = understand(&p, store, str_trim(buf_str(&answer)), id, err);
    }
    for (size_t i = 0; i < p.ids.n; i++) free(p.ids.at[i]);
    VEC_CLEAR(&p.ids);
    buf_clear(&answer);
    return ok;
}

/* ---- the conversation so far ---- */

static void add_lines(Buf *out, const char *first, Str text) {
    size_t lines = 0;
    for (Str line; str_next_line(&text, &line); lines++) {
        if (lines == SHOWN_LINES) {
            buf_add(out, STR("  …\n"));
            return;
        }
        buf_add(out, str_from(lines ? "  " : first));
        cli_escape_all(out, line, false);
        buf_add_char(out, '\n');
    }
}

static void show_message(Buf *out, Value m) {
    const List *calls = request_list(m, "tool_calls");
    Role role = request_role(m);
    if (role == ROLE_USER) add_lines(out, "> ", value_member_text(m, "content"));
    if (role == ROLE_ASSISTANT) add_lines(out, "", value_member_text(m, "content"));
    for (uint32_t i = 0; calls && i < calls->n; i++) {
        buf_add(out, STR("● "));
        cli_escape_all(out, value_member_text(calls->at[i], "name"), false);
        buf_add_char(out, '\n');
    }
}

/* Shows the last exchanges. */
static void show_conversation(Doing *d) {
    Session *s = d->t->session;
    size_t n = session_message_count(s), from = n, users = 0;
    while (from > 0 && users < SHOWN_EXCHANGES) users += request_role(session_message(s, --from)) == ROLE_USER;
    if (from > 0) buf_add_fmt(&d->out, "(%zu earlier messages)\n", from);
    for (size_t i = from; i < n; i++) show_message(&d->out, session_message(s, i));
    if (run_planning(session_run(s))) buf_add(&d->out, STR("plan mode is on; /go ends it\n"));
}

static bool may_switch(const Talk *t, const char *command, Error *err) {
    if (t->kept && t->resume && t->reload) return true;
    error_set(err, ERR_VALIDATION, "%s needs the record of runs, and this conversation has none", command);
    return error_hint(err, "start harness run without --ephemeral");
}

void talk_resume(Doing *d) {
    Talk *t = d->t;
    Error err = { 0 };
    Buf id = { 0 };
    Store *store = may_switch(t, "/resume", &err) ? runtime_store(run_runtime(session_run(t->session)), &err) : NULL;
    bool ok = store && pick(d, store, &id, &err);
    if (ok && id.n && str_eq(buf_str(&id), run_id(session_run(t->session)))) {
        buf_add(&d->out, STR("that is this conversation\n"));
    } else if (ok && id.n && (ok = t->resume(t->owner, buf_str(&id), &t->session, &err))) {
        buf_add(&d->out, STR("continuing run "));
        buf_add(&d->out, id.n > SHORT_ID ? str_sub(buf_str(&id), id.n - SHORT_ID, id.n) : buf_str(&id));
        buf_add_char(&d->out, '\n');
        show_conversation(d);
    }
    if (!ok) talk_fail(t, &err);
    buf_clear(&id);
}

/* ---- /reload ---- */

void talk_reload(Doing *d) {
    Talk *t = d->t;
    Error err = { 0 };
    Problems problems = { 0 };
    if (may_switch(t, "/reload", &err) && t->reload(t->owner, &t->session, &problems, &err)) {
        const Project *p = runtime_project(run_runtime(session_run(t->session)));
        buf_add_fmt(&d->out, "loaded again: ");
        report_count(&d->out, p->n_tools, "tool");
        buf_add(&d->out, STR(", "));
        report_count(&d->out, p->n_hooks, "hook");
        buf_add(&d->out, STR(", "));
        report_count(&d->out, p->n_agents, "agent");
        buf_add_char(&d->out, '\n');
    } else {
        report_problems(t->cli, &problems);
        if (err.kind) talk_fail(t, &err);
        if (problems.n || err.kind) buf_add(&d->out, STR("the project stays as it was loaded before\n"));
    }
    problems_clear(&problems);
}
