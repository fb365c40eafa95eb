#include "cli/terminal/timeline.h"
#include "cli/cli.h"
#include "cli/terminal/markdown.h"
#include "cli/terminal/timeline_private.h"
#include "cli/terminal/width.h"
#include "cli/terminal/wrap.h"

enum { FOLD_OUTPUT = 3, FOLD_DIFF = 14, DEPTH_MAX = 12, NARROW = 72, TAB_COLUMNS = 8, WAITED_SHOWN_NS = 50000000 };

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

/* Tabs become spaces: a terminal's tab stops do not start at the indent. */
static void add_expanded(Buf *out, Str line) {
    Buf plain = { 0 };
    size_t column = 0, n;
    for (; line.n; line = str_sub(line, n, line.n)) {
        ptrdiff_t tab = str_find_char(line, '\t');
        n = tab < 0 ? line.n : (size_t)tab + 1;
        Str part = str_sub(line, 0, tab < 0 ? line.n : (size_t)tab);
        buf_add(&plain, part);
        column += width_of(part);
        if (tab < 0) continue;
        size_t spaces = TAB_COLUMNS - column % TAB_COLUMNS;
        width_add_spaces(&plain, spaces);
        column += spaces;
    }
    cli_escape_all(out, buf_str(&plain), false);
    buf_clear(&plain);
}

/* One line of the body: cut, never wrapped. */
static void add_body_line(Buf *out, Str line, size_t indent, const TimelineStyle *s, const char *sequence) {
    Buf safe = { 0 };
    add_expanded(&safe, str_sub(line, 0, 2048));
    width_add_spaces(out, indent);
    buf_add(out, str_from(paint(s, sequence)));
    width_add_cut(out, buf_str(&safe), s->width > indent + 2 ? s->width - indent : 2);
    buf_add(out, str_from(*sequence ? paint(s, "\033[0m") : ""));
    buf_add_char(out, '\n');
    buf_clear(&safe);
}

Str timeline_trim(Str text) {
    Str rest = text, line;
    while (str_next_line(&rest, &line) && str_trim(line).n == 0) text = rest;
    Str inner = str_trim(text);
    return str_sub(text, 0, (size_t)(inner.at - text.at) + inner.n);
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
    Str rest = timeline_trim(text), line;
    size_t lines = count_lines(rest), most = s->all || lines <= FOLD_OUTPUT + 1 ? lines : FOLD_OUTPUT;
    for (size_t i = 0; i < most && str_next_line(&rest, &line); i++) add_body_line(out, line, indent, s, "\033[2m");
    add_fold(out, lines - most, indent, s);
}

static size_t digits_of(size_t n) {
    size_t digits = 1;
    for (; n >= 10; n /= 10) digits++;
    return digits;
}

/* "@@ -OLD,N +NEW,M @@": the number of the first old line. */
static size_t hunk_start(Str line) {
    size_t n = 0;
    for (size_t i = str_starts(line, STR("@@ -")) ? 4 : line.n; i < line.n && line.at[i] >= '0' && line.at[i] <= '9' && n < 100000000; i++)
        n = 10 * n + (size_t)(line.at[i] - '0');
    return n;
}

static size_t number_columns(Str diff) {
    size_t most = 0;
    for (Str rest = diff, line; str_next_line(&rest, &line);)
        if (str_starts(line, STR("@@ ")) && hunk_start(line) > most) most = hunk_start(line);
    return most ? digits_of(most + count_lines(diff)) + 1 : 0;       /* a new file has no old lines */
}

static const char *diff_colour(Str line) { return line.n && line.at[0] == '+' ? "\033[32m" : line.n && line.at[0] == '-' ? "\033[31m" : "\033[2m"; }

/* One line with its number in the old file; an added line has none. */
static void add_diff_line(Buf *out, Str line, size_t *number, size_t columns, size_t indent, const TimelineStyle *s) {
    bool old = line.n && (line.at[0] == ' ' || line.at[0] == '-');
    Buf numbered = { 0 };
    if (columns && old) buf_add_fmt(&numbered, "%*zu ", (int)columns - 1, *number);
    else width_add_spaces(&numbered, columns);
    if (old) ++*number;
    buf_add(&numbered, line);
    add_body_line(out, buf_str(&numbered), indent, s, diff_colour(line));
    buf_clear(&numbered);
}

/* Without the two lines that name the file: the line of the call does. Numbers replace the head of a hunk. */
static void add_diff(Buf *out, Str text, size_t indent, const TimelineStyle *s) {
    Str rest = text, line;
    if (str_starts(rest, STR("--- "))) str_next_line(&rest, &line), str_next_line(&rest, &line);
    size_t lines = count_lines(rest), most = s->all || lines <= FOLD_DIFF + 1 ? lines : FOLD_DIFF, number = 0, columns = number_columns(rest);
    for (size_t i = 0; i < most && str_next_line(&rest, &line); i++) {
        if (!str_starts(line, STR("@@ "))) {
            add_diff_line(out, line, &number, columns, indent, s);
            continue;
        }
        number = hunk_start(line);
        if (i) add_body_line(out, STR("…"), indent, s, "\033[2m");
    }
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

/* The verdict, with the file of the rule if both fit. */
static void add_verdict(Buf *out, const TimelineCall *c, size_t room) {
    Buf file = { 0 };
    cli_escape_all(&file, c->file, false);
    buf_add(out, c->verdict);
    if (file.n && width_of(c->verdict) + width_of(buf_str(&file)) + 3 <= room) buf_add_fmt(out, " (" STR_FMT ")", STR_ARG(buf_str(&file)));
    buf_clear(&file);
}

/* The verdict under the call. */
static void add_narrow(Buf *out, const TimelineCall *c, Str time, size_t indent, const TimelineStyle *s) {
    Buf rest = { 0 };
    add_head(out, c, indent, s->width, s);
    buf_add_char(out, '\n');
    size_t taken = indent + 2 + (time.n ? width_of(time) + 3 : 0);
    add_verdict(&rest, c, s->width > taken ? s->width - taken : 0);
    buf_add_fmt(&rest, "%s" STR_FMT, c->verdict.n && time.n ? " · " : "", STR_ARG(time));
    if (rest.n) add_body_line(out, buf_str(&rest), indent + 2, s, "\033[2m");
    buf_clear(&rest);
}

/* The verdict beside it, and the time at the right edge unless the verdict or its file needs that room. */
static void add_wide(Buf *out, const TimelineCall *c, Str time, size_t indent, const TimelineStyle *s) {
    size_t at = s->width * 11 / 20, used = add_head(out, c, indent, at - 1, s), room = s->width - (used < at ? at : used + 1);
    size_t for_time = width_of(time) + 2;
    Buf whole = { 0 }, verdict = { 0 };
    width_add_spaces(out, used < at ? at - used : 1);
    add_verdict(&whole, c, room);
    bool with_time = width_of(buf_str(&whole)) + for_time <= room;
    width_add_cut(&verdict, buf_str(&whole), room);
    buf_clear(&whole);
    buf_add_fmt(out, "%s" STR_FMT "%s", paint(s, c->failed ? "\033[31m" : "\033[2m"), STR_ARG(buf_str(&verdict)), paint(s, "\033[0m"));
    if (with_time && time.n) {
        width_add_spaces(out, room - width_of(buf_str(&verdict)) - width_of(time));
        buf_add(out, time);
    }
    buf_add_char(out, '\n');
    buf_clear(&verdict);
}

void timeline_verdict(Buf *out, const TimelineVerdict *v) {
    bool you = str_eq(v->source, STR("terminal")) || str_eq(v->source, STR("person"));
    if (v->refused && str_eq(v->step, STR("confirm"))) {
        if (you) buf_add(out, STR("you said no"));
        else if (str_eq(v->source, STR("none given"))) buf_add(out, STR("not answered"));
        else if (str_eq(v->source, STR("none"))) buf_add(out, STR("no user to ask"));
        else if (v->by.n) buf_add(out, STR("declined by ")), cli_escape_all(out, v->by, false);
        else buf_add(out, STR("not confirmed"));
        if (v->rule.n) buf_add(out, STR(" (")), cli_escape_all(out, str_sub(v->rule, 0, 300), false), buf_add_char(out, ')');
    } else if (v->refused) {
        buf_add(out, str_eq(v->step, STR("tool.pre")) ? STR("blocked by ") : STR("refused by "));
        cli_escape_all(out, str_sub(v->rule.n ? v->rule : v->step, 0, 300), false);
    } else if (!v->source.n) buf_add(out, STR("allowed"));
    else if (you) buf_add(out, STR("asked you: ")), cli_escape_all(out, v->answer.n ? v->answer : STR("yes"), false);
    else buf_add(out, STR("approved by ")), cli_escape_all(out, str_eq(v->source, STR("store")) && v->by.n ? v->by : v->source, false);
}

void timeline_add_call(Buf *out, const TimelineCall *c, const TimelineStyle *s) {
    size_t indent = 2 * (size_t)(c->depth < DEPTH_MAX ? c->depth : DEPTH_MAX);
    Buf time = { 0 };
    if (!c->open) add_time(&time, c);
    if (s->width < NARROW) add_narrow(out, c, buf_str(&time), indent, s);
    else add_wide(out, c, buf_str(&time), indent, s);
    if (c->diff.n) add_diff(out, c->diff, indent + 2, s);
    else if (c->output.n) add_output(out, c->output, indent + 2, s);
    buf_clear(&time);
}

/* ---- a run ---- */

/* Breaks text at words, as the conversation does. Without a width it stays as it is. */
static void break_text(Str text, size_t columns, Buf *out) {
    Wrap wrap = { .width = columns, .hard = true, .fences = true };
    wrap_text(&wrap, text, out);
    wrap_flush(&wrap, out);
    wrap_clear(&wrap);
}

static void write_text(const TimelineItem *i, Buf *out, const TimelineStyle *s, const char *mark, const char *sequence) {
    Buf safe = { 0 }, broken = { 0 };
    size_t indent = *mark ? 2 : 0;
    cli_escape_all(&safe, i->text, true);
    break_text(buf_str(&safe), s->breaks && s->width > indent + 8 ? s->width - indent : 0, &broken);
    Str rest = buf_str(&broken), line;
    for (bool first = true; str_next_line(&rest, &line); first = false)
        buf_add_fmt(out, "%s%s" STR_FMT "%s\n", paint(s, sequence), first ? mark : indent ? "  " : "", STR_ARG(line), paint(s, "\033[0m"));
    buf_clear(&safe);
    buf_clear(&broken);
}

/* Rendered as it was in the conversation. */
static void write_answer(const TimelineItem *i, Buf *out, const TimelineStyle *s) {
    if (!s->color) {
        write_text(i, out, s, "", "");
        return;
    }
    Markdown m = { .wrap = { .width = s->breaks ? s->width : 0 } };
    markdown_feed(&m, i->text, out);
    markdown_end(&m, out);
    markdown_clear(&m);
    if (out->n && out->at[out->n - 1] != '\n') buf_add_char(out, '\n');
}

/* The prompt, and at its right the time and cost of the answer. */
static void write_prompt(const TimelineItem *i, Buf *out, const TimelineStyle *s) {
    Buf line = { 0 }, right = { 0 };
    Str rest = i->text, first;
    bool one = str_next_line(&rest, &first) && rest.n == 0;
    if (i->model.n) cli_escape_all(&right, str_sub(i->model, 0, 60), false);
    if (i->context > 0) buf_add_fmt(&right, "%s%s%.0f %% of context", right.n ? " · " : "", i->context < 1 ? "<" : "", i->context < 1 ? 1 : i->context);
    if (i->call.cost > 0) buf_add_fmt(&right, "%s$%.2f", right.n ? " · " : "", i->call.cost);
    cli_escape_all(&line, first, false);
    size_t used = 2 + width_of(buf_str(&line)), room = width_of(buf_str(&right));
    if (one && room && used + room + 2 <= s->width) {
        buf_add_fmt(out, "%s> " STR_FMT "%s", paint(s, "\033[1m"), STR_ARG(buf_str(&line)), paint(s, "\033[0m"));
        width_add_spaces(out, s->width - used - room);
        buf_add_fmt(out, "%s" STR_FMT "%s\n", paint(s, "\033[2m"), STR_ARG(buf_str(&right)), paint(s, "\033[0m"));
    } else write_text(i, out, s, "> ", "\033[1m");
    buf_clear(&line);
    buf_clear(&right);
}

static void write_item(const TimelineItem *item, Buf *out, const TimelineStyle *style) {
    switch (item->kind) {
    case TIMELINE_PROMPT: if (item->call.depth == 0) write_prompt(item, out, style); break;
    case TIMELINE_ANSWER: if (item->call.depth == 0) write_answer(item, out, style); break;
    case TIMELINE_NOTE: write_text(item, out, style, "! ", "\033[33m"); break;
    case TIMELINE_CALL: timeline_add_call(out, &item->call, style); break;
    }
    for (const TimelineItem *i = item->first; i; i = i->next) write_item(i, out, style);
}

void timeline_write(Timeline *t, Buf *out, const TimelineStyle *style) {
    for (const TimelineItem *i = t->top.first; i; i = i->next) write_item(i, out, style);
}

static void write_once(TimelineItem *i, bool ready, Buf *out, const TimelineStyle *style) {
    if (i->shown || !ready) return;
    if (i->kind == TIMELINE_CALL) timeline_add_call(out, &i->call, style);
    else if (i->kind == TIMELINE_NOTE) write_text(i, out, style, "! ", "\033[33m");
    else if (i->kind == TIMELINE_ANSWER && i->call.depth == 0) write_answer(i, out, style);
    i->shown = true;
    i->shown_end = i->kind != TIMELINE_CALL || !i->call.open;
}

static void write_new(TimelineItem *item, Buf *out, const TimelineStyle *style) {
    bool call = item->kind == TIMELINE_CALL, ended = call && !item->call.open;
    write_once(item, call ? ended || item->first : item->kind != TIMELINE_ANSWER || item->next, out, style);
    for (TimelineItem *i = item->first; i; i = i->next) write_new(i, out, style);
    if (!ended || item->shown_end) return;
    timeline_add_call(out, &item->call, style);
    item->shown_end = true;
}

void timeline_write_new(Timeline *t, Buf *out, const TimelineStyle *style) {
    for (TimelineItem *i = t->top.first; i; i = i->next) write_new(i, out, style);
}

static void write_bar(const Timeline *t, const TimelineItem *item, Buf *out, const TimelineStyle *style) {
    int64_t whole = t->last_ns > t->first_ns ? t->last_ns - t->first_ns : 1;
    size_t label = style->width / 3, bar = style->width > label + 12 ? style->width - label - 12 : 8;
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

static void write_bars(const Timeline *t, const TimelineItem *item, Buf *out, const TimelineStyle *style) {
    if (item->kind == TIMELINE_CALL) write_bar(t, item, out, style);
    for (const TimelineItem *i = item->first; i; i = i->next) write_bars(t, i, out, style);
}

void timeline_write_waterfall(Timeline *t, Buf *out, const TimelineStyle *style) {
    for (const TimelineItem *i = t->top.first; i; i = i->next) write_bars(t, i, out, style);
}
