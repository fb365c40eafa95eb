/* harness run: a job (-p) or a conversation with the project's agent; harness runs resume. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "agent/session.h"
#include "cli/opening.h"
#include "cli/terminal/talk.h"
#include "tool/task/task.h"

enum { PROMPT_MAX = 16 << 20 };

typedef struct Attached { const char *path; Buf bytes; } Attached;
typedef struct Running { Cli *cli; Opening open; Agents *agents; Session *session; Show *show; Buf prompt; VEC(Str) only; VEC(Attached) files; } Running;

static bool read_prompt(Running *r, const char *given, Error *err) {
    if (strcmp(given, "-") == 0) return cli_read("-", PROMPT_MAX, &r->prompt, err);
    buf_add(&r->prompt, str_from(given));
    return true;
}

/* Before the project is opened: the user names these files, not the project. */
static bool read_files(Running *r, Error *err) {
    const Args *a = &r->cli->args;
    for (size_t i = 0; i < a->n_flags; i++) {
        if (strcmp(a->flags[i].flag->name, "--file") != 0) continue;
        VEC_PUSH(&r->files, ((Attached){ .path = a->flags[i].value }));
        Attached *f = &VEC_LAST(&r->files);
        if (!cli_read(f->path, PARTS_FILE_MAX, &f->bytes, err)) return error_wrap(err, "--file");
        if (!parts_media_type(buf_str(&f->bytes)))
            return error_set(err, ERR_VALIDATION, "--file: %s is not a PNG, JPEG, GIF or WebP image, nor a PDF: other files are for the tool read", f->path);
    }
    return true;
}

static bool attach_files(Running *r, Error *err) {
    for (size_t i = 0; i < r->files.n; i++) {
        const char *slash = strrchr(r->files.at[i].path, '/');
        if (!session_attach_media(r->session, buf_str(&r->files.at[i].bytes), str_from(slash ? slash + 1 : r->files.at[i].path),
            err)) return error_wrap(err, "--file");
    }
    return true;
}

static void split_names(Running *r, const char *text) {
    for (Str rest = str_from(text); rest.n;) {
        ptrdiff_t comma = str_find_char(rest, ',');
        Str name = str_trim(str_sub(rest, 0, comma < 0 ? rest.n : (size_t)comma));
        if (name.n) VEC_PUSH(&r->only, name);
        rest = str_sub(rest, comma < 0 ? rest.n : (size_t)comma + 1, rest.n);
    }
}

static bool positive(const char *flag, const char *text, int64_t *out, Error *err) {
    char *end;
    if (!text) return true;
    long long n = strtoll(text, &end, 10);
    if (*end || end == text || n < 1) return error_set(err, ERR_VALIDATION, "%s: \"%s\" is not a number of 1 or more", flag, text);
    return *out = n, true;
}

/* ---- one answer ---- */

static Talk talk_of(const Running *r) {
    return (Talk){ .cli = r->cli, .session = r->session, .show = r->show, .kept = !args_has(&r->cli->args, "--ephemeral") };
}

static int one_job(Running *r, Str text) {
    Talk t = talk_of(r);
    Error err = { 0 };
    RunStatus status = RUN_OPEN;
    if (!talk_answer(&t, text, &status, &err)) return cli_fail(r->cli, CLI_FAILED, &err);
    if (status == RUN_COMPLETED) return CLI_OK;
    if (status != RUN_CANCELLED) return CLI_FAILED;
    Buf line = { 0 };
    buf_add_fmt(&line, "resume with: harness runs resume " STR_FMT, STR_ARG(run_id(session_run(r->session))));
    if (t.kept) cli_say(r->cli, SAY_HINT, buf_str(&line));
    buf_clear(&line);
    return CLI_INTERRUPTED;
}

static int conversation(Running *r) {
    Talk t = talk_of(r);
    return talk(&t);
}

/* ---- opening ---- */

static int open_session(Running *r, Str id, bool resume) {
    Cli *cli = r->cli;
    const Args *a = &cli->args;
    Error err = { 0 };
    AgentsConfig ac = { .model = str_from(args_value(a, "--model")), .effort = str_from(args_value(a, "--effort")),
        .record = args_value(a, "--record"), .replay = args_value(a, "--replay") };
    SessionConfig sc = { .agent = str_from(args_value(a, "--agent")), .watch = show_watch(r->show) };
    RunConfig rc = { .id = id, .conversation = !args_has(a, "-p") };
    if (!positive("--max-turns", args_value(a, "--max-turns"), &sc.max_turns, &err)) return cli_fail(cli, CLI_WRONG_USE, &err);
    if (args_value(a, "--only")) {
        split_names(r, args_value(a, "--only"));
        if (r->only.n == 0) {
            error_set(&err, ERR_VALIDATION, "--only: no tool is named (omit it to offer all tools)");
            return cli_fail(cli, CLI_WRONG_USE, &err);
        }
        rc.only = r->only.at;
        rc.n_only = r->only.n;
    }
    mcp_remotes_list(r->open.servers, NULL);
    opening_run_config(&r->open, &rc);
    rc.person = show_person(r->show, rc.person);
    if (!agent_set_new(r->open.rt, &ac, &r->agents, &err) || !session_open(r->agents, &sc, &rc, resume, &r->session, &err) || !attach_files(r, &err))
        return cli_fail(cli, CLI_FAILED, &err);
    return -1;
}

static void tell_stopped(void *ctx, Str id, Str tool) {
    Running *r = ctx;
    Buf line = { 0 };
    buf_add_fmt(&line, "background task " STR_FMT " (" STR_FMT ") had not finished when the run ended, and was cancelled: the agent keeps its result by waiting for it with task_await",
                STR_ARG(id), STR_ARG(tool));
    cli_say(r->cli, SAY_WARNING, buf_str(&line));
    buf_clear(&line);
}

static int finish(Running *r, int status) {
    Error err = { 0 };
    if (r->session) task_stop_all(session_run(r->session), tell_stopped, r);
    if (r->session && !session_close(r->session, &err)) status = cli_fail(r->cli, CLI_FAILED, &err);
    agent_set_free(r->agents);
    show_free(r->show);
    opening_close(&r->open);
    buf_clear(&r->prompt);
    VEC_CLEAR(&r->only);
    for (size_t i = 0; i < r->files.n; i++) buf_clear(&r->files.at[i].bytes);
    VEC_CLEAR(&r->files);
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
    if (!read_files(r, &err)) return cli_fail(cli, CLI_WRONG_USE, &err);
    const char *writable[2] = { record, NULL };
    int status = opening_open_agent(&r->open, cli, record ? writable : NULL);
    if (status < 0) status = open_session(r, (Str){ 0 }, false);
    if (status >= 0) return status;
    return given ? one_job(r, buf_str(&r->prompt)) : conversation(r);
}

int command_run(Cli *cli) {
    Running r = { .cli = cli, .show = show_new(cli), .open = { .events = -1 } };
    return finish(&r, run(&r));
}

static int resume(Running *r) {
    Cli *cli = r->cli;
    Error err = { 0 };
    Buf id = { 0 };
    if (!read_files(r, &err)) return cli_fail(cli, CLI_WRONG_USE, &err);
    int status = opening_open_agent(&r->open, cli, NULL);
    if (status >= 0) return status;
    Store *store = runtime_store(r->open.rt, &err);
    if (!store || !store_run_find(store, str_from(cli->args.operands[0]), &id, &err)) {
        buf_clear(&id);
        return cli_fail(cli, CLI_FAILED, &err);
    }
    status = open_session(r, buf_str(&id), true);
    buf_clear(&id);
    if (status >= 0) return status;
    if (session_unfinished(r->session) && r->files.n) {
        error_set(&err, ERR_VALIDATION, "--file: the run has an answer to finish first; resume it without --file");
        return cli_fail(cli, CLI_WRONG_USE, &err);
    }
    if (session_unfinished(r->session)) return one_job(r, STR(""));
    const char *given = args_value(&cli->args, "-p");
    if (given && !read_prompt(r, given, &err)) return cli_fail(cli, CLI_FAILED, &err);
    if (given) return one_job(r, buf_str(&r->prompt));
    if (!isatty(0)) {
        cli_say(cli, SAY_HINT, STR("the run is finished: nothing is left to do (continue the conversation with -p TEXT)"));
        return CLI_OK;
    }
    return conversation(r);
}

int command_runs_resume(Cli *cli) {
    Running r = { .cli = cli, .show = show_new(cli), .open = { .events = -1 } };
    return finish(&r, resume(&r));
}
