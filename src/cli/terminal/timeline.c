#include "cli/terminal/timeline.h"
#include <stdlib.h>
#include "base/mem.h"
#include "base/table.h"
#include "base/vec.h"
#include "cli/cli.h"
#include "cli/terminal/width.h"
#include "value/dict.h"
#include "value/int.h"
#include "value/json.h"

enum { FOLD_OUTPUT = 3, FOLD_DIFF = 14, DEPTH_MAX = 12, NARROW = 72, WAITED_SHOWN_NS = 50000000 };

/* ---- one call ---- */

void timeline_add_duration(Buf *out, int64_t ns) {
    if (ns < 9950000) buf_add_fmt(out, "%.1f ms", (double)ns / 1e6);
    else if (ns < 999500000) buf_add_fmt(out, "%.0f ms", (double)ns / 1e6);
    else if (ns < (int64_t)60 * 1000000000) buf_add_fmt(out, "%.1f s", (double)ns / 1e9);
    else buf_add_fmt(out, "%lld min %02lld s", (long long)(ns / 60000000000), (long long)(ns / 1000000000 % 60));
}

static const char *paint(const TimelineStyle *s, const char *sequence) { return s->color ? sequence : ""; }

static void add_time(Buf *out, const TimelineCall *c) {
    timeline_add_duration(out, c->elapsed_ns);
    if (c->waited_ns >= WAITED_SHOWN_NS) {
        buf_add(out, STR(" (waited "));
        timeline_add_duration(out, c->waited_ns);
        buf_add_char(out, ')');
    }
    if (c->cost > 0) buf_add_fmt(out, " · $%.2f", c->cost);
}

/* One line of the body: cut, never wrapped. */
static void add_body_line(Buf *out, Str line, size_t indent, const TimelineStyle *s, const char *sequence) {
    Buf safe = { 0 };
    cli_escape_all(&safe, str_sub(line, 0, 2048), false);
    width_add_spaces(out, indent);
    buf_add(out, str_from(paint(s, sequence)));
    width_add_cut(out, buf_str(&safe), s->width > indent + 2 ? s->width - indent : 2);
    buf_add(out, str_from(*sequence ? paint(s, "\033[0m") : ""));
    buf_add_char(out, '\n');
    buf_clear(&safe);
}

static size_t count_lines(Str text) {
    size_t n = 0;
    for (Str line; str_next_line(&text, &line);) n++;
    return n;
}

static void add_fold(Buf *out, size_t hidden, size_t indent, const TimelineStyle *s) {
    if (!hidden) return;
    width_add_spaces(out, indent);
    buf_add_fmt(out, "%s… %zu more line%s%s\n", paint(s, "\033[2m"), hidden, hidden == 1 ? "" : "s", paint(s, "\033[0m"));
}

static void add_output(Buf *out, Str text, size_t indent, const TimelineStyle *s) {
    Str rest = str_trim(text), line;
    size_t lines = count_lines(rest), most = s->all || lines <= FOLD_OUTPUT + 1 ? lines : FOLD_OUTPUT;
    for (size_t i = 0; i < most && str_next_line(&rest, &line); i++) add_body_line(out, line, indent, s, "\033[2m");
    add_fold(out, lines - most, indent, s);
}

/* Without the two lines that name the file: the line of the call does. */
static void add_diff(Buf *out, Str text, size_t indent, const TimelineStyle *s) {
    Str rest = text, line;
    if (str_starts(rest, STR("--- "))) str_next_line(&rest, &line), str_next_line(&rest, &line);
    size_t lines = count_lines(rest), most = s->all || lines <= FOLD_DIFF + 1 ? lines : FOLD_DIFF;
    for (size_t i = 0; i < most && str_next_line(&rest, &line); i++)
        add_body_line(out, line, indent, s, line.n && line.at[0] == '+' ? "\033[32m" : line.n && line.at[0] == '-' ? "\033[31m" : "\033[2m");
    add_fold(out, lines - most, indent, s);
}

/* Returns the columns that it took. */
static size_t add_head(Buf *out, const TimelineCall *c, size_t indent, size_t columns, const TimelineStyle *s) {
    Buf head = { 0 }, cut = { 0 };
    cli_escape_all(&head, str_sub(c->name, 0, 200), false);
    if (c->about.n) buf_add_fmt(&head, " " STR_FMT, STR_ARG(c->about));
    width_add_cut(&cut, buf_str(&head), columns > indent + 3 ? columns - indent - 2 : 1);
    width_add_spaces(out, indent);
    buf_add_fmt(out, "%s%s%s " STR_FMT, paint(s, c->open ? "\033[33m" : c->failed ? "\033[31m" : "\033[32m"), c->open ? "…" : c->failed ? "✗" : "●",
                paint(s, "\033[0m"), STR_ARG(buf_str(&cut)));
    size_t used = indent + 2 + width_of(buf_str(&cut));
    buf_clear(&head);
    buf_clear(&cut);
    return used;
}

/* The verdict under the call. */
static void add_narrow(Buf *out, const TimelineCall *c, Str time, size_t indent, const TimelineStyle *s) {
    Buf rest = { 0 };
    add_head(out, c, indent, s->width, s);
    buf_add_char(out, '\n');
    buf_add_fmt(&rest, STR_FMT " · " STR_FMT, STR_ARG(c->verdict), STR_ARG(time));
    add_body_line(out, buf_str(&rest), indent + 2, s, "\033[2m");
    buf_clear(&rest);
}

/* The verdict beside it, and the time at the right edge unless the verdict needs that room. */
static void add_wide(Buf *out, const TimelineCall *c, Str time, size_t indent, const TimelineStyle *s) {
    size_t at = s->width * 11 / 20, used = add_head(out, c, indent, at - 1, s), room = s->width - (used < at ? at : used + 1);
    size_t for_time = width_of(time) + 2;
    bool with_time = width_of(c->verdict) + for_time <= room;
    Buf verdict = { 0 };
    width_add_spaces(out, used < at ? at - used : 1);
    width_add_cut(&verdict, c->verdict, room);
    buf_add_fmt(out, "%s" STR_FMT "%s", paint(s, c->failed ? "\033[31m" : "\033[2m"), STR_ARG(buf_str(&verdict)), paint(s, "\033[0m"));
    if (with_time) {
        width_add_spaces(out, room - width_of(buf_str(&verdict)) - width_of(time));
        buf_add(out, time);
    }
    buf_add_char(out, '\n');
    buf_clear(&verdict);
}

void timeline_add_call(Buf *out, const TimelineCall *c, const TimelineStyle *s) {
    size_t indent = 2 * (size_t)(c->depth < DEPTH_MAX ? c->depth : DEPTH_MAX);
    Buf time = { 0 };
    add_time(&time, c);
    if (s->width < NARROW) add_narrow(out, c, buf_str(&time), indent, s);
    else add_wide(out, c, buf_str(&time), indent, s);
    if (c->diff.n) add_diff(out, c->diff, indent + 2, s);
    else if (c->output.n) add_output(out, c->output, indent + 2, s);
    buf_clear(&time);
}

void timeline_about(Buf *out, Str arguments) {
    Heap *h = heap_new((size_t)64 << 20);
    Value v;
    Error ignored;
    Entry *e;
    size_t from = out->n;
    if (json_read(h, arguments, NULL, &v, &ignored) && value_is_dict(v))
        for (uint32_t i = 0; out->n == from && dict_next(value_dict(v), &i, &e);)
            if (value_is_string(e->value)) {
                Str text = str_trim(value_str(e->value)), first = text;
                ptrdiff_t end = str_find_char(text, '\n');
                if (end >= 0) first = str_sub(text, 0, (size_t)end);
                cli_escape_all(out, str_sub(first, 0, 400), false);
                if (end >= 0) buf_add(out, STR(" …"));
            }
    heap_free(h);
}

/* ---- a run ---- */

typedef enum { ITEM_PROMPT, ITEM_ANSWER, ITEM_CALL, ITEM_NOTE } ItemKind;
typedef struct Item { ItemKind kind; TimelineCall call; Str text; int64_t start_ns, end_ns; } Item;     /* strings in the arena */

struct Timeline { Arena arena; VEC(Item *) items; Table calls; int64_t first_ns, last_ns; };

Timeline *timeline_new(void) { return mem_zero(1, sizeof(Timeline)); }

void timeline_free(Timeline *t) {
    if (!t) return;
    VEC_CLEAR(&t->items);
    table_clear(&t->calls);
    arena_clear(&t->arena);
    free(t);
}

static Item *add_item(Timeline *t, ItemKind kind, const Event *e) {
    Item *i = ARENA_ARRAY(&t->arena, Item, 1);
    *i = (Item){ .kind = kind, .call = { .depth = e->depth, .open = true }, .start_ns = e->time_ns, .end_ns = e->time_ns };
    VEC_PUSH(&t->items, i);
    return i;
}

static Str keep(Timeline *t, Str text) { return arena_str(&t->arena, text); }

static Item *call_of(Timeline *t, const Event *e, Value data) {
    Str id = value_member_text(data, "id");
    Item *i = table_get(&t->calls, id);
    if (i) return i;
    i = add_item(t, ITEM_CALL, e);
    i->call.name = keep(t, value_member_text(data, "name"));
    table_put(&t->calls, keep(t, id), i);
    return i;
}

static double number_of(Value data, const char *key) {
    Value v = value_member(data, key);
    return value_is_float(v) ? value_float(v) : value_is_int(v) ? int_to_double(v) : 0;
}

static void take_args(Timeline *t, Item *i, Value data) {
    Buf json = { 0 }, about = { 0 };
    Error err;
    if (json_write(&json, value_member(data, "args"), NULL, &err)) timeline_about(&about, buf_str(&json));
    i->call.about = keep(t, buf_str(&about));
    buf_clear(&json);
    buf_clear(&about);
}

static void set_verdict(Timeline *t, Item *i, const char *words, Str text) {
    Buf out = { 0 };
    buf_add(&out, str_from(words));
    cli_escape_all(&out, str_sub(text, 0, 300), false);
    i->call.verdict = keep(t, buf_str(&out));
    buf_clear(&out);
}

void timeline_output(Buf *out, Value v) {
    Error err;
    if (value_is_string(v)) buf_add(out, value_str(v));
    else if (value_is_dict(v) && value_is_string(value_member(v, "stdout"))) {
        buf_add(out, value_member_text(v, "stdout"));
        buf_add(out, value_member_text(v, "stderr"));
    } else if (!value_is_gone(v) && !value_is_none(v)) (void)json_write(out, v, NULL, &err);
}

static void take_text(Timeline *t, Item *i, Value data) {
    Value error = value_member(data, "error");
    Buf text = { 0 };
    timeline_output(&text, value_is_string(error) ? error : value_member(data, "value"));
    i->call.output = keep(t, str_sub(buf_str(&text), 0, 64 << 10));
    i->call.diff = keep(t, value_member_text(value_member(data, "change"), "diff"));
    buf_clear(&text);
}

static void take_end(Timeline *t, const Event *e, Value data, bool failed) {
    Item *i = call_of(t, e, data);
    i->call.open = false;
    i->call.failed = failed;
    i->call.elapsed_ns = (int64_t)(number_of(data, "elapsed_ms") * 1e6);
    i->call.waited_ns = (int64_t)(number_of(data, "waited_ms") * 1e6);
    i->end_ns = e->time_ns;
    take_text(t, i, data);
    if (!i->call.verdict.n) i->call.verdict = failed ? STR("failed") : STR("allowed");
}

static void take_refused(Timeline *t, const Event *e, Value data) {
    Item *i = call_of(t, e, data);
    Str step = value_member_text(data, "step"), rule = value_member_text(data, "rule");
    i->call.open = false;
    i->call.failed = true;
    i->end_ns = e->time_ns;
    i->call.output = keep(t, value_member_text(data, "message"));
    if (str_eq(step, STR("confirm"))) set_verdict(t, i, "you said no: ", rule);
    else set_verdict(t, i, str_eq(step, STR("tool.pre")) ? "blocked by " : "refused by ", rule.n ? rule : step);
}

static void take_prompt(Timeline *t, const Event *e, Value data) {
    Item *i = add_item(t, ITEM_PROMPT, e);
    i->text = keep(t, value_member_text(data, "text"));
}

static void take_answer(Timeline *t, const Event *e, Value data) {
    Str text = value_member_text(data, "text");
    if (str_trim(text).n == 0) return;
    Item *i = add_item(t, ITEM_ANSWER, e);
    i->text = keep(t, text);
}

static void take_note(Timeline *t, const Event *e, const char *words, Str text) {
    Item *i = add_item(t, ITEM_NOTE, e);
    i->text = str_from(arena_fmt(&t->arena, "%s" STR_FMT, words, STR_ARG(text)));
}

static void take_executing(Item *i) {
    if (!i->call.verdict.n) i->call.verdict = STR("allowed");
}

static void take_approval(Timeline *t, const Event *e, Value data) {
    Str answer = value_member_text(data, "answer"), source = value_member_text(data, "source");
    Item *i = call_of(t, e, data);
    if (str_eq(source, STR("terminal"))) set_verdict(t, i, "asked you: ", answer);
    else set_verdict(t, i, str_starts(source, STR("--")) || str_eq(source, STR("earlier answer"))
        || str_eq(source, STR("kept approval")) ? "approved by " : "approved: ", source);
}

static void take_data(Timeline *t, const Event *e, Value data) {
    switch (event_type_find(e->type)) {
    case EVENT_TURN_STARTED: if (e->depth == 0) take_prompt(t, e, data); break;
    case EVENT_COMPLETION_COMPLETED: if (e->depth == 0) take_answer(t, e, data); break;
    case EVENT_COMPLETION_FAILED: take_note(t, e, "the model failed: ", value_member_text(data, "error")); break;
    case EVENT_TURN_MESSAGE: take_note(t, e, "", value_member_text(data, "text")); break;
    case EVENT_TOOL_STARTED: take_args(t, call_of(t, e, data), data); break;
    case EVENT_TOOL_EXECUTING: take_executing(call_of(t, e, data)); break;
    case EVENT_APPROVAL_ANSWERED: take_approval(t, e, data); break;
    case EVENT_TOOL_COMPLETED: take_end(t, e, data, false); break;
    case EVENT_TOOL_FAILED: take_end(t, e, data, true); break;
    case EVENT_TOOL_REFUSED: take_refused(t, e, data); break;
    case EVENT_LIMIT_REACHED: take_note(t, e, "limit reached: ", value_member_text(data, "limit")); break;
    case EVENT_SANDBOX_TAMPERED: take_note(t, e, "", value_member_text(data, "message")); break;
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

static void write_text(const Item *i, Buf *out, const TimelineStyle *s, const char *mark, const char *sequence) {
    Str rest = i->text, line;
    bool first = true;
    for (; str_next_line(&rest, &line); first = false) {
        Buf safe = { 0 };
        cli_escape_all(&safe, line, false);
        buf_add_fmt(out, "%s%s" STR_FMT "%s\n", paint(s, sequence), first ? mark : *mark ? "  " : "", STR_ARG(buf_str(&safe)), paint(s, "\033[0m"));
        buf_clear(&safe);
    }
}

void timeline_write(Timeline *t, Buf *out, const TimelineStyle *style) {
    for (size_t i = 0; i < t->items.n; i++) {
        const Item *item = t->items.at[i];
        switch (item->kind) {
        case ITEM_PROMPT: write_text(item, out, style, "> ", "\033[1m"); break;
        case ITEM_ANSWER: write_text(item, out, style, "", ""); break;
        case ITEM_NOTE: write_text(item, out, style, "! ", "\033[33m"); break;
        case ITEM_CALL: timeline_add_call(out, &item->call, style); break;
        }
    }
}

void timeline_write_waterfall(Timeline *t, Buf *out, const TimelineStyle *style) {
    int64_t whole = t->last_ns > t->first_ns ? t->last_ns - t->first_ns : 1;
    size_t label = style->width / 3, bar = style->width > label + 12 ? style->width - label - 12 : 8;
    for (size_t i = 0; i < t->items.n; i++) {
        const Item *item = t->items.at[i];
        if (item->kind != ITEM_CALL) continue;
        Buf head = { 0 }, cell = { 0 }, time = { 0 };
        int64_t end = item->call.open ? t->last_ns : item->end_ns;
        size_t from = (size_t)((double)(item->start_ns - t->first_ns) / (double)whole * (double)bar);
        size_t length = (size_t)((double)(end - item->start_ns) / (double)whole * (double)bar);
        if (from >= bar) from = bar - 1;
        if (length == 0) length = 1;
        if (from + length > bar) length = bar - from;
        width_add_spaces(&head, 2 * (size_t)(item->call.depth < DEPTH_MAX ? item->call.depth : DEPTH_MAX));
        cli_escape_all(&head, item->call.name, false);
        if (item->call.about.n) buf_add_fmt(&head, " " STR_FMT, STR_ARG(item->call.about));
        width_add_cut(&cell, buf_str(&head), label - 1);
        buf_add(out, buf_str(&cell));
        width_add_spaces(out, label - width_of(buf_str(&cell)) + from);
        buf_add(out, str_from(paint(style, item->call.failed ? "\033[31m" : "\033[32m")));
        for (size_t k = 0; k < length; k++) buf_add(out, STR("█"));
        buf_add(out, str_from(paint(style, "\033[0m")));
        timeline_add_duration(&time, end - item->start_ns);
        width_add_spaces(out, bar - from - length + (11 > width_of(buf_str(&time)) ? 11 - width_of(buf_str(&time)) : 0));
        buf_add_fmt(out, STR_FMT "\n", STR_ARG(buf_str(&time)));
        buf_clear(&head);
        buf_clear(&cell);
        buf_clear(&time);
    }
}
