/* A timeline as one HTML page. It has no script and loads nothing; the policy in its head forbids both. Every text from outside goes through
 * add_text, which escapes what HTML, a terminal or the direction of text could interpret. */
#include "base/base64.h"
#include "base/clock.h"
#include "base/sha256.h"
#include "base/utf8.h"
#include "cli/terminal/timeline_private.h"
#include "value/dict.h"
#include "value/json.h"

static const char css[] =
    ":root{color-scheme:light dark;--text:#1b1f24;--dim:#59636e;--page:#fff;--box:#f5f7f9;--line:#d5dbe1;--ok:#1a7f37;--bad:#c5221f;--open:#9a6700;"
    "--add:#dafbe1;--del:#ffebe9}\n"
    "@media(prefers-color-scheme:dark){:root{--text:#e6e9ed;--dim:#9aa5b1;--page:#0f1318;--box:#181d24;--line:#303841;--ok:#3fb950;--bad:#f85149;"
    "--open:#d29922;--add:#12361f;--del:#471c1c}}\n"
    "*{box-sizing:border-box}body{margin:0 auto;padding:1.5rem;max-width:70rem;background:var(--page);color:var(--text);font:15px/1.5 system-ui,sans-serif}\n"
    "h1{font-size:1.3rem;margin:0 0 .3rem}pre,code,.name,.about,.time{font-family:ui-monospace,monospace;font-size:.87em}\n"
    "pre{margin:.4rem 0;padding:.5rem .7rem;background:var(--box);border:1px solid var(--line);border-radius:6px;overflow-x:auto;white-space:pre-wrap;"
    "overflow-wrap:anywhere}\n"
    ".facts{display:flex;flex-wrap:wrap;gap:.2rem 1.2rem;color:var(--dim);margin:0 0 1.2rem;padding:0;list-style:none}\n"
    ".prompt{margin:1.4rem 0 .5rem;font-weight:600;white-space:pre-wrap;overflow-wrap:anywhere;border-left:3px solid var(--open);padding-left:.7rem}\n"
    ".prompt small{display:block;font-weight:400;color:var(--dim)}\n"
    ".answer{margin:.5rem 0;white-space:pre-wrap;overflow-wrap:anywhere}.note{margin:.5rem 0;color:var(--open);white-space:pre-wrap;overflow-wrap:anywhere}\n"
    ".inside{margin-left:1.1rem;padding-left:.7rem;border-left:1px solid var(--line)}\n"
    "details.call>summary{display:grid;grid-template-columns:1.2rem minmax(0,1fr) minmax(6rem,auto) 9rem;gap:.1rem .6rem;align-items:baseline;cursor:pointer;"
    "list-style:none;padding:.15rem .3rem;border-radius:5px}\n"
    "details.call>summary:hover,details.call[open]>summary{background:var(--box)}summary::-webkit-details-marker{display:none}\n"
    ".what{overflow:hidden;text-overflow:ellipsis;white-space:nowrap}.name{font-weight:600}.about{color:var(--dim)}.verdict{color:var(--dim);text-align:right}\n"
    ".time{color:var(--dim);text-align:right;white-space:nowrap}.ok>summary .mark{color:var(--ok)}.failed>summary .mark,.failed>summary .verdict{color:var(--bad)}"
    ".open>summary .mark{color:var(--open)}\n"
    "svg{grid-column:2/-1;display:block;width:100%;height:4px;background:var(--box)}rect{fill:var(--ok)}.failed>summary rect{fill:var(--bad)}"
    ".open>summary rect{fill:var(--open)}\n"
    ".body{margin:.2rem 0 .8rem 1.8rem}dl{display:grid;grid-template-columns:max-content minmax(0,1fr);gap:.1rem .9rem;margin:.3rem 0}dt{color:var(--dim)}"
    "dd{margin:0;overflow-wrap:anywhere}dd pre{margin:0}\n"
    ".add{background:var(--add);display:block}.del{background:var(--del);display:block}.same{display:block}\n"
    "@media(max-width:40rem){details.call>summary{grid-template-columns:1.2rem minmax(0,1fr)}.verdict,.time{grid-column:2;text-align:left}}\n";

/* ---- text ---- */

static void add_escaped(Buf *out, Str text) {
    size_t plain = 0;
    for (size_t i = 0; i < text.n; i++) {
        const char *as = text.at[i] == '&' ? "&amp;" : text.at[i] == '<' ? "&lt;" : text.at[i] == '>' ? "&gt;" : text.at[i] == '"' ? "&quot;"
            : text.at[i] == '\'' ? "&#39;" : NULL;
        if (!as) continue;
        buf_add(out, str_sub(text, plain, i));
        buf_add(out, str_from(as));
        plain = i + 1;
    }
    buf_add(out, str_sub(text, plain, text.n));
}

static void add_text(Buf *out, Str text) {
    Buf safe = { 0 };
    utf8_escape(text, true, &safe);
    add_escaped(out, buf_str(&safe));
    buf_clear(&safe);
}

static void add_element(Buf *out, const char *open, Str text, const char *close) {
    buf_add(out, str_from(open));
    add_text(out, text);
    buf_add(out, str_from(close));
}

static void add_moment(Buf *out, int64_t ns) {
    char text[CLOCK_TEXT_SIZE];
    clock_format(ns, text);
    text[10] = ' ';
    buf_add(out, (Str){ text, 19 });
    buf_add(out, STR(" UTC"));
}

/* ---- a call ---- */

static void add_bar(Buf *out, const Timeline *t, const TimelineItem *i) {
    double whole = t->last_ns > t->first_ns ? (double)(t->last_ns - t->first_ns) : 1;
    int64_t end = i->call.open ? t->last_ns : i->end_ns;
    double from = (double)(i->start_ns - t->first_ns) / whole * 1000, length = (double)(end - i->start_ns) / whole * 1000;
    from = from < 0 ? 0 : from > 998 ? 998 : from;
    length = length < 2 ? 2 : from + length > 1000 ? 1000 - from : length;
    buf_add_fmt(out, "<svg viewBox=\"0 0 1000 4\" preserveAspectRatio=\"none\" aria-hidden=\"true\"><rect x=\"%.1f\" width=\"%.1f\" height=\"4\"/></svg>",
                from, length);
}

static void add_summary(Buf *out, const Timeline *t, const TimelineItem *i) {
    const TimelineCall *c = &i->call;
    buf_add_fmt(out, "<summary><span class=\"mark\">%s</span><span class=\"what\">", c->open ? "…" : c->failed ? "✗" : "●");
    add_element(out, "<span class=\"name\">", c->name, "</span> ");
    add_element(out, "<span class=\"about\">", c->about, "</span></span>");
    add_element(out, "<span class=\"verdict\">", c->open ? STR("not ended") : c->verdict, "</span><span class=\"time\">");
    timeline_add_duration(out, c->elapsed_ns);
    if (c->cost > 0) buf_add_fmt(out, " · $%.2f", c->cost);
    buf_add(out, STR("</span>"));
    add_bar(out, t, i);
    buf_add(out, STR("</summary>\n"));
}

/* One row for each argument; text of several lines as lines. */
static void add_args(Buf *out, Str json) {
    Heap *h = heap_new((size_t)64 << 20);
    Value v;
    Error err;
    Entry *e;
    if (json.n && json_read(h, json, NULL, &v, &err) && value_is_dict(v) && value_dict(v)->n) {
        buf_add(out, STR("<dl>"));
        for (uint32_t i = 0; dict_next(value_dict(v), &i, &e);) {
            Buf text = { 0 };
            bool lines = value_is_string(e->value) && str_find_char(value_str(e->value), '\n') >= 0;
            if (value_is_string(e->value)) buf_add(&text, value_str(e->value));
            else if (!json_write(&text, e->value, NULL, &err)) buf_add(&text, STR("…"));
            add_element(out, "<dt>", value_str(e->key), "</dt>");
            add_element(out, lines ? "<dd><pre>" : "<dd><code>", buf_str(&text), lines ? "</pre></dd>" : "</code></dd>");
            buf_clear(&text);
        }
        buf_add(out, STR("</dl>\n"));
    }
    heap_free(h);
}

static void add_duration_row(Buf *out, const char *label, int64_t ns) {
    if (ns <= 0) return;
    buf_add_fmt(out, "<dt>%s</dt><dd>", label);
    timeline_add_duration(out, ns);
    buf_add(out, STR("</dd>"));
}

static void add_facts(Buf *out, const TimelineItem *i) {
    buf_add(out, STR("<dl>"));
    if (i->agent.n) add_element(out, "<dt>agent</dt><dd>", i->agent, "</dd>");
    add_element(out, "<dt>verdict</dt><dd>", i->call.verdict, "</dd>");
    for (const TimelineFact *f = i->facts; f; f = f->next) {
        buf_add_fmt(out, "<dt>%s</dt>", f->label);
        add_element(out, "<dd>", f->text, "</dd>");
    }
    buf_add(out, STR("<dt>started</dt><dd>"));
    add_moment(out, i->start_ns);
    buf_add(out, STR("</dd>"));
    add_duration_row(out, "took", i->call.elapsed_ns);
    add_duration_row(out, "worked", i->worked_ns);
    add_duration_row(out, "hooks", i->hooks_ns);
    add_duration_row(out, "waited for an answer", i->call.waited_ns);
    buf_add(out, STR("</dl>\n"));
}

static void add_diff(Buf *out, Str diff) {
    Str rest = diff, line;
    buf_add(out, STR("<details open><summary>change</summary><pre>"));
    while (str_next_line(&rest, &line)) {
        bool named = str_starts(line, STR("---")) || str_starts(line, STR("+++"));
        const char *kind = !named && line.n && line.at[0] == '+' ? "add" : !named && line.n && line.at[0] == '-' ? "del" : "same";
        buf_add_fmt(out, "<span class=\"%s\">", kind);
        add_text(out, line.n ? line : STR(" "));
        buf_add(out, STR("</span>"));
    }
    buf_add(out, STR("</pre></details>\n"));
}

static void add_output(Buf *out, const TimelineItem *i) {
    Str text = timeline_trim(i->call.output);
    if (!text.n) return;
    buf_add(out, i->call.failed || !i->call.diff.n ? STR("<details open><summary>") : STR("<details><summary>"));
    add_element(out, i->call.failed ? "error" : "output", i->cut ? STR(" (the first 64 KiB)") : STR(""), "</summary><pre>");
    add_text(out, text);
    buf_add(out, STR("</pre></details>\n"));
}

static void add_call(Buf *out, const Timeline *t, const TimelineItem *i) {
    buf_add_fmt(out, "<details class=\"call %s\">", i->call.open ? "open" : i->call.failed ? "failed" : "ok");
    add_summary(out, t, i);
    buf_add(out, STR("<div class=\"body\">\n"));
    add_args(out, i->args);
    if (i->call.diff.n) add_diff(out, i->call.diff);
    add_output(out, i);
    add_facts(out, i);
    buf_add(out, STR("</div></details>\n"));
}

/* ---- a run ---- */

static void add_prompt(Buf *out, const TimelineItem *i) {
    add_element(out, "<div class=\"prompt\">", i->text, "");
    if (i->model.n || i->call.cost > 0 || i->agent.n) {
        add_element(out, "<small>", i->agent.n ? i->agent : i->model, "");
        if (i->agent.n && i->model.n) add_element(out, " · ", i->model, "");
        if (i->call.cost > 0) buf_add_fmt(out, " · $%.4f", i->call.cost);
        buf_add(out, STR("</small>"));
    }
    buf_add(out, STR("</div>\n"));
}

static void add_item(Buf *out, const Timeline *t, const TimelineItem *item) {
    switch (item->kind) {
    case TIMELINE_PROMPT: add_prompt(out, item); break;
    case TIMELINE_ANSWER: add_element(out, "<div class=\"answer\">", timeline_trim(item->text), "</div>\n"); break;
    case TIMELINE_NOTE: add_element(out, "<div class=\"note\">", item->text, "</div>\n"); break;
    case TIMELINE_CALL: add_call(out, t, item); break;
    }
    if (!item->first) return;
    buf_add(out, STR("<div class=\"inside\">\n"));
    for (const TimelineItem *i = item->first; i; i = i->next) add_item(out, t, i);
    buf_add(out, STR("</div>\n"));
}

static void add_head(Buf *out, const TimelineAbout *a) {
    uint8_t hash[SHA256_BYTES];
    sha256_of(STR(css), hash);
    buf_add(out, STR("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
                     "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'sha256-"));
    base64_encode((Str){ (const char *)hash, sizeof hash }, out);
    buf_add(out, STR("'; base-uri 'none'; form-action 'none'\">\n<meta name=\"referrer\" content=\"no-referrer\">\n"
                     "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>run "));
    add_text(out, a->id);
    buf_add_fmt(out, "</title>\n<style>%s</style></head>\n<body>\n", css);
}

static void add_about(Buf *out, const TimelineAbout *a) {
    add_element(out, "<h1>", a->title.n ? a->title : a->id, "</h1>\n<ul class=\"facts\">");
    add_element(out, "<li>run ", a->id, "</li>");
    add_element(out, "<li>", a->status, "</li>");
    if (a->agent.n) add_element(out, "<li>agent ", a->agent, "</li>");
    buf_add(out, STR("<li>"));
    add_moment(out, a->started_ns);
    buf_add(out, STR("</li>"));
    if (a->ended_ns > a->started_ns) buf_add(out, STR("<li>")), timeline_add_duration(out, a->ended_ns - a->started_ns), buf_add(out, STR("</li>"));
    buf_add_fmt(out, "<li>%lld turns</li><li>%lld calls</li>", (long long)a->turns, (long long)a->tool_calls);
    if (a->cost > 0) buf_add_fmt(out, "<li>$%.4f</li>", a->cost);
    buf_add(out, STR("</ul>\n"));
}

void timeline_write_html(Timeline *t, Buf *out, const TimelineAbout *about) {
    add_head(out, about);
    add_about(out, about);
    for (const TimelineItem *i = t->top.first; i; i = i->next) add_item(out, t, i);
    buf_add(out, STR("</body></html>\n"));
}
