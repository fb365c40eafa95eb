/* harness context: what the model will see, one row and one bar per part. */
#include <stdlib.h>
#include "base/arena.h"
#include "cli/look.h"
#include "cli/terminal/width.h"
#include "value/json.h"

enum { TOKENS_COLUMNS = 7, GAP = 2, BAR_LEAST = 8 };

/* The tools of one MCP server are one row, and so are all messages. Texts are kept only for --log-level debug. */
typedef struct Row { SessionPartKind what; Str server; Buf label, text; int64_t tokens; size_t parts; } Row;
typedef struct Showing { Cli *cli; Registry *registry; Arena arena; VEC(Row) rows; int64_t total; size_t n; bool texts; } Showing;

static Str server_of(const Showing *s, const SessionPart *p) {
    const ToolEntry *e = p->what == PART_TOOL ? registry_find(s->registry, p->name, NULL, 0) : NULL;
    return e && e->def.origin.source == SOURCE_MCP ? e->def.server : STR("");
}

static void add_json(Showing *s, const SessionPart *p) {
    Buf *b = &s->cli->out;
    Str server = server_of(s, p);
    buf_add(b, s->n++ ? STR(",\n  {\"part\":") : STR("  {\"part\":"));
    json_write_string(b, str_from(session_part_name(p->what)), false);
    buf_add(b, STR(",\"name\":"));
    json_write_string(b, p->name, false);
    if (server.n) {
        buf_add(b, STR(",\"server\":"));
        json_write_string(b, server, false);
    }
    buf_add_fmt(b, ",\"tokens\":%lld,\"text\":", (long long)p->tokens);
    json_write_string(b, p->text, false);
    buf_add_char(b, '}');
}

/* ---- rows ---- */

/* True if the part is added to the row instead of starting another one. */
static bool belongs(const Row *row, SessionPartKind what, Str server) {
    if (row->what != what) return false;
    return what == PART_MESSAGE || (server.n && str_eq(row->server, server));
}

static Row *row_of(Showing *s, SessionPartKind what, Str server) {
    for (size_t i = 0; i < s->rows.n; i++)
        if (belongs(&s->rows.at[i], what, server)) return &s->rows.at[i];
    VEC_PUSH(&s->rows, ((Row){ .what = what, .server = arena_str(&s->arena, server) }));
    return &VEC_LAST(&s->rows);
}

static void add_part(void *ctx, const SessionPart *p) {
    Showing *s = ctx;
    s->total += p->tokens;
    if (s->cli->json) {
        add_json(s, p);
        return;
    }
    Row *row = row_of(s, p->what, server_of(s, p));
    row->tokens += p->tokens;
    row->parts++;
    if (row->parts == 1 && !row->server.n && p->what != PART_MESSAGE) {
        buf_add(&row->label, p->what == PART_TOOL ? STR("tool ") : p->name.n ? STR("system prompt of ") : STR("system prompt"));
        cli_escape_all(&row->label, p->name, false);
    }
    if (!s->texts) return;
    cli_escape(&row->text, p->text, true);
    buf_add_char(&row->text, '\n');
}

static void add_label(Row *row) {
    if (row->what == PART_MESSAGE) {
        buf_add_fmt(&row->label, "messages (%zu)", row->parts);
    } else if (row->server.n) {
        buf_add(&row->label, STR("server "));
        cli_escape_all(&row->label, row->server, false);
        buf_add_fmt(&row->label, " (%zu tool%s)", row->parts, row->parts == 1 ? "" : "s");
    }
}

/* ---- drawing ---- */

/* Widths of the columns; no bars where standard output is not a terminal. */
typedef struct Columns { size_t label, bar; int64_t most; } Columns;

static Columns measure(const Showing *s) {
    Columns c = { 0 };
    if (!s->cli->terminal_out) return c;
    size_t width = width_of_terminal(1), fixed = TOKENS_COLUMNS + 2 * GAP, room = width > fixed ? width - fixed : 0;
    for (size_t i = 0; i < s->rows.n; i++) {
        size_t n = width_of(buf_str(&s->rows.at[i].label));
        if (n > c.label) c.label = n;
        if (s->rows.at[i].tokens > c.most) c.most = s->rows.at[i].tokens;
    }
    size_t most = room / 2 > BAR_LEAST ? room - room / 2 : room > BAR_LEAST ? room - BAR_LEAST : room;
    if (c.label > most) c.label = most;
    c.bar = room - c.label;
    return c;
}

/* The longest row fills the column; a part that is not empty has at least one block. */
static void add_bar(Buf *out, const Row *row, const Columns *c, bool color) {
    size_t n = c->most ? (size_t)((double)row->tokens / (double)c->most * (double)c->bar) : 0;
    if (n == 0 && row->tokens && c->bar) n = 1;
    if (n == 0) return;
    if (color) buf_add(out, STR("\033[36m"));
    for (size_t i = 0; i < n; i++) buf_add(out, STR("█"));
    if (color) buf_add(out, STR("\033[0m"));
}

static void add_row(Showing *s, Row *row, const Columns *c) {
    Buf *out = &s->cli->out, cell = { 0 };
    buf_add_fmt(out, "%*lld  ", TOKENS_COLUMNS, (long long)row->tokens);
    if (s->cli->terminal_out) width_add_cut(&cell, buf_str(&row->label), c->label);
    else buf_add(&cell, buf_str(&row->label));
    buf_add(out, buf_str(&cell));
    if (c->bar && row->tokens) {
        width_add_spaces(out, c->label - width_of(buf_str(&cell)) + GAP);
        add_bar(out, row, c, s->cli->color_out);
    }
    buf_add_char(out, '\n');
    buf_add(out, buf_str(&row->text));
    buf_clear(&cell);
}

static void add_rows(Showing *s, Str model) {
    row_of(s, PART_MESSAGE, STR(""));                        /* shown even if there are none yet */
    for (size_t i = 0; i < s->rows.n; i++) add_label(&s->rows.at[i]);
    Columns c = measure(s);
    for (size_t i = 0; i < s->rows.n; i++) add_row(s, &s->rows.at[i], &c);
    buf_add_fmt(&s->cli->out, "%*lld  total, estimated (model ", TOKENS_COLUMNS, (long long)s->total);
    cli_escape_all(&s->cli->out, model.n ? model : STR("not chosen"), false);
    buf_add(&s->cli->out, STR(")\n"));
}

static void clear(Showing *s) {
    for (size_t i = 0; i < s->rows.n; i++) {
        buf_clear(&s->rows.at[i].label);
        buf_clear(&s->rows.at[i].text);
    }
    VEC_CLEAR(&s->rows);
    arena_clear(&s->arena);
}

int command_context(Cli *cli) {
    Look look;
    Error err = { 0 };
    int status = look_open(&look, cli);
    Showing s = { .cli = cli, .texts = log_on(&cli->log, LOG_DEBUG) };
    if (status < 0) {
        s.registry = runtime_registry(look.opening.rt);
        if (cli->json) buf_add(&cli->out, STR("[\n"));
        bool ok = session_parts(look.session, add_part, &s, &err);
        if (ok && cli->json) buf_add(&cli->out, STR("\n]\n"));
        else if (ok) add_rows(&s, session_model_name(look.session));
        status = ok ? CLI_OK : cli_fail(cli, CLI_FAILED, &err);
    }
    clear(&s);
    look_close(&look);
    return status;
}
