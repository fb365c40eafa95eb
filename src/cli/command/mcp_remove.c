/* harness mcp remove: removes a server's entry from the project's file and leaves every other byte unchanged. */
#include <string.h>
#include "base/file.h"
#include "cli/mcp_entry.h"
#include "cli/report.h"
#include "value/json.h"

enum { FILE_MAX = 1 << 20 };

typedef struct Removing { Cli *cli; Str name; McpEntryFile file; Buf before, after; } Removing;

static size_t indentation(Str line) {
    size_t n = 0;
    while (n < line.n && (line.at[n] == ' ' || line.at[n] == '\t')) n++;
    return n;
}

/* True for the line "NAME:" of the entry, with or without quotes. */
static bool is_entry(Str line, Str name) {
    Str t = str_trim(line);
    char quote = t.n && (t.at[0] == '"' || t.at[0] == '\'') ? t.at[0] : 0;
    if (quote) t = str_sub(t, 1, t.n);
    if (!str_starts(t, name)) return false;
    t = str_sub(t, name.n, t.n);
    if (quote) {
        if (!t.n || t.at[0] != quote) return false;
        t = str_sub(t, 1, t.n);
    }
    return t.n && t.at[0] == ':';
}

/* The lines of the entry: from its name to the next line that is not deeper. Comments before that line stay with it. */
static bool find_entry(const Removing *r, Str text, const McpEntryPlaces *p, size_t *from, size_t *to, size_t *others) {
    bool found = false, inside = false;
    Str rest = str_sub(text, p->key_end, p->block_end), line;
    *others = 0;
    for (size_t at = p->key_end; str_next_line(&rest, &line); at = (size_t)(rest.at - text.at)) {
        Str trimmed = str_trim(line);
        bool says = trimmed.n && trimmed.at[0] != '#';
        if (!says) continue;
        bool top = indentation(line) == p->step.n;
        if (top) inside = is_entry(line, r->name);
        if (top && inside) *from = at, found = true;
        if (inside) *to = (size_t)(rest.at - text.at);
        *others += top && !inside;
    }
    return found;
}

static bool compose(Removing *r, Error *err) {
    Str text = buf_str(&r->before);
    McpEntryPlaces p;
    size_t from = 0, to = 0, others = 0;
    mcp_entry_look(&r->file, text, &p);
    if (!p.found || !mcp_entry_is_block(p.rest) || !find_entry(r, text, &p, &from, &to, &others))
        return error_set(err, ERR_CONFIG, "mcp_servers of %s is written in one line: remove the entry by hand", r->file.path);
    if (others == 0) from = p.key, to = to > p.key_end ? to : p.key_end;       /* without other entries, removes the key too */
    buf_add(&r->after, str_sub(text, 0, from));
    buf_add(&r->after, str_sub(text, to, text.n));
    return true;
}

/* The file must load without the server; otherwise the old one is restored. */
static bool verify(Removing *r, Error *err) {
    Problems problems = { 0 };
    Project *p = NULL;
    bool ok = report_load(r->cli, false, &p, &problems) && !mcp_entry_has(p, r->name);
    if (!ok) {
        Error ignored;
        error_set(err, ERR_CONFIG, "the entry cannot be removed from %s: %s", r->file.path, problems.n ? problems.at[0].message.at : "it is still there");
        (void)mcp_entry_write(r->file.path, buf_str(&r->before), &ignored);
    }
    project_free(p);
    problems_clear(&problems);
    return ok;
}

static bool fail_unknown(const Removing *r, const Project *p, Error *err) {
    Str names[64];
    size_t n = 0;
    for (size_t i = 0; i < p->n_servers && n < 64; i++) names[n++] = p->servers[i].name;
    Str near = str_nearest(r->name, names, n);
    error_set(err, ERR_VALIDATION, "no MCP server is named \"" STR_FMT "\"", STR_ARG(r->name));
    return near.n ? error_hint(err, "did you mean \"" STR_FMT "\"?", STR_ARG(near)) : error_hint(err, "see harness mcp list");
}

/* Does not change entries of other files, such as .mcp.json. */
static bool check(Removing *r, const Project *p, Error *err) {
    if (!mcp_entry_has(p, r->name)) return fail_unknown(r, p, err);
    mcp_entry_file(p, &r->file);
    for (size_t i = 0; i < p->n_servers; i++) {
        const ServerDef *d = &p->servers[i];
        if (str_eq(d->name, r->name) && (!r->file.exists || !str_eq(d->origin.file, p->settings.file)))
            return error_set(err, ERR_CONFIG, "server \"" STR_FMT "\" is defined in " STR_FMT ":%u: remove it there", STR_ARG(r->name),
                             STR_ARG(d->origin.file), d->origin.line);
    }
    return true;
}

static void print(Removing *r) {
    Buf *out = &r->cli->out;
    if (!r->cli->json) {
        buf_add_fmt(out, "removed " STR_FMT " from %s\n", STR_ARG(r->name), r->file.path);
        return;
    }
    buf_add(out, STR("{\"server\":"));
    json_write_string(out, r->name, false);
    buf_add(out, STR(",\"file\":"));
    json_write_string(out, str_from(r->file.path), false);
    buf_add(out, STR("}\n"));
}

int command_mcp_remove(Cli *cli) {
    Removing r = { .cli = cli, .name = str_from(cli->args.operands[0]) };
    Error err = { 0 };
    bool trusted;
    Project *p = report_project(cli);
    if (!p) return CLI_FAILED;
    bool ok = check(&r, p, &err) && mcp_entry_trusted(cli, &trusted, &err) && file_read(r.file.path, FILE_MAX, &r.before, &err) && compose(&r, &err)
              && mcp_entry_write(r.file.path, buf_str(&r.after), &err) && verify(&r, &err) && (!trusted || mcp_entry_keep_trust(cli, &err));
    if (ok) print(&r);
    project_free(p);
    buf_clear(&r.before);
    buf_clear(&r.after);
    return ok ? CLI_OK : cli_fail(cli, CLI_FAILED, &err);
}
