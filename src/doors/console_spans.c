/* The waterfall of a run: pairs of events that begin and end something. */
#include "doors/console_private.h"
#include "store/store_page.h"
#include "value/int.h"

enum { EVENTS_MAX = 20000 };

typedef enum { SPAN_TURN, SPAN_COMPLETION, SPAN_TOOL, SPAN_DELEGATION, SPAN_TASK } SpanKind;
static const char *const kinds[] = { "turn", "completion", "tool", "delegation", "task" };

/* X(type of an event, kind, status of the end; NULL: it begins one) */
static const struct { const char *type; SpanKind kind; const char *status; } marks[] = {
    { "turn.started", SPAN_TURN, NULL },             { "turn.ended", SPAN_TURN, "completed" },
    { "completion.started", SPAN_COMPLETION, NULL }, { "completion.completed", SPAN_COMPLETION, "completed" },
    { "completion.failed", SPAN_COMPLETION, "failed" },
    { "tool.started", SPAN_TOOL, NULL },             { "tool.completed", SPAN_TOOL, "completed" },
    { "tool.failed", SPAN_TOOL, "failed" },          { "tool.refused", SPAN_TOOL, "refused" },
    { "delegation.started", SPAN_DELEGATION, NULL }, { "delegation.completed", SPAN_DELEGATION, "completed" },
    { "delegation.failed", SPAN_DELEGATION, "failed" },
    { "task.started", SPAN_TASK, NULL },             { "task.completed", SPAN_TASK, "completed" },
    { "task.cancelled", SPAN_TASK, "cancelled" },
};
enum { MARKS = sizeof marks / sizeof *marks };

typedef struct Span {
    SpanKind kind;
    uint64_t seq, end_seq;               /* end_seq 0: it has not ended */
    int64_t start_ns, end_ns;
    int depth;
    Str id, name, agent, parent, rule, verdict;
    const char *status;
    double waited, hooks, worked;
} Span;

typedef struct Spans { Arena arena; Heap *heap; VEC(Span) at; int64_t start_ns, n; bool more; } Spans;

static Str keep(Spans *s, Value data, const char *key) { return arena_str(&s->arena, value_member_text(data, key)); }

/* A turn or a completion has no id: it is the open one of the same agent. */
static Span *find_open(Spans *s, SpanKind kind, Str id, const Event *e) {
    for (size_t i = s->at.n; i > 0; i--) {
        Span *p = &s->at.at[i - 1];
        if (p->end_seq || p->kind != kind || !str_eq(p->parent, e->parent)) continue;
        if (id.n ? str_eq(p->id, id) : str_eq(p->agent, e->agent)) return p;
    }
    return NULL;
}

static double number_of(Value data, const char *key) {
    Value v = value_member(data, key);
    return value_is_float(v) ? value_float(v) : value_is_int(v) ? int_to_double(v) : 0;
}

static void begin(Spans *s, SpanKind kind, const Event *e, Value data, Str id) {
    const char *named = kind == SPAN_COMPLETION ? "model" : kind == SPAN_DELEGATION ? "agent" : "name";
    VEC_PUSH(&s->at, ((Span){ .kind = kind, .seq = e->seq, .start_ns = e->time_ns, .depth = e->depth, .id = arena_str(&s->arena, id),
                              .name = keep(s, data, named), .agent = arena_str(&s->arena, e->agent), .parent = arena_str(&s->arena, e->parent), .status = "open" }));
}

static void end(Spans *s, SpanKind kind, const char *status, const Event *e, Value data, Str id) {
    Span *p = find_open(s, kind, id, e);
    if (!p && kind == SPAN_TOOL) begin(s, kind, e, data, id), p = &VEC_LAST(&s->at);         /* refused before it started */
    if (!p) return;
    p->end_seq = e->seq;
    p->end_ns = e->time_ns;
    p->status = status;
    if (value_member_text(data, "rule").n) p->rule = keep(s, data, "rule");
    p->waited = number_of(data, "waited_ms");
    p->hooks = number_of(data, "hooks_ms");
    p->worked = number_of(data, "worked_ms");
}

static void take_verdict(Spans *s, const Event *e, Value data) {
    Span *p = find_open(s, SPAN_TOOL, value_member_text(data, "id"), e);
    if (!p) return;
    p->verdict = keep(s, data, "verdict");
    p->rule = keep(s, data, "rule");
}

static bool take(void *ctx, const Event *e) {
    Spans *s = ctx;
    Value data;
    size_t i = 0;
    if (s->n++ >= EVENTS_MAX) return s->more = true, false;
    if (!s->start_ns) s->start_ns = e->time_ns;
    while (i < MARKS && !str_eq(e->type, str_from(marks[i].type))) i++;
    bool executing = str_eq(e->type, STR("tool.executing"));
    if (i == MARKS && !executing) return true;
    heap_reset(s->heap);
    if (!json_read(s->heap, e->data, NULL, &data, NULL) || !value_is_dict(data)) return true;
    if (executing) return take_verdict(s, e, data), true;
    Str id = value_member_text(data, marks[i].kind == SPAN_TASK ? "task_id" : "id");
    if (!marks[i].status) begin(s, marks[i].kind, e, data, id);
    else end(s, marks[i].kind, marks[i].status, e, data, id);
    return true;
}

static void add_or_null(Buf *out, const char *key, Str text) {
    if (text.n) return console_add_member(out, key, text);
    buf_add_fmt(out, ",\"%s\":null", key);
}

static double since(const Spans *s, int64_t ns) { return (double)(ns - s->start_ns) / 1e6; }

static void add_span(const Spans *s, const Span *p, Buf *out) {
    buf_add_fmt(out, "{\"seq\":%llu,\"end_seq\":", (unsigned long long)p->seq);
    if (p->end_seq) buf_add_fmt(out, "%llu", (unsigned long long)p->end_seq);
    else buf_add(out, STR("null"));
    buf_add_fmt(out, ",\"kind\":\"%s\"", kinds[p->kind]);
    console_add_member(out, "id", p->id);
    console_add_member(out, "name", p->name);
    console_add_member(out, "agent", p->agent);
    buf_add_fmt(out, ",\"depth\":%d", p->depth);
    console_add_member(out, "parent", p->parent);
    buf_add_fmt(out, ",\"start_ms\":%.3f,\"end_ms\":", since(s, p->start_ns));
    if (p->end_seq) buf_add_fmt(out, "%.3f", since(s, p->end_ns));
    else buf_add(out, STR("null"));
    buf_add_fmt(out, ",\"status\":\"%s\"", p->status);
    add_or_null(out, "rule", p->rule);
    add_or_null(out, "verdict", p->verdict);
    buf_add_fmt(out, ",\"waited_ms\":%.3f,\"hooks_ms\":%.3f,\"worked_ms\":%.3f}", p->waited, p->hooks, p->worked);
}

void console_spans(ConsoleCall *c) {
    Error err = { 0 };
    Buf out = { 0 };
    Spans s = { .heap = heap_new(0) };
    if (!console_find_run(c, &out)) return heap_free(s.heap);
    buf_reset(&out);
    bool ok = store_event_each(c->console->config->store, c->part[0], 0, take, &s, &err);
    if (ok) {
        buf_add(&out, STR("{\"start\":"));
        store_page_time(&out, s.start_ns);
        buf_add(&out, STR(",\"spans\":["));
        for (size_t i = 0; i < s.at.n; i++) {
            if (i) buf_add_char(&out, ',');
            add_span(&s, &s.at.at[i], &out);
        }
        buf_add_fmt(&out, "],\"truncated\":%s}", s.more ? "true" : "false");
        console_reply(c, 200, &out);
    } else console_fail(c, &err);
    buf_clear(&out);
    VEC_CLEAR(&s.at);
    arena_clear(&s.arena);
    heap_free(s.heap);
}
