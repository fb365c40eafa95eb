#include "cli/talk.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "cli/interrupt.h"
#include "cli/lineedit.h"

bool talk_streams(const Cli *cli) { return !cli->json && isatty(1); }

/* ---- what is shown while it works ---- */

static void put(int fd, Str text) {
    while (text.n) {
        ssize_t n = write(fd, text.at, text.n);
        if (n <= 0) return;
        text = str_sub(text, (size_t)n, text.n);
    }
}

static void on_text(void *ctx, Str agent, int depth, Str piece) {
    Cli *cli = ctx;
    (void)agent;
    if (depth > 0) return;                                   /* a sub-agent's words are its parent's business */
    Buf safe = { 0 };
    cli_escape(&safe, piece, true);
    put(1, buf_str(&safe));
    buf_clear(&safe);
    (void)cli;
}

static void on_tool_ended(void *ctx, Str agent, int depth, const Result *r) {
    Cli *cli = ctx;
    Buf line = { 0 };
    (void)agent;
    buf_add_fmt(&line, "%*s%s%s%s " STR_FMT " %.1f ms", 2 * depth, "", cli->color_err ? (r->is_error ? "\033[31m" : "\033[32m") : "",
                r->is_error ? "✗" : "✓", cli->color_err ? "\033[0m" : "", STR_ARG(r->name), (double)r->elapsed_ns / 1e6);
    if (r->is_error) {
        buf_add(&line, STR(" "));
        cli_escape(&line, str_sub(r->error, 0, 200), false);
    }
    buf_add_char(&line, '\n');
    put(2, buf_str(&line));
    buf_clear(&line);
}

static void on_retry(void *ctx, int attempt, int64_t wait_ms, const Error *why) {
    Cli *cli = ctx;
    Buf line = { 0 };
    buf_add_fmt(&line, "attempt %d failed, trying again in %.1f s: %s", attempt, (double)wait_ms / 1000, why->msg);
    cli_say(cli, SAY_WARNING, buf_str(&line));
    buf_clear(&line);
}

SessionWatch talk_watch(Cli *cli) {
    SessionWatch w = { .retry = on_retry, .ctx = cli };
    if (talk_streams(cli)) w.text = on_text;
    if (isatty(2) && !cli->json) w.tool_ended = on_tool_ended;
    return w;
}

/* ---- the conversation ---- */

static int say(Cli *cli, Session *s, Str text) {
    SessionReply reply = { 0 };
    Error err = { 0 };
    Cancel *cancel = cancel_new(run_cancel(session_run(s)), 0);
    Interrupt *interrupt = interrupt_start(cancel);
    int status = CLI_OK;
    if (!session_say(s, text, cancel, &reply, &err)) {
        status = cli_fail(cli, CLI_FAILED, &err);
    } else {
        put(1, talk_streams(cli) ? STR("") : buf_str(&reply.text));
        put(1, STR("\n"));
        if (strcmp(reply.status, "completed") != 0) {
            Buf line = { 0 };
            buf_add_fmt(&line, "%s: %s", reply.status, reply.reason);
            cli_say(cli, SAY_WARNING, buf_str(&line));
            buf_clear(&line);
        }
    }
    interrupt_stop(interrupt);
    cancel_free(cancel);
    session_reply_clear(&reply);
    return status;
}

int talk(Cli *cli, Session *s, const char *first) {
    if (first) return say(cli, s, str_from(first));
    Buf line = { 0 };
    int status = CLI_OK;
    while (status == CLI_OK) {
        buf_reset(&line);
        Error err = { 0 };
        if (!cli_read("-", 1 << 20, &line, &err) || str_trim(buf_str(&line)).n == 0) break;
        status = say(cli, s, str_trim(buf_str(&line)));
    }
    buf_clear(&line);
    return status;
}
