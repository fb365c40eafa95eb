#include "cli/terminal/show.h"
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "cli/terminal/keys.h"
#include "cli/terminal/markdown.h"
#include "cli/terminal/screen.h"
#include "cli/terminal/timeline.h"
#include "cli/terminal/width.h"
#include "value/json.h"

enum { TICK_MS = 100, FIRST_MS = 300, ABOUT_MAX = 60 };

typedef struct ShownTool { char *id, *name, *about; int64_t start_ns; int depth; bool announced; } ShownTool;

struct Show {
    Cli *cli;
    bool streams, lines, live, color;    /* text on stdout; tool lines; the live line; rendered Markdown */
    Person inner;
    pthread_mutex_t lock;                /* guards what follows, and output */
    pthread_cond_t wake;
    pthread_t thread;
    bool working, mid_line, reasoning;   /* reasoning: the last output was reasoning */
    bool keys;                           /* keys_open was called */
    unsigned tick;
    int64_t since_ns;                    /* start of the current model request */
    char model[64], progress[120];
    VEC(ShownTool) tools;                /* running */
    Markdown markdown;
    Wrap wrap;                           /* of reasoning, and without colours of the answer */
    Buf part;                            /* for both: the first bytes of an incomplete character */
};

/* ---- output; the caller holds the lock ---- */

/* Tracks whether the cursor is in the middle of a line. Colours do not move it. */
static void note_cursor(Show *s, Str text) {
    for (size_t i = 0; i < text.n; i++) {
        if (text.at[i] == 033) {
            while (i < text.n && text.at[i] != 'm') i++;
        } else {
            s->mid_line = text.at[i] != '\n';
        }
    }
}

static void stream(Show *s, Str text) {
    note_cursor(s, text);
    if (text.n) (void)cli_stream(1, text);
}

static void finish_text(Show *s) {
    if (!s->streams) return;
    Buf out = { 0 };
    markdown_end(&s->markdown, &out);
    cli_escape_all(&out, buf_str(&s->part), true);
    buf_reset(&s->part);
    wrap_flush(&s->wrap, &out);
    note_cursor(s, buf_str(&out));
    if (s->mid_line) buf_add_char(&out, '\n');
    s->wrap.column = 0;
    s->wrap.started = s->wrap.verbatim = s->reasoning = false;
    s->markdown.wrap.column = 0;
    s->markdown.wrap.started = false;
    stream(s, buf_str(&out));
    buf_clear(&out);
}

static void print_line(Show *s, Str line) {
    finish_text(s);
    (void)cli_write(2, line, true);
}

static void cut_columns(Buf *b, size_t columns) {
    Buf cut = { 0 };
    width_add_cut(&cut, buf_str(b), columns);
    buf_clear(b);
    *b = cut;
}

static size_t columns(void) { return width_of_terminal(2); }

/* ---- the live line ---- */

static void draw(Show *s) {
    static const char *const frames[] = { "⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏" };
    int64_t now = clock_mono_ns(), since = s->tools.n ? s->tools.at[0].start_ns : s->since_ns;
    if (s->mid_line || now - since < (int64_t)FIRST_MS * 1000000) return;
    Buf line = { 0 }, all = { 0 };
    buf_add_fmt(&line, "%s ", frames[s->tick++ % 10]);
    if (s->tools.n) buf_add_fmt(&line, "%s %s", s->tools.at[0].name, s->tools.at[0].about);
    else buf_add_fmt(&line, "%s", s->model[0] ? s->model : "thinking");
    if (s->tools.n > 1) buf_add_fmt(&line, " and %zu more", s->tools.n - 1);
    if (s->progress[0]) buf_add_fmt(&line, " %s", s->progress);
    size_t width = columns();
    cut_columns(&line, width > 14 ? width - 14 : 2);
    buf_add_char(&line, ' ');
    buf_add_fmt(&line, "%.1f s", (double)(now - since) / 1e9);
    buf_add_fmt(&all, "%s" STR_FMT "%s", s->cli->color_err ? "\033[2m" : "", STR_ARG(buf_str(&line)), s->cli->color_err ? "\033[0m" : "");
    screen_live(2, buf_str(&all));
    buf_clear(&line);
    buf_clear(&all);
}

static void *tick(void *arg) {
    Show *s = arg;
    pthread_mutex_lock(&s->lock);
    while (s->working) {
        thread_cond_wait(&s->wake, &s->lock, clock_mono_ns() + TICK_MS * INT64_C(1000000));
        if (s->working) draw(s);
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

void show_begin(Show *s, Str model) {
    Buf safe = { 0 };
    cli_escape_all(&safe, model, false);
    s->keys = isatty(0) && isatty(2) && keys_open(0, false);
    if (s->keys) keys_collect(true);
    pthread_mutex_lock(&s->lock);
    snprintf(s->model, sizeof s->model, STR_FMT, STR_ARG(buf_str(&safe)));
    buf_clear(&safe);
    s->progress[0] = 0;
    s->since_ns = clock_mono_ns();
    s->working = s->live;
    if (s->live && pthread_create(&s->thread, NULL, tick, s) != 0) s->working = false;
    pthread_mutex_unlock(&s->lock);
}

static void forget(ShownTool *t) {
    free(t->id);
    free(t->name);
    free(t->about);
}

void show_end(Show *s) {
    pthread_mutex_lock(&s->lock);
    bool threaded = s->working;
    s->working = false;
    pthread_cond_signal(&s->wake);
    finish_text(s);
    screen_live_end();
    for (size_t i = 0; i < s->tools.n; i++) forget(&s->tools.at[i]);
    s->tools.n = 0;
    pthread_mutex_unlock(&s->lock);
    if (threaded) pthread_join(s->thread, NULL);
    screen_live_end();
    if (s->keys) {
        keys_collect(false);
        keys_close(false);
    }
    s->keys = false;
}

/* ---- what happens ---- */

/* Number of bytes at the end that start an incomplete character. */
static size_t unfinished(Str s) {
    for (size_t n = 1; n <= 3 && n <= s.n; n++) {
        unsigned char c = (unsigned char)s.at[s.n - n];
        if ((c & 0xc0) == 0x80) continue;
        return c >= 0xc0 && n < (c >= 0xf0 ? 4u : c >= 0xe0 ? 3u : 2u) ? n : 0;
    }
    return 0;
}

static void add_plain(Show *s, Str piece, Buf *out) {
    Buf all = { 0 }, safe = { 0 };
    buf_add(&all, buf_str(&s->part));
    buf_add(&all, piece);
    size_t whole = all.n - unfinished(buf_str(&all));
    buf_reset(&s->part);
    buf_add(&s->part, str_sub(buf_str(&all), whole, all.n));
    cli_escape_all(&safe, str_sub(buf_str(&all), 0, whole), true);
    s->wrap.width = width_of_terminal(1);
    s->wrap.fences = !s->reasoning;
    wrap_text(&s->wrap, buf_str(&safe), out);
    buf_clear(&all);
    buf_clear(&safe);
}

/* Shown dim, so that it is not mistaken for the answer; without colour it is not shown. */
static void on_reasoning(void *ctx, Str agent, int depth, Str piece) {
    Show *s = ctx;
    (void)agent;
    if (depth > 0 || piece.n == 0) return;
    Buf out = { 0 };
    pthread_mutex_lock(&s->lock);
    s->reasoning = true;
    buf_add(&out, STR("\033[2m"));
    add_plain(s, piece, &out);
    buf_add(&out, STR("\033[22m"));
    stream(s, buf_str(&out));
    s->since_ns = clock_mono_ns();
    pthread_mutex_unlock(&s->lock);
    buf_clear(&out);
}

static void end_reasoning(Show *s) {
    if (!s->reasoning) return;
    Buf rest = { 0 };
    buf_add(&rest, STR("\033[2m"));
    wrap_flush(&s->wrap, &rest);
    buf_add(&rest, STR("\033[22m"));
    stream(s, buf_str(&rest));
    s->reasoning = false;
    stream(s, s->mid_line ? STR("\n\n") : STR("\n"));
    s->wrap.column = 0;
    s->wrap.started = false;
    buf_clear(&rest);
}

static void on_text(void *ctx, Str agent, int depth, Str piece) {
    Show *s = ctx;
    (void)agent;
    if (depth > 0 || piece.n == 0) return;                   /* a sub-agent's text is not shown */
    Buf out = { 0 };
    pthread_mutex_lock(&s->lock);
    end_reasoning(s);
    s->markdown.wrap.width = width_of_terminal(1);
    if (s->color) markdown_feed(&s->markdown, piece, &out);
    else add_plain(s, piece, &out);
    stream(s, buf_str(&out));
    s->since_ns = clock_mono_ns();
    pthread_mutex_unlock(&s->lock);
    buf_clear(&out);
}

static char *about_call(Str arguments) {
    Buf out = { 0 };
    timeline_about(&out, arguments);
    return out.at ? buf_take(&out) : str_dup(STR(""));
}

/* A delegation gets its line when its agent makes the first call, so that the steps stand below it; the caller holds the lock. */
static void announce(Show *s, int depth) {
    for (size_t i = 0; s->lines && i < s->tools.n; i++) {
        ShownTool *t = &s->tools.at[i];
        if (t->announced || t->depth >= depth || !str_starts(str_from(t->name), STR("delegate"))) continue;
        Buf line = { 0 };
        t->announced = true;
        TimelineCall call = { .depth = t->depth, .name = str_from(t->name), .about = str_from(t->about), .open = true };
        timeline_add_call(&line, &call, &(TimelineStyle){ columns(), s->cli->color_err, false, true });
        print_line(s, buf_str(&line));
        buf_clear(&line);
    }
}

static void on_tool_started(void *ctx, Str agent, int depth, Str id, Str name, Str arguments) {
    Show *s = ctx;
    (void)agent;
    Buf safe = { 0 };
    cli_escape_all(&safe, str_sub(name, 0, 100), false);
    ShownTool t = { .id = str_dup(id), .name = safe.at ? buf_take(&safe) : str_dup(name), .about = about_call(arguments),
                    .start_ns = clock_mono_ns(), .depth = depth };
    pthread_mutex_lock(&s->lock);
    finish_text(s);
    announce(s, depth);
    VEC_PUSH(&s->tools, t);
    pthread_mutex_unlock(&s->lock);
}

static ShownTool take_tool(Show *s, Str id) {
    for (size_t i = 0; i < s->tools.n; i++)
        if (str_eq(str_from(s->tools.at[i].id), id)) {
            ShownTool t = s->tools.at[i];
            memmove(&s->tools.at[i], &s->tools.at[i + 1], (s->tools.n - i - 1) * sizeof t);
            s->tools.n--;
            return t;
        }
    return (ShownTool){ 0 };
}

static void add_verdict(Buf *out, const Result *r) {
    bool refused = r->is_error && r->step != STEP_EXECUTE && r->step != STEP_POST && r->step != STEP_BOUND && r->step != STEP_NONE;
    timeline_verdict(out, &(TimelineVerdict){ .refused = refused, .step = str_from(refused ? result_step_name(r->step) : ""), .rule = r->rule,
                                              .source = str_from(r->asked), .by = r->asked_by });
}

static void add_diff(Buf *out, Str change) {
    Heap *h = heap_new(0);
    Value v;
    Error ignored;
    if (change.n && json_read(h, change, NULL, &v, &ignored)) buf_add(out, value_member_text(v, "diff"));
    heap_free(h);
}

static void on_tool_ended(void *ctx, Str agent, int depth, const Result *r) {
    Show *s = ctx;
    Buf line = { 0 }, verdict = { 0 }, output = { 0 }, diff = { 0 };
    (void)agent;
    add_verdict(&verdict, r);
    add_diff(&diff, r->change);
    if (r->is_error) buf_add(&output, r->error);
    else timeline_output(&output, r->value);
    pthread_mutex_lock(&s->lock);
    ShownTool t = take_tool(s, r->call_id);
    s->progress[0] = 0;
    s->since_ns = clock_mono_ns();
    TimelineCall call = { .depth = depth, .name = r->name, .about = str_from(t.about), .verdict = buf_str(&verdict), .file = r->rule_file,
                          .failed = r->is_error,
                          .elapsed_ns = r->elapsed_ns, .waited_ns = r->waited_ns, .cost = timeline_cost(r->value),
                          .output = buf_str(&output), .diff = buf_str(&diff) };
    timeline_add_call(&line, &call, &(TimelineStyle){ columns(), s->cli->color_err, false, true });
    if (s->lines) print_line(s, buf_str(&line));
    pthread_mutex_unlock(&s->lock);
    forget(&t);
    buf_clear(&line);
    buf_clear(&verdict);
    buf_clear(&output);
    buf_clear(&diff);
}

static void on_retry(void *ctx, int attempt, int64_t wait_ms, const Error *why) {
    Show *s = ctx;
    Buf line = { 0 };
    buf_add_fmt(&line, "attempt %d failed, retrying in %.1f s: %s", attempt, (double)wait_ms / 1000, why->msg);
    pthread_mutex_lock(&s->lock);
    finish_text(s);
    cli_say(s->cli, SAY_WARNING, buf_str(&line));
    pthread_mutex_unlock(&s->lock);
    buf_clear(&line);
}

/* ---- Person ---- */

/* Before a question: ends the line of the answer. The question itself holds the screen. */
static void settle(Show *s) {
    pthread_mutex_lock(&s->lock);
    finish_text(s);
    pthread_mutex_unlock(&s->lock);
}

static ConfirmAnswer confirm(void *ctx, const ConfirmQuestion *q, Cancel *cancel) {
    Show *s = ctx;
    settle(s);
    return s->inner.confirm(s->inner.ctx, q, cancel);
}

static bool ask(void *ctx, Str message, Value schema, Heap *heap, Value *out, Cancel *cancel, Error *err) {
    Show *s = ctx;
    settle(s);
    return s->inner.ask(s->inner.ctx, message, schema, heap, out, cancel, err);
}

static bool bridge(void *ctx, const struct BridgeAsk *ask, struct BridgeAnswer *out, Cancel *cancel, Error *err) {
    Show *s = ctx;
    settle(s);
    return s->inner.bridge(s->inner.ctx, ask, out, cancel, err);
}

static bool go_on(void *ctx, const char *limit, int64_t value, Cancel *cancel) {
    Show *s = ctx;
    settle(s);
    return s->inner.go_on(s->inner.ctx, limit, value, cancel);
}

static void progress(void *ctx, Str call_id, Value done, Value total, Str message) {
    Show *s = ctx;
    Buf text = { 0 };
    Error ignored;
    (void)call_id;
    json_write(&text, done, NULL, &ignored);
    if (!value_is_gone(total) && !value_is_none(total)) {
        buf_add_char(&text, '/');
        json_write(&text, total, NULL, &ignored);
    }
    buf_add_char(&text, ' ');
    cli_escape_all(&text, str_sub(message, 0, 100), false);
    cut_columns(&text, 25);
    pthread_mutex_lock(&s->lock);
    snprintf(s->progress, sizeof s->progress, STR_FMT, STR_ARG(buf_str(&text)));
    pthread_mutex_unlock(&s->lock);
    buf_clear(&text);
}

Person show_person(Show *s, Person inner) {
    s->inner = inner;
    Person p = inner;
    p.ctx = s;
    if (inner.confirm) p.confirm = confirm;
    if (inner.ask) p.ask = ask;
    if (inner.bridge) p.bridge = bridge;
    if (inner.go_on) p.go_on = go_on;
    if (inner.progress) p.progress = progress;
    return p;
}

/* ---- lifetime ---- */

SessionWatch show_watch(Show *s) {
    SessionWatch w = { .retry = on_retry, .ctx = s };
    if (s->streams) w.text = on_text;
    if (s->color) w.reasoning = on_reasoning;
    if (s->lines) w.tool_started = on_tool_started, w.tool_ended = on_tool_ended;
    return w;
}

bool show_streams(const Show *s) { return s->streams; }

Show *show_new(Cli *cli) {
    Show *s = mem_zero(1, sizeof *s);
    bool terminal = isatty(2) && !cli->json;
    s->cli = cli;
    s->streams = isatty(1) && !cli->json;
    s->lines = terminal && log_on(&cli->log, LOG_WARN);      /* not with --quiet */
    s->live = s->lines && getenv("TERM") && strcmp(getenv("TERM"), "dumb") != 0;
    s->color = s->streams && cli->color_out;
    pthread_mutex_init(&s->lock, NULL);
    thread_cond_init(&s->wake);
    return s;
}

void show_free(Show *s) {
    if (!s) return;
    VEC_CLEAR(&s->tools);
    markdown_clear(&s->markdown);
    wrap_clear(&s->wrap);
    buf_clear(&s->part);
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->wake);
    free(s);
}
