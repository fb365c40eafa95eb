/* Reports test results: as text, as JSON, and as JUnit XML for a build server. */
#include "base/clock.h"
#include "base/utf8.h"
#include "cli/named_file.h"
#include "cli/test_suite.h"
#include "value/json.h"

/* ---- text ---- */

static void add_indented(Buf *out, const char *label, Str text) {
    bool first = true;
    for (Str line; str_next_line(&text, &line); first = false) {
        buf_add_fmt(out, "    %-10s", first ? label : "");
        cli_escape(out, line, false);
        buf_add_char(out, '\n');
    }
}

static void add_failure(Buf *out, const TrialFailure *f) {
    buf_add(out, STR("  "));
    cli_escape(out, f->check, false);
    if (f->expected.n == 0) {
        buf_add(out, STR(": "));
        cli_escape(out, f->got, false);
        buf_add_char(out, '\n');
        return;
    }
    buf_add_char(out, '\n');
    add_indented(out, "expected", f->expected);
    add_indented(out, "got", f->got);
}

void test_suite_report_text(TestSuite *s) {
    Buf *out = &s->cli->out;
    bool color = s->cli->color_out;
    for (size_t i = 0; i < s->n; i++) {
        const TestRun *r = &s->runs[i];
        buf_add_fmt(out, "%s%s%s " STR_FMT "  %.0f ms\n", color ? (r->passed ? "\033[32m" : "\033[31m") : "", r->passed ? "✓" : "✗", color ? "\033[0m" : "",
                    STR_ARG(r->def->name), (double)r->elapsed_ns / 1e6);
        if (!r->passed) buf_add_fmt(out, "  " STR_FMT "\n", STR_ARG(r->def->origin.file));
        for (size_t k = 0; k < r->failures.n; k++) add_failure(out, &r->failures.at[k]);
    }
    buf_add_fmt(out, "%zu passed, %zu failed\n", s->passed, s->n - s->passed);
}

/* ---- JSON ---- */

static void add_member(Buf *out, const char *before, Str text) {
    buf_add(out, str_from(before));
    json_write_string(out, text, false);
}

void test_suite_report_json(TestSuite *s) {
    Buf *out = &s->cli->out;
    buf_add_fmt(out, "{\"passed\":%zu,\"failed\":%zu,\"tests\":[", s->passed, s->n - s->passed);
    for (size_t i = 0; i < s->n; i++) {
        const TestRun *r = &s->runs[i];
        add_member(out, i ? ",{\"name\":" : "{\"name\":", r->def->name);
        add_member(out, ",\"file\":", r->def->origin.file);
        buf_add_fmt(out, ",\"ok\":%s,\"elapsed_ms\":%.3f,\"failures\":[", r->passed ? "true" : "false", (double)r->elapsed_ns / 1e6);
        for (size_t k = 0; k < r->failures.n; k++) {
            const TrialFailure *f = &r->failures.at[k];
            add_member(out, k ? ",{\"check\":" : "{\"check\":", f->check);
            add_member(out, ",\"expected\":", f->expected);
            add_member(out, ",\"got\":", f->got);
            buf_add_char(out, '}');
        }
        buf_add(out, STR("]}"));
    }
    buf_add(out, STR("]}\n"));
}

/* ---- JUnit ---- */

/* XML cannot represent most control characters; they, and invalid UTF-8, become U+FFFD. */
static void add_xml(Buf *out, Str text) {
    for (size_t i = 0, n; i < text.n; i += n) {
        uint32_t c = utf8_decode(str_sub(text, i, text.n), &n);
        if (c == '&') buf_add(out, STR("&amp;"));
        else if (c == '<') buf_add(out, STR("&lt;"));
        else if (c == '>') buf_add(out, STR("&gt;"));
        else if (c == '"') buf_add(out, STR("&quot;"));
        else if (c == '\n' || c == '\t' || c == '\r') buf_add_fmt(out, "&#%u;", c);
        else buf_add_utf8(out, c < 0x20 || c == 0xfffe || c == 0xffff ? 0xfffd : c);
    }
}

static void add_attribute(Buf *out, const char *name, Str text) {
    buf_add_fmt(out, " %s=\"", name);
    add_xml(out, text);
    buf_add_char(out, '"');
}

static void add_counts(Buf *out, const TestSuite *s) {
    buf_add_fmt(out, " tests=\"%zu\" failures=\"%zu\" errors=\"0\" skipped=\"0\" time=\"%.3f\"", s->n, s->n - s->passed, (double)s->elapsed_ns / 1e9);
}

static void add_case(Buf *out, const TestRun *r) {
    buf_add(out, STR("    <testcase"));
    add_attribute(out, "classname", STR("harness"));
    add_attribute(out, "name", r->def->name);
    add_attribute(out, "file", r->def->origin.file);
    buf_add_fmt(out, " time=\"%.3f\"", (double)r->elapsed_ns / 1e9);
    if (r->passed) {
        buf_add(out, STR("/>\n"));
        return;
    }
    buf_add(out, STR(">\n      <failure"));
    const TrialFailure *first = &r->failures.at[0];
    Buf text = { 0 };
    if (first->expected.n) buf_add_fmt(&text, STR_FMT ": expected " STR_FMT, STR_ARG(first->check), STR_ARG(first->expected));
    else buf_add(&text, first->got);
    add_attribute(out, "message", buf_str(&text));
    add_attribute(out, "type", first->check);
    buf_add_char(out, '>');
    for (size_t i = 0; i < r->failures.n; i++) {
        const TrialFailure *f = &r->failures.at[i];
        buf_reset(&text);
        buf_add_fmt(&text, STR_FMT "\n  expected: " STR_FMT "\n  got: " STR_FMT "\n", STR_ARG(f->check), STR_ARG(f->expected), STR_ARG(f->got));
        add_xml(out, buf_str(&text));
    }
    buf_add(out, STR("</failure>\n    </testcase>\n"));
    buf_clear(&text);
}

bool test_suite_report_junit(TestSuite *s, const Project *p, const char *path, Error *err) {
    Buf out = { 0 };
    char time[CLOCK_TEXT_SIZE];
    clock_format(clock_wall_ns(), time);
    buf_add(&out, STR("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites"));
    add_counts(&out, s);
    buf_add(&out, STR(">\n  <testsuite"));
    add_attribute(&out, "name", str_from(s->project));
    add_counts(&out, s);
    add_attribute(&out, "timestamp", (Str){ time, 19 });
    buf_add(&out, STR(">\n"));
    for (size_t i = 0; i < s->n; i++) add_case(&out, &s->runs[i]);
    buf_add(&out, STR("  </testsuite>\n</testsuites>\n"));
    bool ok = named_file_write(p, "--junit", path, 0666, buf_str(&out), err);
    buf_clear(&out);
    return ok;
}
