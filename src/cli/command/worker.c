/* harness worker: works on queued runs. One process looks at the queue and starts another one for each run, `harness worker --once`, which takes the run
 * and holds the lease itself: a run that crashes takes no other one with it. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "agent/session.h"
#include "base/clock.h"
#include "base/random.h"
#include "cli/queue.h"
#include "cli/queue_folder.h"
#include "cli/state.h"
#include "cli/terminal/interrupt.h"
#include "store/store_queue.h"
#include "tool/task/task.h"
#include "value/json.h"

/* ---- one run ---- */

typedef struct Working {
    Cli *cli;
    Opening open;
    Store *store;
    Agents *agents;
    Session *session;
    Cancel *drain;
    Heap *heap;
    Arena arena;
    StoreTaken run;
    QueueJob job;
    QueueHost host;
    Error host_problem;                                  /* why there is no `host` */
    QueueFolder folder;
    bool unchanged;                                      /* the run has ended, and its folder can be removed */
} Working;

/* files: the folder of a run that has changed files; else NULL. */
static void say_end(Cli *cli, Str id, const char *status, const char *why, const char *files) {
    Buf line = { 0 };
    if (cli->json) {
        buf_add_fmt(&cli->out, "{\"run\":\"" STR_FMT "\",\"status\":\"%s\"", STR_ARG(id), status);
        if (files) buf_add(&cli->out, STR(",\"workspace\":")), json_write_string(&cli->out, str_from(files), false);
        buf_add(&cli->out, STR("}\n"));
    }
    buf_add_fmt(&line, "run " STR_FMT " %s%s%s", STR_ARG(state_short_id(id)), status, why[0] ? ": " : "", why);
    if (files) buf_add(&line, STR("; its files are in ")), cli_escape(&line, str_from(files), false);
    if (!cli->json || why[0]) cli_say(cli, why[0] ? SAY_WARNING : SAY_HINT, buf_str(&line));
    cli_flush(cli);
    buf_clear(&line);
}

static void say_run(Cli *cli, Str id, const char *status, const char *why) { say_end(cli, id, status, why, NULL); }

static bool open_session(Working *w, Error *err) {
    AgentsConfig agents = { .model = w->job.model, .effort = w->job.effort };
    SessionConfig session = { .agent = buf_str(&w->run.agent), .max_turns = w->job.max_turns };
    RunConfig run = { .id = buf_str(&w->run.id), .only = w->job.only, .n_only = w->job.n_only, .drain = w->drain };
    opening_run_config(&w->open, &run);
    opening_park_config(&run);
    mcp_remotes_list(w->open.servers, NULL);
    return agent_set_new(w->open.rt, &agents, &w->agents, err) && session_open(w->agents, &session, &run, w->run.started, &w->session, err);
}

/* ---- its folder ---- */

/* True for a run that was bound to this host before queue.workspace was changed, too: its files are in its folder. */
static bool has_folder(const Working *w) {
    QueueWorkspace mode = queue_workspace(runtime_project(w->open.rt));
    return mode == QUEUE_HOST || (mode == QUEUE_SHARED && w->run.bound);
}

static bool open_folder(Working *w, Error *err) {
    char *root = str_dup(runtime_project(w->open.rt)->root), *workspace = str_dup(runtime_workspace(w->open.rt));
    QueueFolderInput in = { .host = &w->host, .store = w->store, .run = buf_str(&w->run.id), .started = w->run.started, .root = root,
                            .workspace = workspace, .cancel = w->drain };
    bool ok = queue_folder_open(&in, &w->folder, err) && runtime_move(w->open.rt, w->folder.work, err);
    free(root);
    free(workspace);
    return ok;
}

static bool note_folder(Working *w, const char *state, Error *err) {
    Buf data = { 0 };
    queue_folder_event(&w->folder, state, &data);
    bool ok = run_note_workspace(session_run(w->session), buf_str(&data), err);
    buf_clear(&data);
    return ok;
}

static bool note_fresh(Working *w, Error *err) {
    return !w->folder.fresh || note_folder(w, w->folder.from.n ? "adopted" : "made", err);
}

/* Without the folder nothing was done. The run has not failed because of a problem of this host: another host may take it, unless its files are here. */
static int no_folder(Working *w, const Error *why) {
    Error err = { 0 };
    Str id = buf_str(&w->run.id);
    if ((!w->run.bound && !store_queue_unbind(w->store, id, &err)) || !store_queue_back(w->store, id, &err)) return cli_fail(w->cli, CLI_FAILED, &err);
    say_run(w->cli, id, "handed back", why->msg);
    return why->kind == ERR_CANCELLED ? CLI_OK : CLI_FAILED;
}

/* ---- working ---- */

/* The agent had answered, and its process died before it could end the run. */
static bool note_last_turn(Working *w, SessionReply *reply, Error *err) {
    QueueTurn turn;
    bool some = false;
    if (!queue_last_turn(w->store, buf_str(&w->run.id), w->heap, &turn, &some, err)) return false;
    reply->status = RUN_COMPLETED;
    for (RunStatus s = RUN_COMPLETED; some && s <= RUN_INTERRUPTED; s++)
        if (str_eq(turn.status, str_from(run_status_name(s)))) reply->status = s;
    session_note_status(w->session, reply->status);
    return true;
}

static bool answer(Working *w, SessionReply *reply, Error *err) {
    Cancel *cancel = cancel_new(run_cancel(session_run(w->session)), 0);
    bool ok;
    if (session_unfinished(w->session)) ok = session_go_on(w->session, cancel, reply, err);
    else if (session_message_count(w->session) == 0) ok = session_say(w->session, w->job.prompt, cancel, reply, err);
    else ok = note_last_turn(w, reply, err);
    cancel_free(cancel);
    return ok;
}

static void ignore_task(void *ctx, Str id, Str tool) { (void)ctx, (void)id, (void)tool; }

/* The process of the run ends; another one continues after the answer. */
static int park(Working *w) {
    Error err = { 0 };
    Session *s = w->session;
    w->session = NULL;
    task_stop_all(session_run(s), ignore_task, NULL);
    bool ok = session_park(s, &err);
    say_run(w->cli, buf_str(&w->run.id), ok ? "waiting" : "given up", ok ? "" : err.msg);
    return ok ? CLI_OK : CLI_FAILED;
}

/* A run that was lost to another worker cannot be ended: that one does it. */
static int end_run(Working *w, const SessionReply *reply, bool answered, const Error *why) {
    Error err = { 0 };
    Session *s = w->session;
    bool back = answered && reply->status == RUN_INTERRUPTED, ends = answered && !back && w->folder.folder;
    if (run_parked(session_run(s))) return park(w);
    task_stop_all(session_run(s), ignore_task, NULL);
    bool changed = ends && queue_folder_changed(&w->folder), noted = !ends || note_folder(w, changed ? "kept" : "removed", &err);
    w->session = NULL;
    bool ok = (back ? session_hand_back(s, noted ? &err : NULL) : session_close(s, noted ? &err : NULL)) && noted;
    w->unchanged = ok && ends && !changed;
    if (!answered || !ok) {
        say_run(w->cli, buf_str(&w->run.id), "given up", answered ? err.msg : why->msg);
        return CLI_FAILED;
    }
    say_end(w->cli, buf_str(&w->run.id), back ? "handed back" : run_status_name(reply->status), reply->reason, changed ? w->folder.work : NULL);
    return CLI_OK;
}

/* Without the session nothing was written. A failure of the store leaves the run to the next worker; for another one, the run has failed. */
static int not_started(Working *w, const Error *why) {
    Error err = { 0 };
    if (why->kind != ERR_IO && store_queue_fail(w->store, buf_str(&w->run.id), str_from(why->msg), &err)) {
        w->unchanged = w->folder.fresh && w->folder.lock >= 0;
        say_run(w->cli, buf_str(&w->run.id), "failed", why->msg);
        return CLI_OK;
    }
    return cli_fail(w->cli, CLI_FAILED, why);
}

static int work(Working *w) {
    Error err = { 0 };
    SessionReply reply = { 0 };
    if (!queue_read_job(buf_str(&w->run.job), w->heap, &w->arena, &w->job, &err)) return not_started(w, &err);
    if (has_folder(w) && !open_folder(w, &err)) return err.kind == ERR_IO || err.kind == ERR_CANCELLED ? no_folder(w, &err) : not_started(w, &err);
    if (!open_session(w, &err)) return not_started(w, &err);
    bool ok = note_fresh(w, &err) && answer(w, &reply, &err);
    int status = end_run(w, &reply, ok, &err);
    session_reply_clear(&reply);
    return status;
}

/* interrupt_start() takes these from here on. After interrupt_stop() they stay blocked: a signal that comes when the run has ended must not leave its folder
 * behind. */
static void block_signals(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGINT);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
}

static int take_one(Working *w) {
    Error err = { 0 };
    bool some = false;
    block_signals();
    Interrupt *interrupt = interrupt_start(w->drain);
    interrupt_runtime(interrupt, w->open.rt);
    w->store = runtime_store(w->open.rt, &err);
    if (w->store) store_queue_host(w->store, w->host.id);
    bool bind = queue_workspace(runtime_project(w->open.rt)) == QUEUE_HOST;
    bool ok = w->store && store_queue_check(w->store, &err);
    if (ok && bind && !w->host.folder) err = w->host_problem, ok = false;
    ok = ok && store_queue_join(w->store, "run", &err) && store_queue_reap(w->store, &err) && store_queue_take(w->store, bind, &w->run, &some, &err);
    int status = CLI_OK;
    if (!ok) status = cli_fail(w->cli, CLI_FAILED, &err);
    else if (some) status = work(w);
    else if (!args_has(&w->cli->args, "--quiet")) cli_say(w->cli, SAY_HINT, STR("no run is ready"));
    interrupt_stop(interrupt);
    return status;
}

/* After the last program of the run has ended, and nothing compares files in the folder any more. */
static void leave_folder(Working *w) {
    Error err = { 0 };
    if (w->unchanged && !queue_folder_remove(&w->folder, &err)) cli_say(w->cli, SAY_WARNING, str_from(err.msg));
    queue_folder_close(&w->folder);
}

static int once(Cli *cli) {
    Working w = { .cli = cli, .open = { .events = -1 }, .drain = cancel_new(NULL, 0), .heap = heap_new(0), .folder = { .lock = -1 } };
    (void)queue_host_open(&w.host, &w.host_problem);     /* before the process is restricted; not every project needs it */
    int status = opening_open_agent(&w.open, cli, (const char *const[]){ w.host.folder, NULL });
    if (status < 0) status = take_one(&w);
    if (w.session) session_close(w.session, NULL);
    agent_set_free(w.agents);
    opening_close(&w.open);
    leave_folder(&w);
    queue_host_clear(&w.host);
    buf_clear(&w.run.id);
    buf_clear(&w.run.agent);
    buf_clear(&w.run.job);
    cancel_free(w.drain);
    arena_clear(&w.arena);
    heap_free(w.heap);
    return status;
}

/* ---- many ---- */

enum { CONCURRENCY_MAX = 256, PAUSE_MS_MAX = 30000 };
static const int64_t LOOK_NS = 250000000, BUSY_NS = 20000000, REAP_NS = 1000000000;

typedef struct Pool {
    Cli *cli;
    Store *store;
    Cancel *stop;
    VEC(pid_t) children;
    VEC(char *) argv;                                    /* of a child; owned; NULL ends it */
    int64_t look_ns;                                     /* about how often it looks without a hint */
    int64_t most, reap_at, start_at, pause_ms;           /* monotonic times; pause_ms: after children that failed, until the next one */
    bool failing;                                        /* the store: said once */
} Pool;

static bool read_concurrency(Cli *cli, int64_t *out, Error *err) {
    const char *text = args_value(&cli->args, "--concurrency");
    char *end;
    *out = 1;
    if (!text) return true;
    long n = strtol(text, &end, 10);
    if (end == text || *end || n < 1 || n > CONCURRENCY_MAX)
        return error_set(err, ERR_VALIDATION, "--concurrency: \"%s\" is not a number from 1 to %d", text, CONCURRENCY_MAX);
    return *out = n, true;
}

static bool read_poll(Cli *cli, int64_t *out, Error *err) {
    const char *text = args_value(&cli->args, "--poll");
    *out = LOOK_NS;
    if (!text) return true;
    if (clock_read_age(str_from(text), out) && *out > 0) return true;
    return error_set(err, ERR_VALIDATION, "--poll: \"%s\" is not a time such as 1s, 30s or 5m", text);
}

static void add_word(Pool *p, const char *word) { VEC_PUSH(&p->argv, str_dup(str_from(word))); }

/* The flags of this command, for a child in the same folder. */
static void make_argv(Pool *p) {
    const Args *a = &p->cli->args;
    static const char *const first[] = { "harness", "worker", "--once", "--quiet" }, *const own[] = { "--concurrency", "--poll", "--chdir", "--quiet" };
    for (size_t i = 0; i < sizeof first / sizeof *first; i++) add_word(p, first[i]);
    for (size_t i = 0; i < a->n_flags; i++) {
        bool skip = false;
        for (size_t k = 0; k < sizeof own / sizeof *own; k++) skip |= strcmp(a->flags[i].flag->name, own[k]) == 0;
        if (!skip) add_word(p, a->flags[i].flag->name);
        if (!skip && a->flags[i].value) add_word(p, a->flags[i].value);
    }
    VEC_PUSH(&p->argv, NULL);
}

/* In a session of its own: Ctrl-C at the terminal reaches only the parent, which passes it on. SIGHUP is the signal of the parent's death, even if the
 * parent ignores it (nohup). */
static _Noreturn void be_child(const Pool *p, pid_t parent) {
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGHUP, SIG_DFL);
    setsid();
    prctl(PR_SET_PDEATHSIG, SIGHUP);
    if (getppid() == parent) execv("/proc/self/exe", p->argv.at);
    _exit(CLI_FAILED);
}

static void start_child(Pool *p) {
    pid_t parent = getpid(), child = fork();
    if (child == 0) be_child(p, parent);
    if (child > 0) VEC_PUSH(&p->children, child);
    else p->start_at = clock_mono_ns() + LOOK_NS;
}

/* A child that cannot load the project or reach the database would fail again at once. How often a run kills its process is limited by the queue. */
static void note_child(Pool *p, int how) {
    bool failed = WIFEXITED(how) && WEXITSTATUS(how) != 0;
    if (!failed) p->pause_ms = 0;
    else p->pause_ms = p->pause_ms ? p->pause_ms * 2 : 250;
    if (p->pause_ms > PAUSE_MS_MAX) p->pause_ms = PAUSE_MS_MAX;
    if (failed) p->start_at = clock_mono_ns() + p->pause_ms * 1000000;
}

static void collect(Pool *p, bool wait) {
    for (size_t i = 0; i < p->children.n;) {
        int how = 0;
        pid_t got = waitpid(p->children.at[i], &how, wait ? 0 : WNOHANG);
        if (got == 0 || (got < 0 && errno == EINTR)) {
            i += !wait;
            continue;
        }
        note_child(p, how);
        p->children.at[i] = VEC_LAST(&p->children);
        (void)VEC_POP(&p->children);
    }
}

/* *waiting: runs that could be taken, up to the number of free places. */
static bool look(Pool *p, int64_t *waiting, Error *err) {
    *waiting = 0;
    if (!store_queue_join(p->store, "worker", err)) return false;
    if (clock_mono_ns() >= p->reap_at) {
        if (!store_queue_reap(p->store, err)) return false;
        p->reap_at = clock_mono_ns() + REAP_NS;
    }
    int64_t room = p->most - (int64_t)p->children.n;
    return room <= 0 || clock_mono_ns() < p->start_at || store_queue_ready(p->store, room, waiting, err);
}

static void serve(Pool *p) {
    while (!cancel_fired(p->stop)) {
        Error err = { 0 };
        int64_t waiting;
        collect(p, false);
        bool ok = look(p, &waiting, &err);
        if (!ok && !p->failing) cli_fail(p->cli, CLI_FAILED, &err);
        if (ok && p->failing) cli_say(p->cli, SAY_HINT, STR("the database answers again"));
        p->failing = !ok;
        for (int64_t i = 0; ok && i < waiting; i++) start_child(p);
        bool full = p->children.n == (size_t)p->most;
        int64_t most = full ? BUSY_NS : p->look_ns, pause = most / 2 + (int64_t)random_below((uint64_t)most);
        if (full) (void)cancel_sleep(p->stop, pause, NULL);
        else store_queue_wait(p->store, pause, p->stop);
    }
    for (size_t i = 0; i < p->children.n; i++) kill(p->children.at[i], SIGTERM);
    collect(p, true);
}

static int many(Cli *cli) {
    Pool p = { .cli = cli };
    State s;
    Error err = { 0 };
    if (!read_concurrency(cli, &p.most, &err) || !read_poll(cli, &p.look_ns, &err)) return cli_fail(cli, CLI_WRONG_USE, &err);
    if (!state_open(cli, &s)) return CLI_FAILED;
    p.store = s.store;
    p.stop = cancel_new(NULL, 0);
    make_argv(&p);
    QueueHost host;
    bool ok = store_queue_check(p.store, &err) && (queue_host_open(&host, &err) || queue_workspace(s.project) != QUEUE_HOST);
    if (ok) {
        store_queue_host(p.store, host.id);
        queue_host_clear(&host);
    }
    ok = ok && store_queue_join(p.store, "worker", &err);
    if (ok) {
        Interrupt *interrupt = interrupt_start(p.stop);
        serve(&p);
        interrupt_stop(interrupt);
    }
    state_close(&s);
    cancel_free(p.stop);
    VEC_CLEAR(&p.children);
    for (size_t i = 0; i < p.argv.n; i++) free(p.argv.at[i]);
    VEC_CLEAR(&p.argv);
    return ok ? CLI_OK : cli_fail(cli, CLI_FAILED, &err);
}

int command_worker(Cli *cli) {
    Error err = { 0 };
    bool alone = args_has(&cli->args, "--once");
    const char *other = args_has(&cli->args, "--concurrency") ? "--concurrency" : args_has(&cli->args, "--poll") ? "--poll" : NULL;
    if (alone && other) {
        error_set(&err, ERR_VALIDATION, "--once takes one run: %s has no effect on it", other);
        return cli_fail(cli, CLI_WRONG_USE, &err);
    }
    return alone ? once(cli) : many(cli);
}
