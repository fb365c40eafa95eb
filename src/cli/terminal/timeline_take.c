/* Converts the events of a run into the items of a timeline. */
#include <stdlib.h>
#include "base/mem.h"
#include "cli/terminal/timeline_private.h"
#include "value/dict.h"
#include "value/int.h"
#include "value/json.h"

enum { OUTPUT_MAX = 64 << 10 };

Timeline *timeline_new(void) {
    Timeline *t = mem_zero(1, sizeof *t);
    t->top.kind = TIMELINE_NOTE;
    return t;
}

void timeline_free(Timeline *t) {
    if (!t) return;
    table_clear(&t->calls);
    arena_clear(&t->arena);
    free(t);
}

static Str keep(Timeline *t, Str text) { return arena_str(&t->arena, text); }

/* Places an item below the call that its agent or script works for. Beyond the maximum depth items become siblings, so that a damaged run
 * cannot nest endlessly. */
static TimelineItem *add_item(Timeline *t, TimelineKind kind, const Event *e) {
    TimelineItem *i = ARENA_ARRAY(&t->arena, TimelineItem, 1), *in = e->parent.n ? table_get(&t->calls, e->parent) : NULL;
    if (!in || in->level >= TIMELINE_LEVELS) in = in ? in->in : &t->top;
    *i = (TimelineItem){ .kind = kind, .call = { .depth = e->depth, .open = true }, .start_ns = e->time_ns, .end_ns = e->time_ns, .in = in,
                         .level = in->level + 1, .agent = keep(t, e->agent) };
    if (in->last) in->last->next = i;
    else in->first = i;
    in->last = i;
    return i;
}

/* A provider may use an id again in a later turn. */
static TimelineItem *new_call(Timeline *t, const Event *e, Value data) {
    TimelineItem *i = add_item(t, TIMELINE_CALL, e);
    i->call.name = keep(t, value_member_text(data, "name"));
    table_put(&t->calls, keep(t, value_member_text(data, "id")), i);
    return i;
}

static TimelineItem *call_of(Timeline *t, const Event *e, Value data) {
    TimelineItem *i = table_get(&t->calls, value_member_text(data, "id"));
    return i ? i : new_call(t, e, data);
}

static TimelineItem *started(Timeline *t, const Event *e, Value data) {
    TimelineItem *i = table_get(&t->calls, value_member_text(data, "id"));
    return i && i->call.open ? i : new_call(t, e, data);
}

static void add_fact(Timeline *t, TimelineItem *i, const char *label, Str text) {
    if (!text.n) return;
    TimelineFact *f = ARENA_ARRAY(&t->arena, TimelineFact, 1);
    *f = (TimelineFact){ .label = label, .text = keep(t, text) };
    if (i->last_fact) i->last_fact->next = f;
    else i->facts = f;
    i->last_fact = f;
}

static double number_of(Value data, const char *key) {
    Value v = value_member(data, key);
    return value_is_float(v) ? value_float(v) : value_is_int(v) ? int_to_double(v) : 0;
}

static void take_args(Timeline *t, TimelineItem *i, Value data) {
    Buf json = { 0 }, about = { 0 };
    Error err;
    if (json_write(&json, value_member(data, "args"), NULL, &err)) timeline_about(&about, buf_str(&json));
    i->args = keep(t, buf_str(&json));
    i->call.about = keep(t, buf_str(&about));
    buf_clear(&json);
    buf_clear(&about);
}

static void set_verdict(Timeline *t, TimelineItem *i, const TimelineVerdict *v) {
    Buf out = { 0 };
    timeline_verdict(&out, v);
    i->call.verdict = keep(t, buf_str(&out));
    buf_clear(&out);
}

static void take_text(Timeline *t, TimelineItem *i, Value data) {
    Value error = value_member(data, "error");
    Buf text = { 0 };
    timeline_output(&text, value_is_string(error) ? error : value_member(data, "value"));
    i->call.output = keep(t, str_sub(buf_str(&text), 0, OUTPUT_MAX));
    i->cut = text.n > OUTPUT_MAX;
    i->call.diff = keep(t, value_member_text(value_member(data, "change"), "diff"));
    buf_clear(&text);
}

/* "tool.pre 0.3 ms · execute 28 ms" */
static void take_steps(Timeline *t, TimelineItem *i, Value data) {
    Value steps = value_member(data, "steps");
    Buf text = { 0 };
    Entry *e;
    for (uint32_t k = 0; value_is_dict(steps) && dict_next(value_dict(steps), &k, &e);) {
        if (!value_is_string(e->key)) continue;
        if (text.n) buf_add(&text, STR(" · "));
        buf_add(&text, value_str(e->key));
        buf_add_char(&text, ' ');
        timeline_add_duration(&text, (int64_t)((value_is_float(e->value) ? value_float(e->value) : 0) * 1e6));
    }
    add_fact(t, i, "steps", buf_str(&text));
    buf_clear(&text);
}

static bool waits(const TimelineItem *i) { return str_eq(i->call.verdict, STR("waits for an answer")); }

static void take_end(Timeline *t, const Event *e, Value data, bool failed) {
    TimelineItem *i = call_of(t, e, data);
    i->call.open = false;
    i->call.failed = failed;
    i->call.elapsed_ns = (int64_t)(number_of(data, "elapsed_ms") * 1e6);
    i->call.waited_ns = (int64_t)(number_of(data, "waited_ms") * 1e6);
    i->hooks_ns = (int64_t)(number_of(data, "hooks_ms") * 1e6);
    i->worked_ns = (int64_t)(number_of(data, "worked_ms") * 1e6);
    i->call.cost = timeline_cost(value_member(data, "value"));
    i->end_ns = e->time_ns;
    take_text(t, i, data);
    take_steps(t, i, data);
    if (!i->call.verdict.n || waits(i)) i->call.verdict = failed ? STR("failed") : STR("allowed");
}

static void take_refused(Timeline *t, const Event *e, Value data) {
    TimelineItem *i = call_of(t, e, data);
    Str step = value_member_text(data, "step"), rule = value_member_text(data, "rule");
    i->call.open = false;
    i->call.failed = true;
    i->end_ns = e->time_ns;
    i->call.output = keep(t, value_member_text(data, "message"));
    i->call.file = keep(t, value_member_text(data, "file"));
    take_steps(t, i, data);
    set_verdict(t, i, &(TimelineVerdict){ .refused = true, .step = step, .rule = rule, .source = i->source, .by = i->by });
}

static void take_prompt(Timeline *t, const Event *e, Value data) {
    TimelineItem *i = add_item(t, TIMELINE_PROMPT, e);
    i->text = keep(t, value_member_text(data, "text"));
    if (e->depth == 0) t->prompt = i;
}

/* The cost of a reply belongs to the prompt that it answers, also that of a sub-agent. */
static void take_answer(Timeline *t, const Event *e, Value data) {
    Str text = value_member_text(data, "text");
    Value side = value_member(data, "side");
    double cost = number_of(value_member(data, "usage"), "usd");
    t->cost += cost;
    if (t->prompt) t->prompt->call.cost += cost;
    if (str_trim(text).n == 0 || (value_is_bool(side) && value_bool(side))) return;
    TimelineItem *i = add_item(t, TIMELINE_ANSWER, e);
    i->text = keep(t, text);
    i->call.elapsed_ns = (int64_t)(number_of(data, "elapsed_ms") * 1e6);
}

static void take_request(Timeline *t, const Event *e, Value data) {
    if (e->depth > 0 || !t->prompt) return;
    double limit = number_of(data, "context_max");
    t->prompt->model = keep(t, value_member_text(data, "model"));
    if (limit > 0) t->prompt->context = 100 * number_of(data, "context") / limit;
}

static void take_note(Timeline *t, const Event *e, const char *words, Str text) {
    TimelineItem *i = add_item(t, TIMELINE_NOTE, e);
    i->text = str_from(arena_fmt(&t->arena, "%s" STR_FMT, words, STR_ARG(text)));
}

static void take_executing(Timeline *t, TimelineItem *i, Value data) {
    add_fact(t, i, "rule", value_member_text(data, "rule"));
    if (!i->call.verdict.n || waits(i)) i->call.verdict = STR("allowed");
}

static void take_question(Timeline *t, TimelineItem *i, Value data) {
    add_fact(t, i, "asked because", value_member_text(data, "reason"));
    i->call.verdict = STR("waits for an answer");
}

static void take_approval(Timeline *t, const Event *e, Value data) {
    TimelineItem *i = call_of(t, e, data);
    Str answer = value_member_text(data, "answer");
    i->source = str_eq(answer, STR("none")) ? STR("none given") : keep(t, value_member_text(data, "source"));
    i->by = keep(t, value_member_text(data, "by"));
    add_fact(t, i, "answer", answer);
    add_fact(t, i, "answered by", i->by);
    add_fact(t, i, "reason", value_member_text(data, "reason"));
    if (!str_eq(answer, STR("no")) && !str_eq(answer, STR("none"))) set_verdict(t, i, &(TimelineVerdict){ .source = i->source, .by = i->by, .answer = answer });
}

static void take_hook(Timeline *t, Value data) {
    TimelineItem *i = table_get(&t->calls, value_member_text(data, "id"));
    Str reason = value_member_text(data, "reason");
    if (!i) return;
    add_fact(t, i, "hook", str_from(arena_fmt(&t->arena, STR_FMT " (" STR_FMT "): " STR_FMT "%s" STR_FMT, STR_ARG(value_member_text(data, "hook")),
        STR_ARG(value_member_text(data, "event")), STR_ARG(value_member_text(data, "decision")), reason.n ? ", " : "", STR_ARG(reason))));
}

static void take_fact(Timeline *t, Value data, const char *label, const char *key) {
    TimelineItem *i = table_get(&t->calls, value_member_text(data, "id"));
    if (i) add_fact(t, i, label, value_member_text(data, key));
}

static void take_data(Timeline *t, const Event *e, Value data) {
    switch (event_type_find(e->type)) {
    case EVENT_TURN_STARTED: take_prompt(t, e, data); break;
    case EVENT_COMPLETION_STARTED: take_request(t, e, data); break;
    case EVENT_COMPLETION_COMPLETED: take_answer(t, e, data); break;
    case EVENT_COMPLETION_FAILED: take_note(t, e, "the model failed: ", value_member_text(data, "error")); break;
    case EVENT_TURN_MESSAGE: take_note(t, e, "", value_member_text(data, "text")); break;
    case EVENT_TURN_UNDONE: take_note(t, e, "undone: the newest messages were removed", STR("")); break;
    case EVENT_TOOL_STARTED: take_args(t, started(t, e, data), data); break;
    case EVENT_TOOL_EXECUTING: take_executing(t, call_of(t, e, data), data); break;
    case EVENT_APPROVAL_ASKED: take_question(t, call_of(t, e, data), data); break;
    case EVENT_APPROVAL_ANSWERED: take_approval(t, e, data); break;
    case EVENT_HOOK_DECIDED: take_hook(t, data); break;
    case EVENT_SANDBOX_APPLIED: take_fact(t, data, "program", "program"); break;
    case EVENT_SANDBOX_DENIED: take_fact(t, data, "denied", "what"); break;
    case EVENT_TOOL_COMPLETED: take_end(t, e, data, false); break;
    case EVENT_TOOL_FAILED: take_end(t, e, data, true); break;
    case EVENT_TOOL_REFUSED: take_refused(t, e, data); break;
    case EVENT_LIMIT_REACHED: take_note(t, e, "limit reached: ", value_member_text(data, "limit")); break;
    case EVENT_SANDBOX_TAMPERED: take_note(t, e, "", value_member_text(data, "message")); break;
    case EVENT_RUN_WORKSPACE: take_note(t, e, "files in ", value_member_text(data, "path")); break;
    case EVENT_RUN_FORKED: take_note(t, e, "forked from run ", value_member_text(data, "from")); break;
    case EVENT_RUN_RESUMED: take_note(t, e, "resumed", STR("")); break;
    default: break;
    }
}

bool timeline_take(void *timeline, const Event *e) {
    Timeline *t = timeline;
    Heap *h = heap_new(0);
    Value data;
    Error err;
    if (!t->first_ns) t->first_ns = e->time_ns;
    t->last_ns = e->time_ns;
    if (json_read(h, e->data, NULL, &data, &err) && value_is_dict(data)) take_data(t, e, data);
    heap_free(h);
    return true;
}
