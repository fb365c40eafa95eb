/* Translates a vendor's tool call into our tool, kind and argument names. */
#include "base/vec.h"
#include "guard/guard.h"
#include "value/list.h"

enum { CALLS_MAX = 256, READINGS_MAX = 16 };

typedef struct ToolRow { Vendor vendor; const char *name; CallKind kind; const char *tool, *fields; } ToolRow;
static const ToolRow tool_rows[] = {
#define GUARD_TOOL(vendor, name, kind, tool, fields) { VENDOR_##vendor, name, CALL_##kind, tool, fields },
#include "guard/tools.def"
#undef GUARD_TOOL
};

static const ToolRow *find_row(Vendor v, Str name) {
    for (size_t i = 0; i < sizeof tool_rows / sizeof *tool_rows; i++)
        if (tool_rows[i].vendor == v && str_eq(name, str_from(tool_rows[i].name))) return &tool_rows[i];
    return NULL;
}

typedef struct Reader { const GuardEnvelope *e; Str root, cwd; Heap *heap; Arena *arena; VEC(GuardCall) calls; Error *err; } Reader;

static bool fail(Reader *r, const char *what) {
    return error_set(r->err, ERR_PROTOCOL, "tool " STR_FMT ": %s", STR_ARG(str_sub(r->e->tool, 0, 200)), what);
}

static bool add(Reader *r, GuardCall c) {
    if (r->calls.n == CALLS_MAX) return fail(r, "it names too many files");
    c.vendor_tool = r->e->tool;
    VEC_PUSH(&r->calls, c);
    return true;
}

/* ---- names of fields ---- */

/* Our name of the vendor's field, or the vendor's name of ours; the same name if the row has none. */
static Str renamed(const char *fields, Str key, bool back) {
    Str rest = str_from(fields);
    while (rest.n) {
        ptrdiff_t end = str_find_char(rest, ' ');
        Str pair = end < 0 ? rest : str_sub(rest, 0, (size_t)end);
        size_t colon = (size_t)str_find_char(pair, ':');
        Str theirs = str_sub(pair, 0, colon), ours = str_sub(pair, colon + 1, pair.n);
        if (str_eq(key, back ? ours : theirs)) return back ? theirs : ours;
        rest = end < 0 ? STR("") : str_sub(rest, (size_t)end + 1, rest.n);
    }
    return key;
}

static bool rename_all(Reader *r, const char *fields, Value *out) {
    Value in = r->e->input;
    Dict *d = dict_new(r->heap, 8, r->err);
    Entry *e;
    for (uint32_t i = 0; d && value_is_dict(in) && dict_next(value_dict(in), &i, &e);) {
        Str name = renamed(fields, value_str(e->key), false);
        if (dict_find_str(d, name)) return fail(r, "two of its arguments mean the same");
        if (!dict_put_str(r->heap, d, name, e->value, r->err)) return false;
    }
    *out = value_from_object(d);
    return d != NULL;
}

/* The one argument among `names` that is present. Two that differ are refused: the vendor could use the other one. */
static bool one_of(Reader *r, Value in, const char *const *names, Value *out) {
    bool same = true;
    *out = VALUE_GONE;
    for (; *names; names++) {
        Value v = value_member(in, *names);
        if (value_is_gone(v) || value_is_none(v)) continue;
        if (!value_is_gone(*out) && (!value_equal(v, *out, &same, r->err) || !same)) return fail(r, "two of its arguments disagree");
        *out = v;
    }
    return true;
}

static bool put_text(Reader *r, Value args, const char *key, Str text) { return dict_put_text(r->heap, value_dict(args), key, text, r->err); }

static bool has_nul(Str s) { return s.n && memchr(s.at, 0, s.n) != NULL; }

/* ---- files ---- */

static const char *const path_names[] = { "path", "file_path", "filePath", "notebook_path", "absolute_path", "TargetFile", "AbsolutePath", NULL };

static bool set_path(Reader *r, GuardCall *c, Str path) {
    if (!path.n || has_nul(path)) return fail(r, "its path is empty or not a path");
    c->written = path;
    c->absolute = guard_path_resolve(path, r->cwd, r->arena);
    c->path = guard_path_relative(c->absolute, r->root);
    return true;
}

static bool add_file(Reader *r, const ToolRow *row, Value args, Str path, const char *fields) {
    GuardCall c = { .tool = str_from(row->tool), .kind = row->kind, .args = args, .fields = fields };
    return set_path(r, &c, path) && put_text(r, args, "path", c.path) && add(r, c);
}

static bool add_item(Reader *r, const ToolRow *row, Value item) {
    Value path = item;
    if (value_is_dict(item) && !one_of(r, item, path_names, &path)) return false;
    if (!value_is_string(path)) return fail(r, "it names a file without a path");
    Str s = value_str(path);
    for (size_t i = 0; i < s.n; i++)
        if (strchr("*?[{", s.at[i])) return fail(r, "it names files by a pattern");
    Dict *d = dict_new(r->heap, 4, r->err);
    return d && add_file(r, row, value_from_object(d), s, NULL);
}

/* A tool for several files: {replacements: [{filePath}]}, {include: [path]}. */
static bool file_items(Reader *r, const ToolRow *row, bool *some) {
    static const char *const lists[] = { "replacements", "include", "paths", "files", NULL };
    for (size_t i = 0; lists[i]; i++) {
        Value v = value_member(r->e->input, lists[i]);
        if (!value_is_list(v) || value_list(v)->n == 0) continue;
        *some = true;
        for (uint32_t k = 0; k < value_list(v)->n; k++)
            if (!add_item(r, row, value_list(v)->at[k])) return false;
    }
    return true;
}

static bool take_file(Reader *r, const ToolRow *row, Value args) {
    Value path;
    bool some = false;
    if (!one_of(r, r->e->input, path_names, &path) || !file_items(r, row, &some)) return false;
    if (value_is_gone(path) && some) return true;
    if (!value_is_string(path)) return fail(r, "it is a file tool without a path");
    return add_file(r, row, args, value_str(path), some ? NULL : row->fields);
}

/* ---- patches ---- */

static bool add_patched(Reader *r, const char *tool, CallKind kind, Str path, Str patch) {
    Dict *d = dict_new(r->heap, 4, r->err);
    GuardCall c = { .tool = str_from(tool), .kind = kind };
    if (!d || !set_path(r, &c, path)) return false;
    c.args = value_from_object(d);
    if (!put_text(r, c.args, "path", c.path)) return false;
    if (kind == CALL_FILE_WRITE && !put_text(r, c.args, "content", patch)) return false;
    if (kind == CALL_FILE_EDIT && !put_text(r, c.args, "patch", patch)) return false;
    return add(r, c);
}

static Str added_text(Reader *r, Str lines) {
    Buf b = { 0 };
    Str line;
    while (str_next_line(&lines, &line)) {
        buf_add(&b, line.n && line.at[0] == '+' ? str_sub(line, 1, line.n) : line);
        buf_add_char(&b, '\n');
    }
    Str out = arena_str(r->arena, buf_str(&b));
    buf_clear(&b);
    return out;
}

static bool add_patch_file(Reader *r, const GuardPatchFile *f, Str patch) {
    if (f->kind == GUARD_PATCH_ADD) return add_patched(r, "write", CALL_FILE_WRITE, f->path, added_text(r, f->added));
    if (f->kind == GUARD_PATCH_DELETE) return add_patched(r, "delete", CALL_FILE_DELETE, f->path, patch);
    if (!f->to.n) return add_patched(r, "edit", CALL_FILE_EDIT, f->path, patch);
    return add_patched(r, "delete", CALL_FILE_DELETE, f->path, patch) && add_patched(r, "write", CALL_FILE_WRITE, f->to, patch);
}

static bool take_patch(Reader *r, const ToolRow *row) {
    static const char *const names[] = { "command", "input", "patch", "patchText", NULL };
    Value text;
    GuardPatch patch = { 0 };
    (void)row;
    if (!one_of(r, r->e->input, names, &text)) return false;
    if (!value_is_string(text)) return fail(r, "it has no patch");
    if (!guard_patch_read(value_str(text), r->arena, &patch, r->err)) return false;
    for (size_t i = 0; i < patch.n; i++)
        if (!add_patch_file(r, &patch.at[i], value_str(text))) return false;
    return true;
}

/* ---- commands ---- */

/* An argv as shell text. */
static bool quoted(Reader *r, Value list, Str *out) {
    Buf b = { 0 };
    bool ok = value_list(list)->n > 0;
    for (uint32_t i = 0; ok && i < value_list(list)->n; i++) {
        Value v = value_list(list)->at[i];
        ok = value_is_string(v);
        if (!ok) break;
        Str s = value_str(v);
        buf_add(&b, i ? STR(" '") : STR("'"));
        for (size_t k = 0; k < s.n; k++) {
            if (s.at[k] == '\'') buf_add(&b, STR("'\\''"));
            else buf_add_char(&b, s.at[k]);
        }
        buf_add_char(&b, '\'');
    }
    *out = arena_str(r->arena, buf_str(&b));
    buf_clear(&b);
    return ok || fail(r, "its command is not text");
}

static bool take_shell(Reader *r, const ToolRow *row, Value args) {
    static const char *const names[] = { "command", "cmd", "CommandLine", NULL };
    static const char *const folders[] = { "working_directory", "dir_path", "directory", "workdir", "cwd", "Cwd", NULL };
    Value command, folder;
    GuardCall c = { .tool = str_from(row->tool), .kind = CALL_SHELL, .args = args, .fields = row->fields, .cwd = r->cwd };
    if (!one_of(r, r->e->input, names, &command) || !one_of(r, r->e->input, folders, &folder)) return false;
    if (value_is_list(command)) {
        c.fields = NULL;
        if (!quoted(r, command, &c.command)) return false;
    } else if (value_is_string(command)) {
        c.command = value_str(command);
    } else {
        return fail(r, "it is a shell tool without a command");
    }
    if (has_nul(c.command)) return fail(r, "its command contains a NUL character");
    if (value_is_string(folder) && value_str(folder).n && !has_nul(value_str(folder))) c.cwd = guard_path_resolve(value_str(folder), r->cwd, r->arena);
    return put_text(r, args, "command", c.command) && add(r, c);
}

/* ---- searches, addresses ---- */

static bool take_search(Reader *r, const ToolRow *row, Value args) {
    static const char *const filters[] = { "glob", "include", "include_pattern", "includePattern", NULL };
    GuardCall c = { .tool = str_from(row->tool), .kind = CALL_SEARCH, .args = args, .fields = row->fields };
    Value path = value_member(args, "path"), filter;
    bool named = value_is_string(path) && value_str(path).n;
    if (!value_is_gone(path) && !value_is_none(path) && !value_is_string(path)) return fail(r, "its path is not text");
    if (!set_path(r, &c, named ? value_str(path) : r->cwd)) return false;
    if (named && !put_text(r, args, "path", c.path)) return false;
    if (str_eq(c.tool, STR("glob"))) filter = value_member(args, "pattern");
    else if (!one_of(r, args, filters, &filter)) return false;
    if (value_is_string(filter) && value_str(filter).n && !has_nul(value_str(filter)))
        c.filter = guard_path_resolve(value_str(filter), c.absolute, r->arena);
    return add(r, c);
}

static bool add_url(Reader *r, const ToolRow *row, Str url) {
    Dict *d = dict_new(r->heap, 4, r->err);
    return d && put_text(r, value_from_object(d), "url", url) &&
           add(r, (GuardCall){ .tool = str_from(row->tool), .kind = CALL_NET_FETCH, .args = value_from_object(d), .url = arena_str(r->arena, url) });
}

/* Finds URLs in a text: the argument of Gemini's web_fetch is a prompt. */
static bool add_urls_in(Reader *r, const ToolRow *row, Str text) {
    for (size_t i = 0; i < text.n;) {
        Str at = str_sub(text, i, text.n);
        if (!str_starts(at, STR("http://")) && !str_starts(at, STR("https://"))) {
            i++;
            continue;
        }
        size_t n = 0;
        while (n < at.n && (unsigned char)at.at[n] > 0x20 && !strchr("\"'<>()`", at.at[n])) n++;
        if (!add_url(r, row, str_sub(at, 0, n))) return false;
        i += n;
    }
    return true;
}

static bool take_fetch(Reader *r, const ToolRow *row, Value args) {
    Value url = value_member(args, "url"), urls = value_member(args, "urls"), prompt = value_member(args, "prompt");
    size_t before = r->calls.n;
    GuardCall one = { .tool = str_from(row->tool), .kind = CALL_NET_FETCH, .args = args, .fields = row->fields };
    if (value_is_string(url)) {
        one.url = value_str(url);
        return add(r, one);
    }
    for (uint32_t i = 0; value_is_list(urls) && i < value_list(urls)->n; i++) {
        if (!value_is_string(value_list(urls)->at[i])) return fail(r, "an address is not text");
        if (!add_url(r, row, value_str(value_list(urls)->at[i]))) return false;
    }
    if (r->calls.n == before && value_is_string(prompt) && !add_urls_in(r, row, value_str(prompt))) return false;
    return r->calls.n > before || add(r, (GuardCall){ .tool = str_from(row->tool), .kind = CALL_NET_FETCH, .args = args });
}

/* ---- servers ---- */

static bool add_mcp(Reader *r, Str server, Str tool, bool unknown) {
    Value args = r->e->input;
    Dict *empty = value_is_dict(args) ? NULL : dict_new(r->heap, 1, r->err);
    if (!value_is_dict(args)) {
        if (!empty) return false;
        args = value_from_object(empty);
    }
    bool any = server.n == 0;
    char *name = arena_fmt(r->arena, "mcp:" STR_FMT ":" STR_FMT, STR_ARG(any ? STR("?") : server), STR_ARG(tool));
    return add(r, (GuardCall){ .tool = str_from(name), .kind = CALL_MCP, .args = args, .fields = "", .unknown = unknown, .any_server = any });
}

/* Every way to read NAME as SERVER + `separator` + TOOL. If the agent names the server, there is one way. */
static bool add_readings(Reader *r, Str name, Str separator, bool unknown) {
    Str server = r->e->server;
    size_t n = 0;
    if (server.n && str_starts(name, server) && str_starts(str_sub(name, server.n, name.n), separator))
        return add_mcp(r, server, str_sub(name, server.n + separator.n, name.n), false);
    for (size_t i = 1; i + separator.n < name.n; i++) {
        if (!str_starts(str_sub(name, i, name.n), separator)) continue;
        if (++n > READINGS_MAX) return fail(r, "the name of its server is ambiguous");
        if (!add_mcp(r, str_sub(name, 0, i), str_sub(name, i + separator.n, name.n), unknown)) return false;
    }
    return n > 0 || (server.n ? add_mcp(r, server, name, unknown) : true);
}

/* Tools of MCP servers, as each vendor spells them. Adds nothing if the name is not one. */
static bool take_mcp(Reader *r) {
    const GuardEnvelope *e = r->e;
    Str name = e->tool;
    if (e->event == GUARD_EVENT_MCP) return add_mcp(r, e->server, str_starts(name, STR("MCP:")) ? str_sub(name, 4, name.n) : name, false);
    if (e->vendor == VENDOR_CURSOR) return !str_starts(name, STR("MCP:")) || name.n == 4 || add_mcp(r, e->server, str_sub(name, 4, name.n), false);
    if (str_starts(name, STR("mcp__"))) return add_readings(r, str_sub(name, 5, name.n), STR("__"), false);
    if (e->vendor == VENDOR_GEMINI || e->vendor == VENDOR_VSCODE)
        return !str_starts(name, STR("mcp_")) || add_readings(r, str_sub(name, 4, name.n), STR("_"), false);
    if (e->vendor == VENDOR_OPENCODE) return add_readings(r, name, STR("_"), true);
    return e->vendor != VENDOR_COPILOT || !e->camel || add_readings(r, name, STR("-"), true);
}

/* ---- all ---- */

static bool take_row(Reader *r, const ToolRow *row) {
    Value args;
    if (str_eq(str_from(row->tool), STR("apply_patch"))) return take_patch(r, row);
    if (!rename_all(r, row->fields, &args)) return false;
    switch (row->kind) {
    case CALL_SHELL: return take_shell(r, row, args);
    case CALL_FILE_READ: case CALL_FILE_WRITE: case CALL_FILE_EDIT: case CALL_FILE_DELETE: return take_file(r, row, args);
    case CALL_SEARCH: return take_search(r, row, args);
    case CALL_NET_FETCH: return take_fetch(r, row, args);
    default: return add(r, (GuardCall){ .tool = str_from(row->tool), .kind = row->kind, .args = args, .fields = row->fields });
    }
}

static bool take_unknown(Reader *r) {
    Value args;
    return rename_all(r, "", &args) && add(r, (GuardCall){ .tool = r->e->tool, .args = args, .fields = "", .unknown = true });
}

bool guard_calls(const GuardEnvelope *e, Str root, Heap *heap, Arena *arena, GuardCalls *out, Error *err) {
    Reader r = { .e = e, .root = root, .cwd = e->cwd.n && !has_nul(e->cwd) ? guard_path_resolve(e->cwd, root, arena) : root, .heap = heap, .arena = arena,
                 .err = err };
    const ToolRow *row = e->event == GUARD_EVENT_MCP ? NULL : find_row(e->vendor, e->tool);
    bool ok = row ? take_row(&r, row) : take_mcp(&r);
    if (ok && !r.calls.n) ok = take_unknown(&r);
    if (ok) {
        out->at = ARENA_ARRAY(arena, GuardCall, r.calls.n);
        memcpy(out->at, r.calls.at, r.calls.n * sizeof *out->at);
        out->n = r.calls.n;
    }
    VEC_CLEAR(&r.calls);
    return ok;
}

/* ---- changed by a hook ---- */

static bool put_back(Reader *r, const GuardCall *c, Dict *to, Str key, Value value) {
    Str theirs = renamed(c->fields, key, true);
    if (str_eq(key, STR("path")) && c->written.n && value_is_string(value)) {
        const char *const *name = path_names;
        while (*name && !dict_find_str(to, str_from(*name))) name++;
        if (*name) theirs = str_from(*name);
        if (str_eq(value_str(value), c->path)) return true;             /* not changed by the hook: keep the agent's value */
        return dict_put_text(r->heap, to, arena_str(r->arena, theirs).at, guard_path_resolve(value_str(value), r->root, r->arena), r->err);
    }
    return dict_put_str(r->heap, to, theirs, value, r->err);
}

bool guard_calls_input(const GuardEnvelope *e, const GuardCall *c, Value now, Str root, Heap *heap, Value *out, Error *err) {
    Arena arena = { 0 };
    Reader r = { .e = e, .root = root, .heap = heap, .arena = &arena, .err = err };
    Value copy = VALUE_GONE;
    Entry *en;
    bool ok = (c->fields && value_is_dict(now) && value_is_dict(e->input)) || fail(&r, "a hook changed it, and the change cannot be expressed");
    ok = ok && value_copy_all_into(heap, e->input, &copy, err);
    for (uint32_t i = 0; ok && dict_next(value_dict(c->args), &i, &en);)
        if (!dict_find_str(value_dict(now), value_str(en->key))) ok = fail(&r, "a hook removed an argument, which the agent does not support");
    for (uint32_t i = 0; ok && dict_next(value_dict(now), &i, &en);)
        ok = put_back(&r, c, value_dict(copy), value_str(en->key), en->value);
    if (ok) *out = copy;
    arena_clear(&arena);
    return ok;
}
