#include "doors/console_private.h"
#include <ctype.h>
#include "base/clock.h"
#include "doors/recorded.h"
#include "store/store_page.h"

enum {
    PAGE_USUAL = 50, PAGE_MAX = 200, SCAN_MAX = 20000,
    EVENTS_USUAL = 500, EVENTS_MAX = 1000, EVENTS_BYTES = 4 << 20, EVENTS_SCAN = 50000,
    ARTIFACTS_MAX = 1000, ARTIFACT_USUAL = 1 << 20, ARTIFACT_MAX = 16 << 20,
    CALLS_RUNS = 2000, CALLS_EVENTS = 100000,
};

/* ---- the list ---- */

typedef struct Listing {
    Store *store;
    Buf out;
    StoreRunFilter filter;
    int64_t limit, n, scanned, last;
} Listing;

static bool list_run(void *ctx, int64_t n, const StoreRun *r) {
    Listing *l = ctx;
    l->scanned++;
    l->last = n;
    if (!store_page_wanted(&l->filter, r)) return true;
    if (l->n++) buf_add_char(&l->out, ',');
    store_page_run_json(l->store, r, &l->out);
    return l->n < l->limit;
}

static bool read_since(ConsoleCall *c, int64_t *out, Error *err) {
    int64_t age;
    if (!http_server_has_query(c->q, STR("since"))) return true;
    if (!clock_read_age(http_server_query(c->q, STR("since")), &age)) return error_set(err, ERR_VALIDATION, "since is not an age like 90s, 15m, 12h or 7d");
    return *out = clock_wall_ns() - age, true;
}

static void end_page(Buf *out, int64_t next) {
    if (next > 0) buf_add_fmt(out, ",\"next\":\"%lld\"", (long long)next);
    else buf_add(out, STR(",\"next\":null"));
}

void console_runs(ConsoleCall *c) {
    Error err = { 0 };
    int64_t before = 0;
    Listing l = { .store = c->console->config->store, .limit = PAGE_USUAL };
    l.filter = (StoreRunFilter){ .status = http_server_query(c->q, STR("status")), .search = http_server_query(c->q, STR("search")),
                                 .agent = http_server_query(c->q, STR("agent")), .any_agent = !http_server_has_query(c->q, STR("agent")),
                                 .all = str_eq(http_server_query(c->q, STR("all")), STR("1")) };
    buf_add(&l.out, STR("{\"runs\":["));
    bool ok = console_query_int(c, "limit", 1, PAGE_MAX, &l.limit, &err) && console_query_int(c, "before", 1, INT64_MAX, &before, &err)
        && read_since(c, &l.filter.since_ns, &err) && store_page_runs(c->console->config->store, before, SCAN_MAX, list_run, &l, &err);
    if (!ok) return buf_clear(&l.out), console_fail(c, &err);
    buf_add_char(&l.out, ']');
    end_page(&l.out, l.n >= l.limit || l.scanned >= SCAN_MAX ? l.last : 0);
    buf_add_fmt(&l.out, ",\"scanned\":%lld}", (long long)l.scanned);
    console_reply(c, 200, &l.out);
}

/* ---- one run ---- */

typedef struct Found { Store *store; Buf json, status; } Found;

static bool take_run(void *ctx, const StoreRun *r) {
    Found *f = ctx;
    store_page_run_json(f->store, r, &f->json);
    buf_add(&f->status, r->status);
    return true;
}

static bool find(ConsoleCall *c, Found *f, Error *err) {
    bool found = false;
    Str id = c->part[0];
    if (!store_run_get(c->console->config->store, id, take_run, f, &found, err)) return false;
    return found || error_set(err, ERR_VALIDATION, "no such run: " STR_FMT, STR_ARG(id));
}

bool console_find_run(ConsoleCall *c, Buf *status) {
    Found f = { .store = c->console->config->store };
    Error err = { 0 };
    bool ok = find(c, &f, &err);
    if (ok) buf_add(status, buf_str(&f.status));
    else console_fail(c, &err);
    buf_clear(&f.json);
    buf_clear(&f.status);
    return ok;
}

typedef struct Questions { Store *store; Buf *out; Str run; size_t n; } Questions;

static bool add_question(void *ctx, const StoreApproval *a) {
    Questions *q = ctx;
    if (!str_eq(a->run, q->run)) return true;
    if (q->n++) buf_add_char(q->out, ',');
    console_question_json(q->store, a, q->out);
    return true;
}

void console_run(ConsoleCall *c) {
    Error err = { 0 };
    Found f = { .store = c->console->config->store };
    Store *s = c->console->config->store;
    uint64_t last = 0;
    bool ok = find(c, &f, &err) && store_event_last(s, c->part[0], &last, &err);
    if (ok) {
        f.json.n--;                                                          /* without its last brace */
        buf_add_fmt(&f.json, ",\"last\":%llu,\"questions\":[", (unsigned long long)last);
        Questions q = { .store = s, .out = &f.json, .run = c->part[0] };
        ok = store_approval_each(s, add_question, &q, &err);
        buf_add(&f.json, STR("]}"));
    }
    buf_clear(&f.status);
    if (ok) return console_reply(c, 200, &f.json);
    buf_clear(&f.json);
    console_fail(c, &err);
}

/* ---- events ---- */

typedef struct Events { Buf out; Str types; int64_t limit, n, scanned; uint64_t seen; bool more; } Events;

static bool has_type(Str types, Str type) {
    if (!types.n) return true;
    while (types.n) {
        ptrdiff_t comma = str_find_char(types, ',');
        Str one = comma < 0 ? types : str_sub(types, 0, (size_t)comma);
        types = comma < 0 ? STR("") : str_sub(types, (size_t)comma + 1, types.n);
        if (one.n && str_starts(type, one)) return true;
    }
    return false;
}

static bool add_event(void *ctx, const Event *e) {
    Events *l = ctx;
    if (l->n >= l->limit || l->scanned >= EVENTS_SCAN || l->out.n > EVENTS_BYTES) return l->more = true, false;
    l->scanned++;
    l->seen = e->seq;
    if (!has_type(l->types, e->type)) return true;
    if (l->n++) buf_add_char(&l->out, ',');
    event_write_json(&l->out, e);
    return true;
}

void console_events(ConsoleCall *c) {
    Error err = { 0 };
    Buf status = { 0 };
    Store *s = c->console->config->store;
    Events l = { .limit = EVENTS_USUAL, .types = http_server_query(c->q, STR("types")) };
    int64_t after = 0;
    uint64_t last = 0;
    if (!console_find_run(c, &status)) return;
    buf_clear(&status);
    buf_add(&l.out, STR("{\"events\":["));
    bool ok = console_query_int(c, "limit", 1, EVENTS_MAX, &l.limit, &err) && console_query_int(c, "after", 0, UINT32_MAX - 1, &after, &err)
        && store_event_each(s, c->part[0], (uint64_t)after + 1, add_event, &l, &err) && store_event_last(s, c->part[0], &last, &err);
    if (!ok) return buf_clear(&l.out), console_fail(c, &err);
    buf_add(&l.out, l.more ? STR("],\"next\":") : STR("],\"next\":null"));
    if (l.more) buf_add_fmt(&l.out, "%llu", (unsigned long long)l.seen);
    buf_add_fmt(&l.out, ",\"last\":%llu}", (unsigned long long)last);
    console_reply(c, 200, &l.out);
}

/* ---- artifacts ---- */

static bool add_artifact(void *ctx, const StoreArtifact *a) {
    Buf *out = ctx;
    buf_add(out, out->n > 1 ? STR(",{\"key\":") : STR("{\"key\":"));
    json_write_string(out, a->key, false);
    console_add_member(out, "tool", a->tool);
    console_add_member(out, "mime", a->mime);
    buf_add_fmt(out, ",\"bytes\":%lld,\"time\":", (long long)a->bytes);
    store_page_time(out, a->time_ns);
    buf_add_char(out, '}');
    return true;
}

void console_artifacts(ConsoleCall *c) {
    Error err = { 0 };
    Buf out = { 0 };
    if (!console_find_run(c, &out)) return;
    buf_reset(&out);
    buf_add_char(&out, '[');
    if (!store_page_artifacts(c->console->config->store, c->part[0], ARTIFACTS_MAX, add_artifact, &out, &err)) return buf_clear(&out), console_fail(c, &err);
    buf_add_char(&out, ']');
    console_reply(c, 200, &out);
}

void console_artifact(ConsoleCall *c) {
    Error err = { 0 };
    Buf bytes = { 0 }, size = { 0 }, name = { 0 };
    int64_t offset = 0, limit = ARTIFACT_USUAL;
    uint64_t total = 0;
    bool ok = console_query_int(c, "offset", 0, INT32_MAX, &offset, &err) && console_query_int(c, "limit", 1, ARTIFACT_MAX, &limit, &err)
        && store_artifact_get(c->console->config->store, c->part[0], c->part[1], (uint64_t)offset, (uint64_t)limit, &bytes, &total, &err);
    if (!ok) return buf_clear(&bytes), console_fail(c, &err);
    buf_add_fmt(&size, "%llu", (unsigned long long)total);
    buf_add_fmt(&name, "attachment; filename=\"" STR_FMT "\"", STR_ARG(c->part[1]));
    HttpServerHeader headers[] = { { STR("Content-Type"), STR("application/octet-stream") }, { STR("Content-Disposition"), buf_str(&name) },
                                   { STR("Content-Security-Policy"), STR("sandbox") }, { STR("X-Total"), buf_str(&size) } };
    http_server_answer(c->q, 200, headers, sizeof headers / sizeof *headers, &bytes);
    buf_clear(&size);
    buf_clear(&name);
}

/* ---- recorded calls ---- */

typedef struct Calls {
    Store *store;
    Buf out;
    Str tool;
    int64_t limit, n;
    Recorded recorded;                   /* of the run that is being read */
    Error *err;
    bool failed, more;
} Calls;

static void add_text_or_null(Buf *out, const char *key, Str text) {
    if (text.n) return console_add_member(out, key, text);
    buf_add_fmt(out, ",\"%s\":null", key);
}

static void add_call(Calls *l, Str run, const RecordedCall *r) {
    Buf *out = &l->out;
    buf_add(out, l->n++ ? STR(",{\"run\":") : STR("{\"run\":"));
    json_write_string(out, run, false);
    buf_add_fmt(out, ",\"seq\":%llu,\"time\":", (unsigned long long)r->seq);
    store_page_time(out, r->time_ns);
    console_add_member(out, "id", r->id);
    console_add_member(out, "tool", r->tool);
    buf_add_fmt(out, ",\"args\":" STR_FMT ",\"redacted\":%s", STR_ARG(r->args), r->redacted ? "true" : "false");
    console_add_member(out, "outcome", r->outcome);
    add_text_or_null(out, "step", r->step);
    add_text_or_null(out, "rule", r->rule);
    console_add_member(out, "agent", r->agent);
    buf_add_char(out, '}');
}

/* The cursor is the number of a run, and of the event of its call that was the last one of the page; 0: the run is complete. */
typedef struct CallCursor { int64_t n, seq; } CallCursor;

static bool read_cursor(ConsoleCall *c, CallCursor *out, Error *err) {
    Str text = http_server_query(c->q, STR("before"));
    int64_t *to = &out->n;
    bool ok = text.n > 0 && text.n < 36;
    if (!http_server_has_query(c->q, STR("before"))) return true;
    for (size_t i = 0, digits = 0; ok && i < text.n; i++) {
        if (text.at[i] == '.' && to == &out->n && digits) to = &out->seq, digits = 0;
        else if (isdigit((unsigned char)text.at[i]) && digits++ < 17) *to = *to * 10 + (text.at[i] - '0');
        else ok = false;
    }
    ok = ok && out->n > 0 && text.at[text.n - 1] != '.';
    return ok || error_set(err, ERR_VALIDATION, "before is not a cursor of this list");
}

typedef struct CallsPage { Calls calls; CallCursor from, last; } CallsPage;

static bool calls_of_run(void *ctx, int64_t n, const StoreRun *r) {
    CallsPage *page = ctx;
    Calls *l = &page->calls;
    if (l->n >= l->limit || l->recorded.events > CALLS_EVENTS) return l->more = true, false;
    recorded_reset(&l->recorded);
    if (!recorded_read(&l->recorded, l->store, r->id, CALLS_EVENTS, l->err)) return l->failed = true, false;
    page->last = (CallCursor){ n, 0 };
    for (size_t i = l->recorded.n; i > 0 && !l->more; i--) {
        const RecordedCall *call = &l->recorded.at[i - 1];
        if ((l->tool.n && !str_eq(call->tool, l->tool)) || (n == page->from.n && page->from.seq && (int64_t)call->seq >= page->from.seq)) continue;
        l->more = l->n >= l->limit;
        if (l->more) break;
        add_call(l, r->id, call);
        page->last.seq = (int64_t)call->seq;
    }
    if (!l->more) page->last.seq = 0;
    return !l->more;
}

static bool list_calls(ConsoleCall *c, CallsPage *page, Error *err) {
    Store *s = page->calls.store;
    Str run = http_server_query(c->q, STR("run"));
    int64_t n = 0, before = page->from.n ? page->from.n + (page->from.seq > 0) : 0;
    if (!run.n) return store_page_runs(s, before, CALLS_RUNS, calls_of_run, page, err);
    if (!store_page_run_number(s, run, &n, err)) return false;
    if (!n) return error_set(err, ERR_VALIDATION, "no such run: " STR_FMT, STR_ARG(str_sub(run, 0, CONSOLE_ID_MAX)));
    return store_page_runs(s, n + 1, 1, calls_of_run, page, err);
}

void console_calls(ConsoleCall *c) {
    Error err = { 0 };
    CallsPage page = { .calls = { .store = c->console->config->store, .tool = http_server_query(c->q, STR("tool")), .limit = PAGE_USUAL,
                                    .err = &err } };
    Calls *l = &page.calls;
    buf_add(&l->out, STR("{\"calls\":["));
    bool ok = console_query_int(c, "limit", 1, EVENTS_MAX, &l->limit, &err) && read_cursor(c, &page.from, &err) && list_calls(c, &page, &err) && !l->failed;
    recorded_clear(&l->recorded);
    if (!ok) return buf_clear(&l->out), console_fail(c, &err);
    if (!l->more) buf_add(&l->out, STR("],\"next\":null}"));
    else if (page.last.seq) buf_add_fmt(&l->out, "],\"next\":\"%lld.%lld\"}", (long long)page.last.n, (long long)page.last.seq);
    else buf_add_fmt(&l->out, "],\"next\":\"%lld\"}", (long long)page.last.n);
    console_reply(c, 200, &l->out);
}
