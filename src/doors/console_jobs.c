/* Other processes of this program that run in the background: resumed and forked runs. One thread reads their output; it starts with the first job. */
#include "doors/console_private.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"
#include "store/store_page.h"

enum { CHUNK = 16 << 10, FORK_MS = 30000, PROMPT_MAX = 256 << 10, NAME_MAX_BYTES = 200, STOP_MS = 5000 };

typedef struct Job {
    uint64_t number;
    const char *kind;
    Buf run, out, err;
    int pid, out_fd, err_fd;             /* -1: closed; pid 0: it has ended */
    int status;
    int64_t started_ns, ended_ns, kill_ns;       /* kill_ns: monotonic; 0: it was not asked to stop */
} Job;

struct ConsoleJobs {
    Console *console;
    pthread_t thread;
    int wake;
    pthread_mutex_t lock;                /* guards what follows */
    bool started, over;
    uint64_t made;
    VEC(Job *) all;                      /* oldest first */
};

/* ---- JSON ---- */

static void add_output(Buf *out, const char *key, const Buf *text) { console_add_member(out, key, buf_str(text)); }

static void job_json(Buf *out, const Job *j, bool output) {
    buf_add_fmt(out, "{\"id\":\"j%llu\",\"kind\":\"%s\"", (unsigned long long)j->number, j->kind);
    console_add_member(out, "run", buf_str(&j->run));
    buf_add_fmt(out, ",\"state\":\"%s\",\"started\":", j->pid ? "running" : "ended");
    store_page_time(out, j->started_ns);
    buf_add(out, STR(",\"ended\":"));
    store_page_time(out, j->ended_ns);
    if (j->pid) buf_add(out, STR(",\"exit\":null"));
    else buf_add_fmt(out, ",\"exit\":%d", j->status);
    if (output) add_output(out, "output", &j->out), add_output(out, "errors", &j->err);
    buf_add_char(out, '}');
}

/* The caller holds the lock. */
static void announce(ConsoleJobs *js, const Job *j) {
    Buf json = { 0 };
    job_json(&json, j, false);
    console_streams_job(js->console->streams, buf_str(&json));
    buf_clear(&json);
}

/* ---- the thread ---- */

/* Keeps the end of the output. */
static void read_some(int *fd, Buf *out) {
    char piece[CHUNK];
    ssize_t n = read(*fd, piece, sizeof piece);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (n <= 0) {
        close(*fd);
        *fd = -1;
        return;
    }
    buf_add(out, (Str){ piece, (size_t)n });
    if (out->n <= CONSOLE_TAIL_MAX) return;
    size_t cut = out->n - CONSOLE_TAIL_MAX;
    while (cut < out->n && ((unsigned char)out->at[cut] & 0xc0) == 0x80) cut++;      /* not within a character */
    memmove(out->at, out->at + cut, out->n - cut);
    out->n -= cut;
    out->at[out->n] = 0;
}

/* The caller holds the lock. */
static void end_job(ConsoleJobs *js, Job *j) {
    if (!console_child_ended(j->pid)) return;
    j->status = console_child_reap(j->pid);
    j->pid = 0;
    j->ended_ns = clock_wall_ns();
    announce(js, j);
}

static void look_after(ConsoleJobs *js, Job *j) {
    if (j->pid && j->out_fd < 0 && j->err_fd < 0) end_job(js, j);
    if (j->pid && j->kill_ns && clock_mono_ns() > j->kill_ns) console_child_kill(j->pid);
}

enum { POLL_MAX = 1 + 2 * CONSOLE_JOBS_RUNNING };
typedef struct Polled { struct pollfd at[POLL_MAX]; Job *of[POLL_MAX]; nfds_t n; bool ending; } Polled;

/* The caller holds the lock. `ending`: a process is about to end, which no descriptor tells. */
static void gather(ConsoleJobs *js, Polled *p) {
    p->n = 1;
    p->ending = false;
    p->at[0] = (struct pollfd){ js->wake, POLLIN, 0 };
    for (size_t i = 0; i < js->all.n; i++) {
        Job *j = js->all.at[i];
        if (!j->pid) continue;
        p->ending |= j->kill_ns != 0 || (j->out_fd < 0 && j->err_fd < 0);
        if (j->out_fd >= 0 && p->n < POLL_MAX) p->of[p->n] = j, p->at[p->n++] = (struct pollfd){ j->out_fd, POLLIN, 0 };
        if (j->err_fd >= 0 && p->n < POLL_MAX) p->of[p->n] = j, p->at[p->n++] = (struct pollfd){ j->err_fd, POLLIN, 0 };
    }
}

static void take_output(ConsoleJobs *js, Polled *p) {
    for (nfds_t i = 1; i < p->n; i++) {
        Job *j = p->of[i];
        if (!p->at[i].revents) continue;
        if (p->at[i].fd == j->out_fd) read_some(&j->out_fd, &j->out);
        else if (p->at[i].fd == j->err_fd) read_some(&j->err_fd, &j->err);
    }
    for (size_t i = 0; i < js->all.n; i++) look_after(js, js->all.at[i]);
}

static void *run(void *arg) {
    ConsoleJobs *js = arg;
    Polled p;
    uint64_t count;
    pthread_mutex_lock(&js->lock);
    while (!js->over) {
        gather(js, &p);
        pthread_mutex_unlock(&js->lock);
        poll(p.at, p.n, p.ending ? 20 : -1);
        if (p.at[0].revents && read(js->wake, &count, sizeof count) < 0) count = 0;
        pthread_mutex_lock(&js->lock);
        take_output(js, &p);
    }
    pthread_mutex_unlock(&js->lock);
    return NULL;
}

static void wake(ConsoleJobs *js) {
    uint64_t one = 1;
    if (write(js->wake, &one, sizeof one) < 0) return;                       /* full: the thread wakes anyway */
}

/* ---- lifetime ---- */

ConsoleJobs *console_jobs_new(Console *console) {
    ConsoleJobs *js = mem_zero(1, sizeof *js);
    js->console = console;
    js->wake = -1;
    pthread_mutex_init(&js->lock, NULL);
    return js;
}

static void job_free(Job *j) {
    if (j->pid) console_child_reap(j->pid);
    if (j->out_fd >= 0) close(j->out_fd);
    if (j->err_fd >= 0) close(j->err_fd);
    buf_clear(&j->run);
    buf_clear(&j->out);
    buf_clear(&j->err);
    free(j);
}

void console_jobs_free(ConsoleJobs *js) {
    if (!js) return;
    pthread_mutex_lock(&js->lock);
    js->over = true;
    bool started = js->started;
    pthread_mutex_unlock(&js->lock);
    if (started) wake(js), pthread_join(js->thread, NULL);
    for (size_t i = 0; i < js->all.n; i++) job_free(js->all.at[i]);
    VEC_CLEAR(&js->all);
    if (js->wake >= 0) close(js->wake);
    pthread_mutex_destroy(&js->lock);
    free(js);
}

/* The caller holds the lock. */
static bool start_thread(ConsoleJobs *js, Error *err) {
    if (js->over) return error_set(err, ERR_CANCELLED, "the console is ending");
    if (js->started) return true;
    if (js->wake < 0) js->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    errno = js->wake < 0 ? errno : thread_start(&js->thread, run, js);
    if (js->wake < 0 || errno) return error_set(err, ERR_IO, "start a thread: %m");
    return js->started = true;
}

/* The caller holds the lock. Makes room for one more: the oldest that has ended goes. */
static bool make_room(ConsoleJobs *js, Error *err) {
    size_t running = 0, oldest = js->all.n;
    for (size_t i = js->all.n; i > 0; i--)
        if (js->all.at[i - 1]->pid) running++;
        else oldest = i - 1;
    if (running >= CONSOLE_JOBS_RUNNING) return error_set(err, ERR_LIMIT, "%d jobs are running already", CONSOLE_JOBS_RUNNING);
    if (js->all.n < CONSOLE_JOBS_MAX) return true;
    job_free(js->all.at[oldest]);
    memmove(&js->all.at[oldest], &js->all.at[oldest + 1], (--js->all.n - oldest) * sizeof *js->all.at);
    return true;
}

/* Starts a job and appends its JSON. */
static bool start_job(ConsoleJobs *js, const char *kind, Str of, const char *const *argv, Buf *json, Error *err) {
    int pid, in, out, err_fd;
    pthread_mutex_lock(&js->lock);
    bool ok = start_thread(js, err) && make_room(js, err) && console_child_start(js->console, argv, &pid, &in, &out, &err_fd, err);
    if (ok) {
        Job *j = mem_zero(1, sizeof *j);
        *j = (Job){ .number = ++js->made, .kind = kind, .pid = pid, .out_fd = out, .err_fd = err_fd, .started_ns = clock_wall_ns() };
        buf_add(&j->run, of);
        close(in);
        VEC_PUSH(&js->all, j);
        job_json(json, j, false);
        announce(js, j);
        wake(js);
    }
    pthread_mutex_unlock(&js->lock);
    return ok;
}

/* ---- requests about jobs ---- */

void console_jobs_list(ConsoleCall *c) {
    ConsoleJobs *js = c->console->jobs;
    Buf out = { 0 };
    buf_add_char(&out, '[');
    pthread_mutex_lock(&js->lock);
    for (size_t i = js->all.n; i > 0; i--) {
        if (i < js->all.n) buf_add_char(&out, ',');
        job_json(&out, js->all.at[i - 1], true);
    }
    pthread_mutex_unlock(&js->lock);
    buf_add_char(&out, ']');
    console_reply(c, 200, &out);
}

static Job *find_job(ConsoleJobs *js, Str id) {
    char name[32];
    for (size_t i = 0; i < js->all.n; i++) {
        snprintf(name, sizeof name, "j%llu", (unsigned long long)js->all.at[i]->number);
        if (str_eq(id, str_from(name))) return js->all.at[i];
    }
    return NULL;
}

static void reply_job(ConsoleCall *c, bool stop) {
    ConsoleJobs *js = c->console->jobs;
    Error err = { 0 };
    Buf out = { 0 };
    pthread_mutex_lock(&js->lock);
    Job *j = find_job(js, c->part[0]);
    if (j && stop && j->pid && !j->kill_ns) {
        kill(j->pid, SIGTERM);
        j->kill_ns = clock_mono_ns() + (int64_t)STOP_MS * 1000000;
        wake(js);
    }
    if (j) job_json(&out, j, true);
    pthread_mutex_unlock(&js->lock);
    if (j) return console_reply(c, stop ? 202 : 200, &out);
    error_set(&err, ERR_VALIDATION, "no such job: " STR_FMT, STR_ARG(c->part[0]));
    console_fail(c, &err);
}

void console_job(ConsoleCall *c) { reply_job(c, false); }
void console_job_stop(ConsoleCall *c) { reply_job(c, true); }

/* ---- resume and fork ---- */

typedef struct Wish { Str text, model, agent; int64_t turn; } Wish;

static bool is_name(Str s) { return s.n == 0 || (s.at[0] != '-' && !memchr(s.at, '\n', s.n)); }

static bool read_wish(ConsoleCall *c, Wish *w, bool fork, Error *err) {
    static const char *const known[] = { "text", "model", "agent", "turn", NULL }, *const resumed[] = { "text", "model", "agent", NULL };
    *w = (Wish){ 0 };
    if (!console_body_known(c, fork ? known : resumed, err) || !console_body_text(c, "text", PROMPT_MAX, &w->text, err)
        || !console_body_text(c, "model", NAME_MAX_BYTES, &w->model, err) || !console_body_text(c, "agent", NAME_MAX_BYTES, &w->agent, err)
        || !console_body_int(c, "turn", 1, INT32_MAX, &w->turn, err)) return false;
    w->text = str_trim(w->text);
    if (!is_name(w->model) || !is_name(w->agent)) return error_set(err, ERR_VALIDATION, "\"model\" or \"agent\" is not a name");
    return true;
}

static bool start_resumed(ConsoleCall *c, const char *kind, Str id, const Wish *w, Buf *json, Error *err) {
    char *run_id = str_dup(id), *text = str_dup(w->text), *model = str_dup(w->model), *agent = str_dup(w->agent);
    const char *argv[16] = { "runs", "resume", run_id, "--ask", "--json" };
    size_t n = 5;
    if (w->text.n) argv[n++] = "-p", argv[n++] = text;
    if (w->model.n) argv[n++] = "--model", argv[n++] = model;
    if (w->agent.n) argv[n++] = "--agent", argv[n++] = agent;
    bool ok = start_job(c->console->jobs, kind, id, argv, json, err);
    free(run_id);
    free(text);
    free(model);
    free(agent);
    return ok;
}

/* A text that begins with - would be read from standard input, or be a flag. */
static bool text_ok(const Wish *w, Error *err) {
    return w->text.n == 0 || w->text.at[0] != '-' || error_set(err, ERR_VALIDATION, "\"text\" begins with a dash");
}

void console_resume(ConsoleCall *c) {
    Error err = { 0 };
    Buf status = { 0 }, out = { 0 };
    Wish w;
    if (!console_find_run(c, &status)) return;
    bool running = str_eq(buf_str(&status), STR("running"));
    buf_clear(&status);
    if (!read_wish(c, &w, false, &err) || !text_ok(&w, &err)) return console_fail(c, &err);
    if (running) {
        error_set(&err, ERR_POLICY, "run " STR_FMT " is running already", STR_ARG(c->part[0]));
        return console_fail_with(c, 409, &err);
    }
    buf_add(&out, STR("{\"job\":"));
    if (!start_resumed(c, "resume", c->part[0], &w, &out, &err)) return buf_clear(&out), console_fail(c, &err);
    buf_add_char(&out, '}');
    console_reply(c, 202, &out);
}

static bool make_fork(ConsoleCall *c, const Wish *w, Buf *id, Error *err) {
    char turn[24], *agent = str_dup(w->agent), *from = str_dup(c->part[0]);
    ConsoleChild child = { .argv = { "runs", "fork", from, "--json" }, .timeout_ms = FORK_MS };
    size_t n = 4;
    snprintf(turn, sizeof turn, "%lld", (long long)w->turn);
    if (w->turn) child.argv[n++] = "--at", child.argv[n++] = turn;
    if (w->agent.n) child.argv[n++] = "--agent", child.argv[n++] = agent;
    bool ok = console_child_run(c, &child, err) && !console_child_error(c, &child, err);
    Value v = VALUE_GONE;
    if (ok && (child.status != 0 || !json_read(c->heap, buf_str(&child.out), NULL, &v, NULL) || !value_member_text(v, "run").n))
        ok = console_child_explain(&child, err);
    if (ok) buf_add(id, value_member_text(v, "run"));
    console_child_clear(&child);
    free(agent);
    free(from);
    return ok;
}

void console_fork(ConsoleCall *c) {
    Error err = { 0 };
    Buf id = { 0 }, out = { 0 };
    Wish w;
    if (!console_find_run(c, &id)) return;
    buf_reset(&id);
    bool ok = read_wish(c, &w, true, &err) && text_ok(&w, &err) && make_fork(c, &w, &id, &err);
    buf_add(&out, STR("{\"run\":"));
    json_write_string(&out, buf_str(&id), false);
    buf_add(&out, STR(",\"job\":"));
    if (ok && w.text.n) ok = start_resumed(c, "fork", buf_str(&id), &w, &out, &err);
    else buf_add(&out, STR("null"));
    buf_add_char(&out, '}');
    if (ok) console_reply(c, 201, &out);
    else console_fail(c, &err);
    buf_clear(&id);
    buf_clear(&out);
}
