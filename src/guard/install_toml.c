/* Hooks in TOML: a marked block at the end of the file. TOML allows tables in any order, so the rest of the file needs no parsing; only an
 * inline `hooks = […]` would conflict with the block. */
#include "guard/guard.h"
#include "guard/install.h"
#include "value/json.h"

#define BEGIN "# harness guard: begin"
#define END "# harness guard: end"

static bool line_is(Str line, Str mark) { return str_starts(line, mark) && (line.n == mark.n || line.at[mark.n] == ' '); }

/* The lines of the block, and the empty line before it that install added. False: no block; with an error: it has no end. */
static bool find_block(Str text, size_t *from, size_t *to, Error *err) {
    bool found = false;
    size_t at = 0;
    for (Str rest = text, line; str_next_line(&rest, &line); at = (size_t)(rest.at - text.at)) {
        if (!found && line_is(line, STR(BEGIN))) found = true, *from = at;
        if (!found || !line_is(line, STR(END))) continue;
        *to = (size_t)(rest.at - text.at);
        return true;
    }
    if (found) error_set(err, ERR_PARSE, "the block that starts with \"%s\" has no line \"%s\" (remove it by hand)", BEGIN, END);
    return false;
}

bool guard_toml_has(Str text) {
    size_t from, to;
    Error ignored = { 0 };
    return find_block(text, &from, &to, &ignored);
}

bool guard_toml_uninstall(Str before, Buf *after, Error *err) {
    size_t from = 0, to = 0;
    Error why = { 0 };
    if (!find_block(before, &from, &to, &why)) {
        if (why.kind != ERR_NONE) *err = why;
        else buf_add(after, before);
        return why.kind == ERR_NONE;
    }
    if (from >= 2 && before.at[from - 1] == '\n' && before.at[from - 2] == '\n') from--;
    buf_add(after, str_sub(before, 0, from));
    buf_add(after, str_sub(before, to, before.n));
    return true;
}

static bool has_inline_hooks(Str text) {
    for (Str line; str_next_line(&text, &line);) {
        Str t = str_trim(line);
        if (!str_starts(t, STR("hooks"))) continue;
        t = str_trim(str_sub(t, 5, t.n));
        if (t.n && t.at[0] == '=') return true;
    }
    return false;
}

/* A JSON string without \/ and \u surrogates is also a basic string of TOML. */
static void add_pair(Buf *out, const char *key, Str value) {
    buf_add_fmt(out, "%s = ", key);
    json_write_string(out, value, false);
    buf_add_char(out, '\n');
}

static void add_event(const GuardInstall *g, Str event, Str command, Buf *out) {
    const GuardVendor *v = guard_vendor(g->vendor);
    int timeout = 30 * 1000 / v->timeout_ms;
    if (v->format == GUARD_FORMAT_KIMI) {
        buf_add(out, STR("[[hooks]]\n"));
        add_pair(out, "event", event);
        add_pair(out, "command", command);
    } else {
        buf_add_fmt(out, "[[hooks." STR_FMT "]]\n[[hooks." STR_FMT ".hooks]]\n", STR_ARG(event), STR_ARG(event));
        add_pair(out, "type", STR("command"));
        add_pair(out, "command", command);
    }
    buf_add_fmt(out, "timeout = %d\n", timeout);
}

bool guard_toml_install(const GuardInstall *g, Str before, Buf *after, Error *err) {
    Buf rest = { 0 }, command = { 0 };
    Str events = str_from(guard_vendor(g->vendor)->install), event;
    bool ok = guard_toml_uninstall(before, &rest, err);
    if (ok && has_inline_hooks(buf_str(&rest)))
        ok = error_set(err, ERR_VALIDATION, "its hooks are written as hooks = […] (write them as [[hooks]] tables first)");
    if (ok) {
        guard_install_command(g, &command);
        buf_add(after, buf_str(&rest));
        if (after->n && after->at[after->n - 1] != '\n') buf_add_char(after, '\n');
        if (after->n) buf_add_char(after, '\n');
        buf_add_fmt(after, BEGIN " (harness guard uninstall %s removes this block)\n", vendor_name(g->vendor));
        while (guard_install_next_event(&events, &event)) add_event(g, event, buf_str(&command), after);
        buf_add(after, STR(END "\n"));
    }
    buf_clear(&rest);
    buf_clear(&command);
    return ok;
}
