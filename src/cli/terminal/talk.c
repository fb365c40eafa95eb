#include "cli/terminal/talk_private.h"
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "cli/terminal/interrupt.h"
#include "cli/terminal/status.h"
#include "cli/terminal/width.h"
#include "cli/terminal/wrap.h"
#include "value/json.h"

/* ---- one answer ---- */

static void write_json(Cli *cli, Session *s, const SessionReply *r) {
    Buf *b = &cli->out;
    buf_add(b, STR("{\"run\":"));
    json_write_string(b, run_id(session_run(s)), false);
    buf_add_fmt(b, ",\"status\":\"%s\",\"response\":", run_status_name(r->status));
    json_write_string(b, buf_str(&r->text), false);
    if (r->reason[0]) {
        buf_add(b, STR(",\"reason\":"));
        json_write_string(b, str_from(r->reason), false);
    }
    ModelUsage u = session_usage(s);
    buf_add_fmt(b, ",\"turns\":%lld,\"tool_calls\":%lld,\"usage\":", (long long)run_replies(session_run(s)), (long long)run_calls(session_run(s)));
    model_usage_write(&u, b);
    buf_add(b, STR("}\n"));
}

/* Only the answer goes to standard output; errors go to standard error. */
static void print_reply(const Talk *t, const SessionReply *r) {
    Cli *cli = t->cli;
    if (cli->json) {
        write_json(cli, t->session, r);
    } else if (!show_streams(t->show) && r->text.n) {
        cli_add_bytes(cli, buf_str(&r->text));
        if (cli->out.at[cli->out.n - 1] != '\n') buf_add_char(&cli->out, '\n');
    }
    cli_flush(cli);
    if (r->status == RUN_COMPLETED) return;
    Buf line = { 0 };
    buf_add_fmt(&line, "%s: %s", run_status_name(r->status), r->reason);
    cli_say(cli, r->status == RUN_CANCELLED ? SAY_WARNING : SAY_ERROR, buf_str(&line));
    buf_clear(&line);
}

static void add_resume(const Talk *t, Buf *out) {
    if (t->kept) buf_add_fmt(out, "harness runs resume " STR_FMT, STR_ARG(run_id(session_run(t->session))));
}

bool talk_answer(const Talk *t, Str text, RunStatus *status, Error *err) {
    SessionReply reply = { 0 };
    Buf words = { 0 };
    Cancel *cancel = cancel_new(run_cancel(session_run(t->session)), 0);
    Interrupt *interrupt = interrupt_start(cancel);
    interrupt_runtime(interrupt, run_runtime(session_run(t->session)));
    if (t->kept) {
        buf_add(&words, isatty(2) ? STR("\r\033[Kharness: resume with: ") : STR("harness: resume with: "));
        add_resume(t, &words);
        buf_add_char(&words, '\n');
        interrupt_last_words(interrupt, words.at);
    }
    show_begin(t->show, session_model_name(t->session));
    bool ok = text.n ? session_say(t->session, text, cancel, &reply, err) : session_go_on(t->session, cancel, &reply, err);
    show_end(t->show);
    interrupt_stop(interrupt);
    if (ok) print_reply(t, &reply);
    if (ok) *status = reply.status;
    cancel_free(cancel);
    session_reply_clear(&reply);
    buf_clear(&words);
    return ok;
}

void talk_busy(const Talk *t, Busy *b, Str what) {
    b->cancel = cancel_new(run_cancel(session_run(t->session)), 0);
    b->interrupt = interrupt_start(b->cancel);
    interrupt_runtime(b->interrupt, run_runtime(session_run(t->session)));
    show_begin(t->show, what);
}

void talk_ready(const Talk *t, Busy *b) {
    show_end(t->show);
    interrupt_stop(b->interrupt);
    cancel_free(b->cancel);
}

/* ---- Ctrl-C at the prompt ---- */

static void on_interrupt(int signal) { (void)signal; }   /* only ends the reading of a line */

static void catch_interrupts(struct sigaction *before) {
    struct sigaction now = { .sa_handler = on_interrupt };
    sigemptyset(&now.sa_mask);
    sigaction(SIGINT, NULL, before);
    if (before->sa_handler != SIG_IGN) sigaction(SIGINT, &now, NULL);
}

/* ---- the conversation ---- */

/* Stored next to the journal (mode 0600). NULL disables it. */
static char *history_file(const Talk *t) {
    Buf path = { 0 };
    if (!t->kept) return NULL;
    if (!store_default_path(runtime_project(run_runtime(session_run(t->session)))->root, &path, &(Error){ 0 })) {
        buf_clear(&path);
        return NULL;
    }
    buf_add(&path, STR("-history"));
    return buf_take(&path);
}

/* One message; a line that ends in a backslash continues in the next. */
static LineRead read_message(LineEdit *edit, bool plan, Buf *out) {
    buf_reset(out);
    for (const char *prompt = plan ? "plan> " : "> ";; prompt = "… ") {
        LineRead got = lineedit_read(edit, prompt, out);
        if (got != LINE_READY) return got == LINE_END && out->n ? LINE_READY : got;
        while (out->n && (out->at[out->n - 1] == '\n' || out->at[out->n - 1] == '\r')) out->n--;
        if (!lineedit_terminal(edit) || out->n == 0 || out->at[out->n - 1] != '\\') return LINE_READY;
        out->at[out->n - 1] = '\n';
    }
}

static void greet(const Talk *t) {
    Buf text = { 0 }, line = { 0 };
    cli_escape_all(&text, session_model_name(t->session), false);
    buf_add(&text, STR(" – /help lists the commands, Ctrl-D leaves"));
    if (t->cli->color_err) buf_add(&line, STR("\033[2m"));
    wrap_lines(&line, buf_str(&text), 0, width_of_terminal(STDERR_FILENO));
    if (t->cli->color_err) buf_add(&line, STR("\033[0m"));
    (void)cli_write(STDERR_FILENO, buf_str(&line), true);
    buf_clear(&text);
    buf_clear(&line);
}

static void part(const Talk *t, bool said) {
    Buf line = { 0 };
    if (said && t->kept) {
        buf_add(&line, STR("resume with: "));
        add_resume(t, &line);
        cli_say(t->cli, SAY_HINT, buf_str(&line));
    }
    buf_clear(&line);
}

typedef struct Talking { Talk *t; LineEdit *edit; bool person, said, leave, failed; InterruptTwice twice; } Talking;

static int say(Talking *k, Str text) {
    RunStatus status = RUN_FAILED;
    Error err = { 0 };
    k->said = true;
    if (!talk_answer(k->t, text, &status, &err)) return cli_fail(k->t->cli, CLI_FAILED, &err);
    if (status == RUN_CANCELLED) (void)interrupt_again(&k->twice, false);
    k->failed = status != RUN_COMPLETED;
    if (interrupt_ended()) return CLI_INTERRUPTED;
    if (k->person) status_show(k->t->cli, (const Status[]){ status_of(k->t->session) });
    return CLI_OK;
}

/* A message that the user has typed: with the files that it names. */
static int say_typed(Talking *k, Str text) {
    Error err = { 0 };
    if (k->person && !talk_attach(k->t, text, &err)) return cli_fail(k->t->cli, CLI_FAILED, &err);
    return say(k, text);
}

static int take_command(Talking *k, Str line) {
    Buf text = { 0 };
    int status = CLI_OK;
    bool typed = talk_command(k->t, line, &text, &k->leave);
    if (!k->t->session) return buf_clear(&text), CLI_FAILED;             /* /reload could not continue the run, and has reported why */
    if (session_unfinished(k->t->session)) status = say(k, STR(""));     /* /resume: finishes the answer that was interrupted */
    Str message = str_trim(buf_str(&text));
    if (status == CLI_OK && message.n) status = typed ? say_typed(k, message) : say(k, message);
    buf_clear(&text);
    return status;
}

static int take_line(Talking *k, Str line) {
    Error err = { 0 };
    Str text = str_trim(line);
    if (text.n == 0) return CLI_OK;
    if (!k->person) return say(k, text);
    if (line.at[0] == '/') return take_command(k, text);
    if (str_eq(text, STR("exit"))) return k->leave = true, CLI_OK;
    if (line.at[0] == '!') return talk_shell(k->t, str_trim(str_sub(text, 1, text.n)), &err) ? CLI_OK : cli_fail(k->t->cli, CLI_FAILED, &err);
    return say_typed(k, text);
}

static int converse(Talking *k) {
    Buf line = { 0 };
    int status = CLI_OK;
    while (status == CLI_OK && !k->leave) {
        LineRead got = read_message(k->edit, run_planning(session_run(k->t->session)), &line);
        if (got == LINE_END) break;
        if (got == LINE_INTERRUPTED) {
            (void)!write(STDERR_FILENO, "\n", 1);
            if (interrupt_again(&k->twice, lineedit_typed(k->edit))) status = CLI_INTERRUPTED;
            continue;
        }
        k->twice = (InterruptTwice){ 0 };
        status = take_line(k, buf_str(&line));
        if (!k->person && k->failed) break;
    }
    if (k->person && status == CLI_OK && !k->leave) (void)!write(STDERR_FILENO, "\n", 1);
    buf_clear(&line);
    return status;
}

int talk(Talk *t) {
    char *history = history_file(t);
    Talking k = { .t = t, .edit = lineedit_new(&(LineEditConfig){ history, talk_complete, t, true }) };
    struct sigaction before = { 0 };
    k.person = lineedit_terminal(k.edit);
    if (k.person) catch_interrupts(&before), greet(t);
    int status = converse(&k);
    if (k.person) {
        if (before.sa_handler != SIG_IGN) sigaction(SIGINT, &before, NULL);
        if (t->session) part(t, k.said);
    }
    lineedit_free(k.edit);
    free(history);
    return status == CLI_OK && k.failed && !k.person ? CLI_FAILED : status;
}
