#include "doors/simulate.h"
#include "agent/session.h"
#include "base/clock.h"
#include "doors/recorded.h"
#include "doors/simulate_private.h"
#include "mcp/remote/remotes.h"
#include "sandbox/domain.h"
#include "store/store_page.h"
#include "value/json.h"

enum { RUNS_MAX = 2000, EVENTS_MAX = 200000, REASON_MAX = 500 };

/* One of the two projects. */
typedef struct Side {
    Runtime *rt;
    McpRemotes *servers;                 /* knows the tools that were last listed; starts none */
    Agents *agents;
    Session *session;                    /* of the run that is being judged; NULL: it cannot exist, and `missing` says why */
    Error missing;
} Side;

typedef struct Row {
    RecordedCall call;
    Str run, run_agent;
    ToolJudgement recorded, before, after;       /* recorded.verdict RULE_NONE: it had not ended */
} Row;

typedef struct Simulation {
    const RuntimeConfig *project;
    const char *version;
    SimulateRequest request;
    Recorded recorded;
    VEC(Row) rows;                       /* newest first */
    size_t args_bytes;
    SimulateGuarded guarded;
    bool truncated;
    Arena arena;
    Side before, after;
    Problems problems;                   /* of the draft */
    Cancel *cancel;
    Error *err;
    int64_t start_ns;
} Simulation;

/* ---- the projects ---- */

static bool side_open(Side *side, const RuntimeConfig *config, const char *version, Problems *problems, Error *err) {
    McpRemotesConfig servers = { .program = version };
    if (!runtime_open(config, &side->rt, problems, err)) return side->rt = NULL, false;
    return mcp_remotes_new(side->rt, &servers, &side->servers, err) && agent_set_new(side->rt, &(AgentsConfig){ 0 }, &side->agents, err);
}

static void end_session(Side *side) {
    if (side->session) (void)session_close(side->session, NULL);
    side->session = NULL;
}

static void side_close(Side *side) {
    end_session(side);
    agent_set_free(side->agents);
    mcp_remotes_stop(side->servers);
    runtime_close(side->rt);
    mcp_remotes_free(side->servers);
}

static RuntimeConfig config_of(const Simulation *s) {
    RuntimeConfig c = *s->project;
    c.judging = true;
    c.own_process = false;
    c.open_files = NULL;
    return c;
}

static bool open_before(Simulation *s, Error *err) {
    RuntimeConfig config = config_of(s);
    Problems problems = { 0 };
    bool ok = side_open(&s->before, &config, s->version, &problems, err);
    if (!ok && err->kind == ERR_NONE) {
        size_t i = 0;
        while (i < problems.n && problems.at[i].severity != PROBLEM_ERROR) i++;
        error_set(err, ERR_CONFIG, "the project does not load: " STR_FMT, STR_ARG(i < problems.n ? problems.at[i].message : STR("see harness validate")));
    }
    problems_clear(&problems);
    return ok;
}

/* False with ERR_NONE: the draft cannot be judged, and s->problems says why. */
static bool open_after(Simulation *s, Error *err) {
    RuntimeConfig config = config_of(s);
    config.drafts = s->request.drafts.at;
    config.n_drafts = s->request.drafts.n;
    config.within = runtime_trust_subject(s->before.rt);
    config.share = s->before.rt;
    if (side_open(&s->after, &config, s->version, &s->problems, err)) return true;
    if (err->kind == ERR_NONE) return false;
    problems_add_error(&s->problems, STR(""), err);
    *err = (Error){ 0 };
    return false;
}

/* ---- recorded calls ---- */

static ToolJudgement recorded_verdict(const RecordedCall *c) {
    ToolJudgement j = { .rule = c->rule };
    if (c->asked || str_eq(c->step, STR("confirm"))) j.verdict = RULE_ASK;
    else if (str_eq(c->outcome, STR("refused"))) j.verdict = RULE_DENY;
    else if (!str_eq(c->outcome, STR("open"))) j.verdict = RULE_ALLOW, j.rule = STR("");
    return j;
}

static bool take_run(void *ctx, int64_t n, const StoreRun *run) {
    Simulation *s = ctx;
    size_t from = s->recorded.n;
    (void)n;
    if ((int64_t)s->rows.n >= s->request.limit) return false;
    if (!recorded_read(&s->recorded, runtime_store(s->before.rt, NULL), run->id, EVENTS_MAX, s->err)) return false;
    if (s->recorded.n == from) return true;
    Str id = arena_str(&s->arena, run->id), agent = arena_str(&s->arena, run->agent);
    for (size_t i = s->recorded.n; i > from && (int64_t)s->rows.n < s->request.limit; i--) {
        const RecordedCall *c = &s->recorded.at[i - 1];
        s->args_bytes += c->args.n;
        if (s->args_bytes > SIMULATE_ARGS_MAX) return s->truncated = true, false;
        VEC_PUSH(&s->rows, ((Row){ .call = *c, .run = id, .run_agent = agent, .recorded = recorded_verdict(c) }));
    }
    if (s->recorded.events > EVENTS_MAX) s->truncated = true;
    return !s->truncated;
}

static bool gather(Simulation *s, Error *err) {
    Store *store = runtime_store(s->before.rt, err);
    s->err = err;
    if (!store) return err->kind == ERR_NONE;
    return store_page_runs(store, 0, RUNS_MAX, take_run, s, err) && err->kind == ERR_NONE;
}

/* Decisions are in the state file, also if the runs are in a database. */
static bool gather_guarded(Simulation *s, Error *err) {
    Store *store = runtime_local_store(s->before.rt, err);
    if (!store) return err->kind == ERR_NONE;
    return simulate_guarded_read(&s->guarded, store, runtime_project(s->before.rt)->root, s->request.limit, err);
}

/* True if the next row of both lists, after `own` and `guarded` rows, is one of ours: the newer one. */
static bool is_own_next(const Simulation *s, size_t own, size_t guarded) {
    if (own == s->rows.n || guarded == s->guarded.rows.n) return own < s->rows.n;
    return s->rows.at[own].call.time_ns >= s->guarded.rows.at[guarded].time_ns;
}

/* The newest calls of both. */
static void cut(Simulation *s) {
    size_t own = 0, guarded = 0;
    while ((int64_t)(own + guarded) < s->request.limit && (own < s->rows.n || guarded < s->guarded.rows.n)) {
        if (is_own_next(s, own, guarded)) own++;
        else guarded++;
    }
    s->rows.n = own;
    s->guarded.rows.n = guarded;
}

/* ---- judging ---- */

/* Each recorded run has its own run, so that what hooks remember of one does not decide about another. */
static void begin_run(Side *side, const Row *row) {
    SessionConfig config = { .agent = row->run_agent, .look = true };
    end_session(side);
    side->missing = (Error){ 0 };
    if (!session_open(side->agents, &config, &(RunConfig){ .no_store = true }, false, &side->session, &side->missing)) side->session = NULL;
}

static bool judge(Simulation *s, Side *side, const Row *row, ToolJudgement *out, Error *err) {
    Call call = { .id = row->call.id, .name = row->call.tool, .arguments = row->call.args };
    if (!side->session) {
        *out = (ToolJudgement){ .verdict = RULE_DENY, .step = STEP_RESOLVE, .why = arena_str(&s->arena, str_from(side->missing.msg)) };
        return true;
    }
    return session_judge(side->session, row->call.agent, &call, s->cancel, &s->arena, out, err);
}

bool simulate_in_time(Cancel *cancel, size_t at, size_t of, Str tool, Error *err) {
    if (cancel_check(cancel, err)) return true;
    if (err->kind != ERR_TIMEOUT) return false;
    error_set(err, ERR_TIMEOUT, "the simulation was ended after %d s, at call %zu of %zu (" STR_FMT ")", SIMULATE_SECONDS, at, of, STR_ARG(tool));
    return error_hint(err, "does a hook wait, or a loop of a hook not end? Fewer calls take less time");
}

/* The oldest call first, in the order in which they were made. */
static bool judge_all(Simulation *s, Error *err) {
    bool drafted = s->request.drafts.n > 0;
    size_t all = s->rows.n + s->guarded.rows.n;
    Str run = { 0 };
    for (size_t i = 0; i < s->rows.n; i++) {
        Row *row = &s->rows.at[s->rows.n - 1 - i];
        if (!str_eq(run, row->run)) {
            run = row->run;
            begin_run(&s->before, row);
            if (drafted) begin_run(&s->after, row);
        }
        if (!judge(s, &s->before, row, &row->after, err)) return false;
        row->before = drafted ? row->after : row->recorded;
        if (drafted && !judge(s, &s->after, row, &row->after, err)) return false;
        if (!simulate_in_time(s->cancel, i + 1, all, row->call.tool, err)) return false;
    }
    return simulate_guarded_judge(&s->guarded, s->before.rt, drafted ? s->after.rt : NULL, s->cancel, s->rows.n, all, err);
}

/* ---- the answer ---- */

void simulate_add_text(Buf *out, const char *key, Str text) {
    buf_add_fmt(out, ",\"%s\":", key);
    if (text.n) json_write_string(out, text, false);
    else buf_add(out, STR("null"));
}

static void add_verdict(Buf *out, const char *key, const ToolJudgement *j) {
    buf_add_fmt(out, ",\"%s\":", key);
    if (j->verdict == RULE_NONE) return buf_add(out, STR("null"));
    buf_add_fmt(out, "{\"decision\":\"%s\"", rule_verdict_name(j->verdict));
    simulate_add_text(out, "step", str_from(result_step_name(j->step)));
    simulate_add_text(out, "rule", j->rule);
    simulate_add_text(out, "reason", str_sub(j->why, 0, REASON_MAX));
    simulate_add_text(out, "file", j->file);
    if (j->line) buf_add_fmt(out, ",\"line\":%u}", j->line);
    else buf_add(out, STR(",\"line\":null}"));
}

static bool is_changed(const ToolJudgement *before, const ToolJudgement *after) { return before->verdict != after->verdict && before->verdict != RULE_NONE; }

void simulate_add_verdicts(Buf *out, const ToolJudgement *recorded, const ToolJudgement *before, const ToolJudgement *after) {
    add_verdict(out, "recorded", recorded);
    add_verdict(out, "before", before);
    add_verdict(out, "after", after);
    buf_add_fmt(out, ",\"changed\":%s", is_changed(before, after) ? "true" : "false");
}

static void add_row(Buf *out, const Row *row) {
    const RecordedCall *c = &row->call;
    buf_add(out, STR("{\"run\":"));
    json_write_string(out, row->run, false);
    buf_add_fmt(out, ",\"seq\":%llu,\"time\":", (unsigned long long)c->seq);
    store_page_time(out, c->time_ns);
    simulate_add_text(out, "id", c->id);
    simulate_add_text(out, "tool", c->tool);
    simulate_add_text(out, "agent", c->agent);
    buf_add_fmt(out, ",\"vendor\":null,\"args\":" STR_FMT ",\"redacted\":%s", STR_ARG(c->args), c->redacted ? "true" : "false");
    simulate_add_verdicts(out, &row->recorded, &row->before, &row->after);
    buf_add_char(out, '}');
}

static void add_problem(Buf *out, const Problem *p) {
    buf_add(out, STR("{\"message\":"));
    json_write_string(out, p->message, false);
    simulate_add_text(out, "file", p->file);
    if (p->file.n && p->line) buf_add_fmt(out, ",\"line\":%u", p->line);
    else buf_add(out, STR(",\"line\":null"));
    simulate_add_text(out, "hint", p->hint);
    buf_add_char(out, '}');
}

static void add_problems(Buf *out, const Problems *all) {
    bool first = true;
    buf_add(out, STR(",\"problems\":["));
    for (size_t i = 0; i < all->n; i++) {
        if (all->at[i].severity != PROBLEM_ERROR) continue;
        if (!first) buf_add_char(out, ',');
        add_problem(out, &all->at[i]);
        first = false;
    }
    buf_add_char(out, ']');
}

static size_t count_changed(const Simulation *s) {
    size_t n = 0;
    for (size_t i = 0; i < s->rows.n; i++) n += is_changed(&s->rows.at[i].before, &s->rows.at[i].after);
    for (size_t i = 0; i < s->guarded.rows.n; i++) n += is_changed(&s->guarded.rows.at[i].before, &s->guarded.rows.at[i].after);
    return n;
}

static void add_rows(const Simulation *s, Buf *out) {
    size_t own = 0, guarded = 0, all = s->rows.n + s->guarded.rows.n;
    while (own + guarded < all) {
        if (own + guarded) buf_add_char(out, ',');
        if (is_own_next(s, own, guarded)) add_row(out, &s->rows.at[own++]);
        else simulate_guarded_add(&s->guarded.rows.at[guarded++], runtime_project(s->before.rt)->root, out);
    }
}

/* `judged` false: the draft has problems. */
static void write_answer(const Simulation *s, bool judged, Buf *out) {
    bool truncated = s->truncated || s->guarded.truncated;
    size_t n = judged ? s->rows.n + s->guarded.rows.n : 0;
    buf_add_fmt(out, "{\"calls\":%zu,\"guarded\":%zu,\"without_args\":%zu,\"changed\":%zu,\"truncated\":%s,\"elapsed_ms\":%.1f", n,
                judged ? s->guarded.rows.n : 0, s->guarded.without, judged ? count_changed(s) : 0, truncated ? "true" : "false",
                (double)(clock_mono_ns() - s->start_ns) / 1e6);
    if (judged) buf_add(out, STR(",\"problems\":[]"));
    else add_problems(out, &s->problems);
    buf_add(out, STR(",\"rows\":["));
    if (judged) add_rows(s, out);
    buf_add(out, STR("]}\n"));
}

/* ---- entry point ---- */

static bool run(Simulation *s, Buf *out, Error *err) {
    static const char *const nowhere[] = { NULL };
    bool drafted = s->request.drafts.n > 0;
    if (!open_before(s, err) || !gather(s, err) || !gather_guarded(s, err)) return false;
    cut(s);
    bool loads = !drafted || open_after(s, err);
    if (!loads && err->kind != ERR_NONE) return false;
    if (!domain_restrict(nowhere, err) || (loads && !judge_all(s, err))) return false;
    return write_answer(s, loads, out), true;
}

bool simulate_run(const RuntimeConfig *project, const char *version, Str request, Buf *out, Error *err) {
    Simulation s = { .project = project, .version = version, .start_ns = clock_mono_ns() };
    s.cancel = cancel_new(NULL, (int64_t)SIMULATE_SECONDS * 1000000000);
    bool ok = simulate_request_read(request, &s.request, err) && run(&s, out, err);
    side_close(&s.after);
    side_close(&s.before);
    simulate_guarded_clear(&s.guarded);
    recorded_clear(&s.recorded);
    VEC_CLEAR(&s.rows);
    problems_clear(&s.problems);
    simulate_request_clear(&s.request);
    cancel_free(s.cancel);
    arena_clear(&s.arena);
    return ok;
}
