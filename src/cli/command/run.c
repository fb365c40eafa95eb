/* harness run: a job or a conversation with the project's agent; harness runs resume and runs fork, which continue an earlier one. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "agent/session.h"
#include "cli/opening.h"
#include "cli/past.h"
#include "cli/queue.h"
#include "cli/state.h"
#include "cli/terminal/talk.h"
#include "tool/task/task.h"

enum { PROMPT_MAX = 16 << 20 };

typedef struct Attached { const char *path; Buf bytes; } Attached;
typedef struct Running {
    Cli *cli;
    Opening open;
    Agents *agents;
    Session *session;
    Show *show;
    Buf prompt, agent, past;             /* past: what an earlier process did, to be shown */
    bool forked;                         /* the run was just made from another one */
    bool job;                            /* answers the prompt and ends; otherwise the prompt is the first message of a conversation */
    VEC(Str) only;
    VEC(Attached) files;
} Running;

/* Reads -p or, for `harness run`, the operand. Without a terminal an operand is a job too. Exit status, or -1. */
static int read_prompt(Running *r, const char *operand) {
    const char *given = args_value(&r->cli->args, "-p"), *text = given ? given : operand;
    Error err = { 0 };
    r->job = given || (operand && !(isatty(0) && isatty(1)));
    if (given && operand) return error_set(&err, ERR_VALIDATION, "give the prompt either as an argument or with -p"), cli_fail(r->cli, CLI_WRONG_USE, &err);
    if (!text) return -1;
    if (given && strcmp(given, "-") == 0) {
        if (!cli_read("-", PROMPT_MAX, &r->prompt, &err)) return cli_fail(r->cli, CLI_FAILED, &err);
    } else buf_add(&r->prompt, str_from(text));
    if (str_trim(buf_str(&r->prompt)).n) return -1;
    error_set(&err, ERR_VALIDATION, "%s the text is empty", given ? "-p:" : "prompt:");
    return cli_fail(r->cli, CLI_WRONG_USE, &err);
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

static bool switch_run(void *running, Str id, Session **session, Error *err);
static bool reload(void *running, Session **session, Problems *problems, Error *err);

static Talk talk_of(Running *r) {
    return (Talk){ .cli = r->cli, .session = r->session, .show = r->show, .kept = !args_has(&r->cli->args, "--ephemeral"), .terminal = r->open.terminal,
                   .resume = switch_run, .reload = reload, .owner = r };
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

/* Answers the prompt first. If the user sends no further message, prints the line about resuming here. */
static int conversation(Running *r) {
    Talk t = talk_of(r);
    Error err = { 0 };
    RunStatus status = RUN_OPEN;
    Buf line = { 0 };
    if (r->prompt.n && !talk_answer(&t, buf_str(&r->prompt), &status, &err)) return cli_fail(r->cli, CLI_FAILED, &err);
    size_t messages = session_message_count(r->session);
    int out = talk(&t);
    if (r->prompt.n && t.kept && session_message_count(r->session) == messages) {
        buf_add_fmt(&line, "resume with: harness runs resume " STR_FMT, STR_ARG(run_id(session_run(r->session))));
        cli_say(r->cli, SAY_HINT, buf_str(&line));
    }
    buf_clear(&line);
    return out;
}

/* ---- opening ---- */

/* The configurations of a session, from the flags. */
typedef struct Wanted { AgentsConfig agents; SessionConfig session; RunConfig run; } Wanted;

static bool want_session(Running *r, Str id, Wanted *out, Error *err) {
    const Args *a = &r->cli->args;
    out->agents = (AgentsConfig){ .model = str_from(args_value(a, "--model")), .effort = str_from(args_value(a, "--effort")),
        .record = args_value(a, "--record"), .replay = args_value(a, "--replay") };
    out->session = (SessionConfig){ .agent = buf_str(&r->agent), .watch = show_watch(r->show) };
    out->run = (RunConfig){ .id = id, .conversation = !r->job };
    if (!positive("--max-turns", args_value(a, "--max-turns"), &out->session.max_turns, err)) return false;
    if (args_value(a, "--only")) {
        r->only.n = 0;
        split_names(r, args_value(a, "--only"));
        if (r->only.n == 0) return error_set(err, ERR_VALIDATION, "--only: no tool is named (omit it to offer all tools)");
        out->run.only = r->only.at;
        out->run.n_only = r->only.n;
    }
    return true;
}

static void want_person(Running *r, Wanted *p) {
    opening_run_config(&r->open, &p->run);
    p->run.person = show_person(r->show, p->run.person);
}

static int open_session(Running *r, Str id, bool resume) {
    Cli *cli = r->cli;
    Error err = { 0 };
    Wanted p;
    if (args_value(&cli->args, "--agent")) {
        buf_reset(&r->agent);
        buf_add(&r->agent, str_from(args_value(&cli->args, "--agent")));
    }
    if (!want_session(r, id, &p, &err)) return cli_fail(cli, CLI_WRONG_USE, &err);
    mcp_remotes_list(r->open.servers, NULL);
    want_person(r, &p);
    if (!agent_set_new(r->open.rt, &p.agents, &r->agents, &err) || !session_open(r->agents, &p.session, &p.run, resume, &r->session, &err)
        || !attach_files(r, &err)) return cli_fail(cli, CLI_FAILED, &err);
    return -1;
}

static void tell_stopped(void *ctx, Str id, Str tool);

/* ---- /resume and /reload ---- */

/* The other run is opened first, with its own agent: on failure this one continues. */
static bool open_other(Running *r, Str id, Str agent, Session **out, Error *err) {
    Wanted p;
    if (!want_session(r, id, &p, err)) return false;
    p.session.agent = agent;
    want_person(r, &p);
    return session_open(r->agents, &p.session, &p.run, true, out, err);
}

static bool switch_run(void *running, Str id, Session **session, Error *err) {
    Running *r = running;
    Session *old = r->session;
    Buf agent = { 0 };
    Error why = { 0 };
    bool ok = past_agent(runtime_store(r->open.rt, err), id, &agent, err) && open_other(r, id, buf_str(&agent), &r->session, err);
    if (ok) {
        buf_reset(&r->agent);
        buf_add(&r->agent, buf_str(&agent));
        *session = r->session;
        task_stop_all(session_run(old), tell_stopped, r);
        if (!session_close(old, &why)) cli_fail(r->cli, CLI_FAILED, &why);
    }
    buf_clear(&agent);
    return ok;
}

/* Continues the paused run `id` with the agents of the old or the new project. */
static bool continue_run(Running *r, Str id, Agents *agents, Error *err) {
    Wanted p;
    if (!want_session(r, id, &p, err)) return false;
    want_person(r, &p);
    return session_open(agents, &p.session, &p.run, true, &r->session, err);
}

/* The project is loaded, checked and trusted before the run leaves the old one. */
static bool reload(void *running, Session **session, Problems *problems, Error *err) {
    Running *r = running;
    Opening fresh = { .events = -1 };
    Agents *agents = NULL;
    Wanted p;
    char *id = str_dup(run_id(session_run(r->session)));
    bool ok = opening_reload(&r->open, &fresh, problems, err) && want_session(r, str_from(id), &p, err);
    if (ok) mcp_remotes_list(fresh.servers, NULL);
    ok = ok && agent_set_new(fresh.rt, &p.agents, &agents, err);
    if (ok) {
        task_stop_all(session_run(r->session), tell_stopped, r);
        Error why = { 0 };
        if (!session_pause(r->session, &why)) cli_fail(r->cli, CLI_FAILED, &why);
        r->session = NULL;
        ok = continue_run(r, str_from(id), agents, err);
        if (!ok && !continue_run(r, str_from(id), r->agents, &why)) cli_fail(r->cli, CLI_FAILED, &why);
        *session = r->session;
    }
    if (ok) {
        agent_set_free(r->agents);
        r->agents = agents;
    } else {
        agent_set_free(agents);
    }
    opening_settle(&r->open, &fresh, ok);
    free(id);
    return ok;
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
    buf_clear(&r->agent);
    buf_clear(&r->past);
    VEC_CLEAR(&r->only);
    for (size_t i = 0; i < r->files.n; i++) buf_clear(&r->files.at[i].bytes);
    VEC_CLEAR(&r->files);
    return status;
}

/* ---- an earlier run ---- */

/* At a terminal, the conversation so far. */
static bool read_past(Running *r, Store *store, Str id, Error *err) {
    if (!past_agent(store, id, &r->agent, err)) return false;
    return r->job || r->cli->json || !isatty(2) || past_read(r->cli, store, id, &r->past, err);
}

static int go_on(Running *r) {
    Cli *cli = r->cli;
    Error err = { 0 };
    bool person = isatty(0) && !cli->json;
    (void)cli_write(STDERR_FILENO, buf_str(&r->past), true);
    if (session_unfinished(r->session)) {
        if (r->files.n) {
            error_set(&err, ERR_VALIDATION, "--file: the run has an answer to finish first; resume it without --file");
            return cli_fail(cli, CLI_WRONG_USE, &err);
        }
        int status = one_job(r, STR(""));
        if (status != CLI_OK || !(r->prompt.n || person)) return status;
    }
    if (r->job) return one_job(r, buf_str(&r->prompt));
    if (r->prompt.n || person) return conversation(r);
    if (!r->forked) cli_say(cli, SAY_HINT, STR("the run is finished: nothing is left to do (continue the conversation with -p TEXT)"));
    return CLI_OK;
}

static int resume_run(Running *r, Store *store, Str id) {
    Error err = { 0 };
    if (!read_past(r, store, id, &err)) return cli_fail(r->cli, CLI_FAILED, &err);
    int status = open_session(r, id, true);
    return status >= 0 ? status : go_on(r);
}

static bool find_run(Running *r, Store **store, Buf *id, Error *err) {
    *store = runtime_store(r->open.rt, err);
    if (!*store) return err->kind != ERR_NONE ? false : error_set(err, ERR_CONFIG, "an earlier run cannot be continued with --ephemeral");
    if (r->cli->args.n_operands && !args_has(&r->cli->args, "--continue")) return store_run_find(*store, str_from(r->cli->args.operands[0]), id, err);
    return past_last(*store, runtime_project(r->open.rt)->root, str_from(args_value(&r->cli->args, "--agent")), id, err);
}

static int continue_last(Running *r) {
    Error err = { 0 };
    Buf id = { 0 };
    Store *store;
    int status = find_run(r, &store, &id, &err) ? resume_run(r, store, buf_str(&id)) : cli_fail(r->cli, CLI_FAILED, &err);
    buf_clear(&id);
    return status;
}

/* ---- the commands ---- */

static int run(Running *r) {
    Cli *cli = r->cli;
    const char *record = args_value(&cli->args, "--record");
    Error err = { 0 };
    int status = read_prompt(r, cli->args.n_operands ? cli->args.operands[0] : NULL);
    if (status >= 0) return status;
    if (!queue_check_flags(cli, &err) || !read_files(r, &err)) return cli_fail(cli, CLI_WRONG_USE, &err);
    if (args_has(&cli->args, "--queue") && !r->prompt.n) {
        error_set(&err, ERR_VALIDATION, "--queue needs a prompt: -p TEXT");
        return cli_fail(cli, CLI_WRONG_USE, &err);
    }
    const char *writable[2] = { record, NULL };
    status = opening_open_agent(&r->open, cli, record ? writable : NULL);
    if (status >= 0) return status;
    if (args_has(&cli->args, "--queue")) return queue_run(cli, &r->open, buf_str(&r->prompt));
    if (args_has(&cli->args, "--continue")) return continue_last(r);
    status = open_session(r, (Str){ 0 }, false);
    if (status >= 0) return status;
    return r->job ? one_job(r, buf_str(&r->prompt)) : conversation(r);
}

int command_run(Cli *cli) {
    Running r = { .cli = cli, .show = show_new(cli), .open = { .events = -1 } };
    return finish(&r, run(&r));
}

static int resume(Running *r) {
    Error err = { 0 };
    int status = read_prompt(r, NULL);
    if (status >= 0) return status;
    if (!read_files(r, &err)) return cli_fail(r->cli, CLI_WRONG_USE, &err);
    status = opening_open_agent(&r->open, r->cli, NULL);
    return status >= 0 ? status : continue_last(r);
}

int command_runs_resume(Cli *cli) {
    if (args_has(&cli->args, "--adopt")) return queue_adopt(cli, cli->args.operands[0]);
    Running r = { .cli = cli, .show = show_new(cli), .open = { .events = -1 } };
    return finish(&r, resume(&r));
}

/* ---- fork ---- */

static bool make_fork(Running *r, Store *store, Str from, char id[RUN_ID_SIZE], Error *err) {
    const char *agent = args_value(&r->cli->args, "--agent"), *at = args_value(&r->cli->args, "--at");
    StoreFork f = { .from = from };
    StoreForked made;
    Buf line = { 0 };
    run_new_id(id);
    r->forked = true;
    f.id = str_from(id);
    if (!positive("--at", at, &f.turn, err) || !past_agent(store, from, &r->agent, err)) return false;
    f.agent = agent ? str_from(agent) : buf_str(&r->agent);
    bool ok = store_run_fork(store, &f, &made, err);
    if (ok) {
        buf_add_fmt(&line, "run %s continues " STR_FMT " after turn %lld", id, STR_ARG(state_short_id(from)), (long long)made.turn);
        cli_say(r->cli, SAY_HINT, buf_str(&line));
    }
    buf_clear(&line);
    return ok;
}

/* A fork that cannot be opened leaves no run behind. */
static int fork_run(Running *r) {
    Error err = { 0 };
    Buf from = { 0 };
    Store *store;
    char id[RUN_ID_SIZE];
    int status = read_prompt(r, NULL);
    if (status >= 0) return status;
    if (!read_files(r, &err)) return cli_fail(r->cli, CLI_WRONG_USE, &err);
    status = opening_open_agent(&r->open, r->cli, NULL);
    if (status >= 0) return status;
    bool ok = find_run(r, &store, &from, &err) && make_fork(r, store, buf_str(&from), id, &err);
    buf_clear(&from);
    if (!ok) return cli_fail(r->cli, CLI_FAILED, &err);
    if (!r->job && !isatty(0)) buf_add_fmt(&r->cli->out, r->cli->json ? "{\"run\":\"%s\"}\n" : "%s\n", id);
    status = resume_run(r, store, str_from(id));
    if (!r->session) (void)store_run_prune(store, str_from(id), NULL);
    return status;
}

int command_runs_fork(Cli *cli) {
    Running r = { .cli = cli, .show = show_new(cli), .open = { .events = -1 } };
    return finish(&r, fork_run(&r));
}
