#include "cli/queue.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "base/clock.h"
#include "cli/state.h"
#include "cli/terminal/timeline.h"
#include "cli/terminal/width.h"
#include "store/store_queue.h"
#include "value/int.h"
#include "value/json.h"
#include "value/list.h"

enum { PRIORITY_MAX = 1000, LOOK_US = 200000 };

/* ---- flags ---- */

static const char *const without_effect[] = { "--continue", "--tools", "--record", "--replay", "--file", "--yes", "--approve", "--events", "--allow-domain",
                                              "--timeout", "--ask", "--ephemeral", "--lenient" };
static const char *const of_queue[] = { "--priority", "--at", "--wait" };

bool queue_check_flags(const Cli *cli, Error *err) {
    bool queue = args_has(&cli->args, "--queue");
    for (size_t i = 0; queue && i < sizeof without_effect / sizeof *without_effect; i++)
        if (args_has(&cli->args, without_effect[i])) {
            error_set(err, ERR_VALIDATION, "%s has no effect on a queued run", without_effect[i]);
            bool ask = strcmp(without_effect[i], "--ask") == 0;
            return error_hint(err, ask ? "remove it: a queued run always waits for answers" : "give it to harness worker, or remove --queue");
        }
    for (size_t i = 0; !queue && i < sizeof of_queue / sizeof *of_queue; i++)
        if (args_has(&cli->args, of_queue[i])) return error_set(err, ERR_VALIDATION, "%s needs --queue", of_queue[i]);
    return true;
}

QueueWorkspace queue_workspace(const Project *p) {
    Str given = value_member_text(p->settings.queue, "workspace");
    return str_eq(given, STR("shared")) ? QUEUE_SHARED : str_eq(given, STR("none")) ? QUEUE_NONE : QUEUE_HOST;
}

static bool read_number(const char *flag, const char *text, int64_t least, int64_t most, int64_t *out, Error *err) {
    char *end;
    if (!text) return true;
    long long n = strtoll(text, &end, 10);
    if (end == text || *end || n < least || n > most)
        return error_set(err, ERR_VALIDATION, "%s: \"%s\" is not a number from %lld to %lld", flag, text, (long long)least, (long long)most);
    return *out = n, true;
}

/* +02:00, in seconds. */
static bool read_offset(const char *text, int64_t *out) {
    if (strlen(text) != 6 || (text[0] != '+' && text[0] != '-') || text[3] != ':') return false;
    for (int i = 1; i < 6; i++)
        if (i != 3 && (text[i] < '0' || text[i] > '9')) return false;
    int hours = (text[1] - '0') * 10 + text[2] - '0', minutes = (text[4] - '0') * 10 + text[5] - '0';
    *out = (hours * 60 + minutes) * 60 * (text[0] == '-' ? -1 : 1);
    return hours <= 14 && minutes <= 59;
}

/* 15m: in so much time. 2026-01-02T03:04:05Z, or with an offset such as +02:00. */
static bool read_time(const char *text, int64_t *wall_ns, Error *err) {
    int64_t age;
    struct tm t = { 0 };
    int64_t offset = 0;
    if (!text) return true;
    if (clock_read_age(str_from(text), &age)) return *wall_ns = clock_wall_ns() + age, true;
    const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &t);
    bool utc = rest && strcmp(rest, "Z") == 0;
    if (rest && !utc && !read_offset(rest, &offset)) rest = NULL;
    if (!rest)
        return error_set(err, ERR_VALIDATION, "--at: \"%s\" is neither a time like 2026-01-02T03:04:05Z nor a delay like 90s, 15m, 12h or 7d", text);
    return *wall_ns = (timegm(&t) - offset) * INT64_C(1000000000), true;
}

/* ---- the job ---- */

static void add_names(Buf *out, const char *text) {
    size_t n = 0;
    buf_add_char(out, '[');
    for (Str rest = str_from(text); rest.n;) {
        ptrdiff_t comma = str_find_char(rest, ',');
        Str name = str_trim(str_sub(rest, 0, comma < 0 ? rest.n : (size_t)comma));
        if (name.n && n++) buf_add_char(out, ',');
        if (name.n) json_write_string(out, name, false);
        rest = str_sub(rest, comma < 0 ? rest.n : (size_t)comma + 1, rest.n);
    }
    buf_add_char(out, ']');
}

/* The prompt is redacted as in events: the database must not hold secrets. */
static void write_job(const Cli *cli, Runtime *rt, Str prompt, int64_t max_turns, Buf *out) {
    const char *model = args_value(&cli->args, "--model"), *effort = args_value(&cli->args, "--effort"), *only = args_value(&cli->args, "--only");
    Buf text = { 0 };
    buf_add(&text, prompt);
    redact_stream(runtime_redactor(rt), &text);
    event_data_start(out);
    event_data_str(out, "prompt", buf_str(&text));
    if (model) event_data_str(out, "model", str_from(model));
    if (effort) event_data_str(out, "effort", str_from(effort));
    if (max_turns) event_data_int(out, "max_turns", max_turns);
    buf_reset(&text);
    if (only) add_names(&text, only), event_data_raw(out, "only", buf_str(&text));
    event_data_end(out);
    buf_clear(&text);
}

static bool read_only(Value v, Arena *arena, QueueJob *out) {
    if (!value_is_list(v)) return false;
    const List *list = value_list(v);
    Str *names = ARENA_ARRAY(arena, Str, list->n + 1);
    for (uint32_t i = 0; i < list->n; i++) {
        if (!value_is_string(list->at[i])) return false;
        names[out->n_only++] = value_str(list->at[i]);
    }
    return out->only = names, true;
}

bool queue_read_job(Str json, Heap *heap, Arena *arena, QueueJob *out, Error *err) {
    Value v;
    if (!json_read(heap, json, NULL, &v, err)) return error_wrap(err, "the job of a queued run");
    if (!value_is_dict(v)) return error_set(err, ERR_VALIDATION, "the job of a queued run is not an object");
    Value turns = value_member(v, "max_turns"), only = value_member(v, "only");
    *out = (QueueJob){ .prompt = value_member_text(v, "prompt"), .model = value_member_text(v, "model"), .effort = value_member_text(v, "effort") };
    if (!value_is_gone(turns) && (!value_is_int(turns) || !int_to_i64(turns, &out->max_turns)))
        return error_set(err, ERR_VALIDATION, "the job of a queued run: max_turns is not a number");
    if (!value_is_gone(only) && !read_only(only, arena, out)) return error_set(err, ERR_VALIDATION, "the job of a queued run: only is not a list of names");
    return str_trim(out->prompt).n > 0 || error_set(err, ERR_VALIDATION, "the job of a queued run has no prompt");
}

/* ---- the answer ---- */

typedef struct Looking { Buf data; bool some; } Looking;

static bool keep_turn(void *ctx, const Event *e) {
    Looking *l = ctx;
    if (e->depth != 0 || !str_eq(e->type, STR("turn.ended"))) return true;
    buf_reset(&l->data);
    buf_add(&l->data, e->data);
    return l->some = true;
}

bool queue_last_turn(Store *s, Str run, Heap *heap, QueueTurn *out, bool *some, Error *err) {
    Looking l = { 0 };
    Value v = VALUE_GONE;
    bool ok = store_event_each(s, run, 0, keep_turn, &l, err) && (!l.some || json_read(heap, buf_str(&l.data), NULL, &v, err));
    *some = ok && value_is_dict(v);
    if (*some) *out = (QueueTurn){ value_member_text(v, "status"), value_member_text(v, "response"), value_member_text(v, "reason") };
    buf_clear(&l.data);
    return ok;
}

typedef struct Ended { Buf status, usage; int64_t turns, calls; bool over, waits; } Ended;

static bool note_ended(void *ctx, const StoreRun *r) {
    Ended *e = ctx;
    e->over = r->ended_ns > 0;
    e->waits = str_eq(r->status, STR("waiting"));
    if (!e->over) return true;
    buf_add(&e->status, r->status);
    buf_add(&e->usage, r->usage);
    e->turns = r->turns;
    e->calls = r->tool_calls;
    return true;
}

static void print_answer(Cli *cli, Str id, const Ended *e, const QueueTurn *t) {
    Buf *b = &cli->out;
    if (cli->json) {
        event_data_start(b);
        event_data_str(b, "run", id);
        event_data_str(b, "status", buf_str(&e->status));
        event_data_str(b, "response", t->response);
        if (t->reason.n) event_data_str(b, "reason", t->reason);
        event_data_int(b, "turns", e->turns);
        event_data_int(b, "tool_calls", e->calls);
        event_data_raw(b, "usage", buf_str(&e->usage));
        event_data_end(b);
        buf_add_char(b, '\n');
        return;
    }
    cli_add_bytes(cli, t->response);
    if (t->response.n && t->response.at[t->response.n - 1] != '\n') buf_add_char(b, '\n');
    if (str_eq(buf_str(&e->status), STR("completed"))) return;
    Buf line = { 0 };
    buf_add_fmt(&line, "%s%s" STR_FMT, e->status.at, t->reason.n ? ": " : "", STR_ARG(t->reason));
    cli_say(cli, SAY_ERROR, buf_str(&line));
    buf_clear(&line);
}

static void say_waits(Cli *cli, Str id) {
    Buf line = { 0 };
    buf_add_fmt(&line, "run " STR_FMT " waits for an answer: harness approvals", STR_ARG(state_short_id(id)));
    cli_say(cli, SAY_HINT, buf_str(&line));
    buf_clear(&line);
}

/* ---- what it does meanwhile ---- */

/* On a terminal, as `harness run` shows it. `next`: number of the next event. */
typedef struct Following { Cli *cli; Store *store; Str run; Timeline *timeline; uint64_t next; } Following;

static bool take_event(void *ctx, const Event *e) {
    Following *f = ctx;
    f->next = e->seq + 1;
    return timeline_take(f->timeline, e);
}

static bool follow(Following *f, Error *err) {
    Buf out = { 0 };
    if (!f->timeline) return true;
    bool ok = store_event_each(f->store, f->run, f->next, take_event, f, err);
    if (ok) timeline_write_new(f->timeline, &out, &(TimelineStyle){ width_of_terminal(2), f->cli->color_err, false, true });
    if (out.n) (void)cli_write(STDERR_FILENO, buf_str(&out), true);
    buf_clear(&out);
    return ok;
}

/* Ctrl-C ends only the wait. */
static int wait_for(Cli *cli, Store *s, Str id) {
    Ended e = { 0 };
    Error err = { 0 };
    Heap *h = heap_new(0);
    QueueTurn turn = { 0 };
    bool found = true, some = false, ok = true, waited = false, lines = isatty(STDERR_FILENO) && !cli->json && log_on(&cli->log, LOG_WARN);
    Following f = { cli, s, id, lines ? timeline_new() : NULL, 0 };
    while (ok && !e.over) {
        ok = store_run_get(s, id, note_ended, &e, &found, &err) && (found || error_set(&err, ERR_VALIDATION, "run " STR_FMT " was removed", STR_ARG(id)));
        ok = ok && follow(&f, &err);
        if (ok && e.waits && !waited) say_waits(cli, id);
        waited = e.waits;
        if (ok && !e.over) usleep(LOOK_US);
    }
    ok = ok && queue_last_turn(s, id, h, &turn, &some, &err);
    int status = ok ? CLI_OK : cli_fail(cli, CLI_FAILED, &err);
    if (ok) print_answer(cli, id, &e, &turn);
    if (ok && !str_eq(buf_str(&e.status), STR("completed"))) status = CLI_FAILED;
    heap_free(h);
    timeline_free(f.timeline);
    buf_clear(&e.status);
    buf_clear(&e.usage);
    return status;
}

/* ---- putting ---- */

static bool put(Cli *cli, Opening *o, Store *s, Str prompt, const char *id, Error *err) {
    StoreJob j = { .id = str_from(id), .agent = str_from(args_value(&cli->args, "--agent")) };
    int64_t max_turns = 0;
    Buf job = { 0 }, title = { 0 };
    bool ok = read_number("--priority", args_value(&cli->args, "--priority"), -PRIORITY_MAX, PRIORITY_MAX, &j.priority, err) &&
              read_number("--max-turns", args_value(&cli->args, "--max-turns"), 1, INT32_MAX, &max_turns, err) &&
              read_time(args_value(&cli->args, "--at"), &j.wake_ns, err);
    if (ok && j.agent.n && !project_agent(runtime_project(o->rt), j.agent)) ok = error_set(err, ERR_CONFIG, "agent \"" STR_FMT "\" is not defined", STR_ARG(j.agent));
    if (ok) {
        write_job(cli, o->rt, prompt, max_turns, &job);
        run_title(o->rt, prompt, &title);
        j.job = buf_str(&job);
        j.title = buf_str(&title);
        ok = store_queue_put(s, &j, err);
    }
    buf_clear(&job);
    buf_clear(&title);
    return ok;
}

int queue_run(Cli *cli, Opening *o, Str prompt) {
    Error err = { 0 };
    char id[RUN_ID_SIZE];
    Store *s = runtime_store(o->rt, &err);
    run_new_id(id);
    if (!s || !store_queue_check(s, &err) || !put(cli, o, s, prompt, id, &err))
        return cli_fail(cli, err.kind == ERR_VALIDATION ? CLI_WRONG_USE : CLI_FAILED, &err);
    if (args_has(&cli->args, "--wait")) return wait_for(cli, s, str_from(id));
    buf_add_fmt(&cli->out, cli->json ? "{\"run\":\"%s\"}\n" : "%s\n", id);
    return CLI_OK;
}

/* ---- stranded runs ---- */

static bool say_one(void *ctx, Str id, Str host) {
    Buf line = { 0 };
    Str end = state_short_id(id);
    buf_add_fmt(&line, "run " STR_FMT " is stranded: its files are on ", STR_ARG(end));
    cli_escape_all(&line, host, false);
    buf_add_fmt(&line, ", which has no worker. Start harness worker there, or let another host begin with the project's files: harness runs resume " STR_FMT " --adopt",
                STR_ARG(end));
    cli_say(ctx, SAY_WARNING, buf_str(&line));
    buf_clear(&line);
    return true;
}

void queue_say_stranded(const Cli *cli, Store *s) {
    union { const Cli *in; void *out; } ctx = { cli };
    Error err = { 0 };
    (void)store_queue_stranded(s, say_one, ctx.out, &err);
}

static void say_adopted(Cli *cli, Str id, const Buf *host) {
    Buf line = { 0 };
    if (cli->json) {
        buf_add_fmt(&cli->out, "{\"run\":\"" STR_FMT "\",\"status\":\"queued\"}\n", STR_ARG(id));
        return;
    }
    buf_add_fmt(&line, "run " STR_FMT " is queued for any host, and continues with a new copy of the project's files there; its files on ", STR_ARG(state_short_id(id)));
    cli_escape_all(&line, buf_str(host), false);
    buf_add(&line, STR(" stay where they are"));
    cli_say(cli, SAY_HINT, buf_str(&line));
    buf_clear(&line);
}

int queue_adopt(Cli *cli, const char *run) {
    static const char *const other[] = { "-p", "--file", "--model", "--effort", "--yes", "--approve", "--events", "--allow-domain", "--timeout", "--ask" };
    State s;
    Error err = { 0 };
    Buf id = { 0 }, host = { 0 };
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        if (args_has(&cli->args, other[i])) {
            error_set(&err, ERR_VALIDATION, "%s has no effect with --adopt, which only lets a worker take the run", other[i]);
            return cli_fail(cli, CLI_WRONG_USE, &err);
        }
    if (!state_open(cli, &s)) return CLI_FAILED;
    bool ok = store_queue_check(s.store, &err) && store_run_find(s.store, str_from(run), &id, &err) && store_queue_adopt(s.store, buf_str(&id), &host, &err);
    if (ok) say_adopted(cli, buf_str(&id), &host);
    state_close(&s);
    buf_clear(&id);
    buf_clear(&host);
    return ok ? CLI_OK : cli_fail(cli, CLI_FAILED, &err);
}
