/* harness run: a job (-p) or a conversation with the project's agent; harness runs resume. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "agent/session.h"
#include "cli/interrupt.h"
#include "cli/opening.h"
#include "cli/talk.h"
#include "value/json.h"

enum { PROMPT_MAX = 16 << 20 };

typedef struct Running { Cli *cli; Opening open; Agents *agents; Session *session; Buf prompt; VEC(Str) only; } Running;

static bool read_prompt(Running *r, const char *given, Error *err) {
    if (strcmp(given, "-") == 0) return cli_read("-", PROMPT_MAX, &r->prompt, err);
    buf_add(&r->prompt, str_from(given));
    return true;
}

static void split_names(Running *r, const char *text) {
    for (Str rest = str_from(text); rest.n;) {
        ptrdiff_t comma = str_find_char(rest, ',');
        Str name = str_trim(str_sub(rest, 0, comma < 0 ? rest.n : (size_t)comma));
        if (name.n) VEC_PUSH(&r->only, name);
        rest = comma < 0 ? (Str){ 0 } : str_sub(rest, (size_t)comma + 1, rest.n);
    }
}

static bool positive(const char *flag, const char *text, int64_t *out, Error *err) {
    char *end;
    if (!text) return true;
    long long n = strtoll(text, &end, 10);
    if (*end || end == text || n < 1) return error_set(err, ERR_VALIDATION, "%s: \"%s\" is not a number of 1 or more", flag, text);
    return *out = n, true;
}

/* ---- the answer ---- */

static void write_json(Cli *cli, Session *s, const SessionReply *r) {
    Buf *b = &cli->out;
    buf_add(b, STR("{\"run\":"));
    json_write_string(b, run_id(session_run(s)), false);
    buf_add_fmt(b, ",\"status\":\"%s\",\"response\":", r->status);
    json_write_string(b, buf_str(&r->text), false);
    if (r->reason[0]) {
        buf_add(b, STR(",\"reason\":"));
        json_write_string(b, str_from(r->reason), false);
    }
    ModelUsage u = session_usage(s);
    buf_add_fmt(b, ",\"turns\":%lld,\"tool_calls\":%lld,\"usage\":{\"input\":%lld,\"output\":%lld,\"cached\":%lld,\"usd\":%.6f}}\n",
                (long long)r->turns, (long long)r->tool_calls, (long long)u.input, (long long)u.output, (long long)u.cached, u.usd);
}

/* The answer alone goes to standard output; what went wrong to standard error. */
static int report_reply(Cli *cli, Session *s, const SessionReply *r, bool shown) {
    bool fine = strcmp(r->status, "completed") == 0;
    if (cli->json) {
        write_json(cli, s, r);
    } else if (!shown && r->text.n) {
        buf_add(&cli->out, buf_str(&r->text));
        if (cli->out.at[cli->out.n - 1] != '\n') buf_add_char(&cli->out, '\n');
    }
    if (fine) return CLI_OK;
    Buf line = { 0 };
    buf_add_fmt(&line, "%s: %s", r->status, r->reason);
    cli_say(cli, SAY_ERROR, buf_str(&line));
    if (strcmp(r->status, "cancelled") == 0) {
        buf_reset(&line);
        buf_add_fmt(&line, "go on with: harness runs resume " STR_FMT, STR_ARG(run_id(session_run(s))));
        cli_say(cli, SAY_HINT, buf_str(&line));
    }
    buf_clear(&line);
    return strcmp(r->status, "cancelled") == 0 ? CLI_INTERRUPTED : CLI_FAILED;
}

static int one_job(Running *r, bool resumed) {
    Cli *cli = r->cli;
    Error err = { 0 };
    SessionReply reply = { 0 };
    Cancel *cancel = cancel_new(run_cancel(session_run(r->session)), 0);
    Interrupt *interrupt = interrupt_start(cancel);
    bool ok = resumed ? session_go_on(r->session, cancel, &reply, &err) : session_say(r->session, buf_str(&r->prompt), cancel, &reply, &err);
    int status = ok ? report_reply(cli, r->session, &reply, talk_streams(cli)) : cli_fail(cli, CLI_FAILED, &err);
    interrupt_stop(interrupt);
    cancel_free(cancel);
    session_reply_clear(&reply);
    return status;
}

/* ---- opening ---- */

static int open_session(Running *r, Str id, bool resume) {
    Cli *cli = r->cli;
    const Args *a = &cli->args;
    Error err = { 0 };
    AgentsConfig ac = { .model = str_from(args_value(a, "--model")), .record = args_value(a, "--record"), .replay = args_value(a, "--replay") };
    SessionConfig sc = { .agent = str_from(args_value(a, "--agent")), .watch = talk_watch(cli) };
    RunConfig rc = { .id = id };
    if (!positive("--max-turns", args_value(a, "--max-turns"), &sc.max_turns, &err)) return cli_fail(cli, CLI_WRONG_USE, &err);
    if (args_value(a, "--only")) {
        split_names(r, args_value(a, "--only"));
        rc.only = r->only.at;
        rc.n_only = r->only.n;
    }
    opening_run_config(&r->open, &rc);
    if (!agent_set_new(r->open.rt, &ac, &r->agents, &err) || !session_open(r->agents, &sc, &rc, resume, &r->session, &err))
        return cli_fail(cli, CLI_FAILED, &err);
    return -1;
}

static int finish(Running *r, int status) {
    Error err = { 0 };
    if (r->session && !session_close(r->session, &err)) status = cli_fail(r->cli, CLI_FAILED, &err);
    agent_set_free(r->agents);
    opening_close(&r->open);
    buf_clear(&r->prompt);
    VEC_CLEAR(&r->only);
    return status;
}

static int run(Running *r) {
    Cli *cli = r->cli;
    const char *given = args_value(&cli->args, "-p"), *record = args_value(&cli->args, "--record");
    Error err = { 0 };
    if (given && !read_prompt(r, given, &err)) return cli_fail(cli, CLI_FAILED, &err);
    if (given && str_trim(buf_str(&r->prompt)).n == 0) {
        error_set(&err, ERR_VALIDATION, "-p: the text is empty");
        return cli_fail(cli, CLI_WRONG_USE, &err);
    }
    const char *writable[2] = { record, NULL };
    int status = opening_open(&r->open, cli, record ? writable : NULL);
    if (status < 0) status = open_session(r, (Str){ 0 }, false);
    if (status >= 0) return status;
    return given ? one_job(r, false) : talk(cli, r->session, NULL);
}

int command_run(Cli *cli) {
    Running r = { .cli = cli, .open = { .events = -1 } };
    return finish(&r, run(&r));
}

static int resume(Running *r) {
    Cli *cli = r->cli;
    Error err = { 0 };
    Buf id = { 0 };
    int status = opening_open(&r->open, cli, NULL);
    if (status >= 0) return status;
    Store *store = runtime_store(r->open.rt, &err);
    if (!store || !store_run_find(store, str_from(cli->args.operands[0]), &id, &err)) {
        buf_clear(&id);
        return cli_fail(cli, CLI_FAILED, &err);
    }
    status = open_session(r, buf_str(&id), true);
    buf_clear(&id);
    if (status >= 0) return status;
    if (session_unfinished(r->session)) return one_job(r, true);
    const char *given = args_value(&cli->args, "-p");
    if (given && !read_prompt(r, given, &err)) return cli_fail(cli, CLI_FAILED, &err);
    if (given) return one_job(r, false);
    if (!isatty(0)) {
        cli_say(cli, SAY_HINT, STR("the run is finished: nothing is left to do (-p TEXT says more)"));
        return CLI_OK;
    }
    return talk(cli, r->session, NULL);
}

int command_runs_resume(Cli *cli) {
    Running r = { .cli = cli, .open = { .events = -1 } };
    return finish(&r, resume(&r));
}
