/* A call in a few words: what it is about, and what came of it. */
#include "cli/cli.h"
#include "cli/terminal/timeline.h"
#include "value/dict.h"
#include "value/int.h"
#include "value/json.h"
#include "value/list.h"

enum { ABOUT_BYTES = 400, LISTED_MAX = 1000 };

/* ---- arguments ---- */

/* The arguments that say most, the first row that fits. Quoted: text that could be taken for a name. */
static const struct { const char *first, *second; bool quote_first, quote_second; } telling[] = {
    { "command", NULL, false, false },
    { "agent", "task", false, true },
    { "pattern", "path", true, false },
    { "query", "path", true, false },
    { "path", NULL, false, false },
    { "file_path", NULL, false, false },
    { "url", NULL, false, false },
};

static Str text_of(Value dict, const char *key) {
    Value v = key ? value_member(dict, key) : VALUE_NONE;
    return value_is_string(v) ? str_trim(value_str(v)) : (Str){ 0 };
}

static void add_argument(Buf *out, Str text, bool quote) {
    ptrdiff_t end = str_find_char(text, '\n');
    if (quote) buf_add_char(out, '"');
    cli_escape_all(out, str_sub(text, 0, end >= 0 && end < ABOUT_BYTES ? (size_t)end : ABOUT_BYTES), false);
    if (end >= 0) buf_add(out, STR(" …"));
    if (quote) buf_add_char(out, '"');
}

static void add_telling(Buf *out, Value args) {
    for (size_t i = 0; i < sizeof telling / sizeof *telling; i++) {
        Str first = text_of(args, telling[i].first), second = text_of(args, telling[i].second);
        if (!first.n) continue;
        add_argument(out, first, telling[i].quote_first);
        if (second.n) buf_add_char(out, ' '), add_argument(out, second, telling[i].quote_second);
        return;
    }
    Entry *e;
    for (uint32_t i = 0; dict_next(value_dict(args), &i, &e);)
        if (value_is_string(e->value)) {
            add_argument(out, str_trim(value_str(e->value)), false);
            return;
        }
}

void timeline_about(Buf *out, Str arguments) {
    Heap *h = heap_new((size_t)64 << 20);
    Value v;
    Error ignored;
    if (json_read(h, arguments, NULL, &v, &ignored) && value_is_dict(v)) add_telling(out, v);
    heap_free(h);
}

/* ---- results ---- */

double timeline_cost(Value result) {
    Value usd = value_member(value_member(result, "usage"), "usd");
    return value_is_float(usd) ? value_float(usd) : 0;
}

static void add_plain(Buf *out, Value v) {
    Error ignored;
    if (value_is_string(v)) buf_add(out, value_str(v));
    else (void)json_write(out, v, NULL, &ignored);
}

/* Lines that grep found: PATH:LINE:TEXT. */
static bool add_match(Buf *out, Value item) {
    Value line = value_member(item, "line");
    if (!value_is_dict(item) || !value_is_string(value_member(item, "path")) || !value_is_int(line)) return false;
    buf_add(out, value_member_text(item, "path"));
    buf_add_char(out, ':');
    add_plain(out, line);
    buf_add_char(out, ':');
    buf_add(out, value_member_text(item, "text"));
    return true;
}

/* A list with one line for each item: strings, found lines, entries of a folder. False: other items. */
static bool add_listed(Buf *out, Value list) {
    if (!value_is_list(list)) return false;
    size_t from = out->n, n = value_list(list)->n;
    for (uint32_t i = 0; i < n && i < LISTED_MAX; i++) {
        Value item = value_list(list)->at[i];
        Str path = value_is_string(item) ? value_str(item) : value_member_text(item, "path");
        if (!add_match(out, item) && path.n) {
            buf_add(out, path);
            if (str_eq(value_member_text(item, "type"), STR("directory"))) buf_add_char(out, '/');
        } else if (!path.n) {
            out->n = from;
            return false;
        }
        buf_add_char(out, '\n');
    }
    return true;
}

static bool is_short(Value v) { return !value_is_dict(v) && !value_is_list(v) && !(value_is_string(v) && str_find_char(value_str(v), '\n') >= 0); }

/* "path: a.txt, created: true": a dict of short values on one line. */
static bool add_members(Buf *out, Value v) {
    Entry *e;
    for (uint32_t i = 0; dict_next(value_dict(v), &i, &e);)
        if (!value_is_string(e->key) || !is_short(e->value)) return false;
    bool first = true;
    for (uint32_t i = 0; dict_next(value_dict(v), &i, &e); first = false) {
        if (!first) buf_add(out, STR(", "));
        buf_add(out, value_str(e->key));
        buf_add(out, STR(": "));
        add_plain(out, e->value);
    }
    return true;
}

static bool add_known(Buf *out, Value v) {
    static const char *const lists[] = { "matches", "files", "entries" };
    if (value_is_string(value_member(v, "stdout"))) {
        buf_add(out, value_member_text(v, "stdout"));
        buf_add(out, value_member_text(v, "stderr"));
        return true;
    }
    if (value_is_string(value_member(v, "response"))) return buf_add(out, value_member_text(v, "response")), true;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        if (add_listed(out, value_member(v, lists[i]))) return true;
    return add_members(out, v);
}

void timeline_output(Buf *out, Value v) {
    if (value_is_gone(v) || value_is_none(v)) return;
    if (!value_is_dict(v) || !add_known(out, v)) add_plain(out, v);
}
