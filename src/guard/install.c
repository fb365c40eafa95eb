#include "guard/install.h"
#include <stdio.h>
#include <string.h>
#include "base/arena.h"
#include "guard/guard.h"
#include "guard/jsonc.h"
#include "value/json.h"

enum { TIMEOUT_S = 30, REMOVALS_MAX = 1000 };

/* ---- the entry ---- */

bool guard_install_path(const GuardInstall *g, char out[PATH_MAX], Error *err) {
    const GuardVendor *v = guard_vendor(g->vendor);
    static const char *const names[] = { "in a project", "for a user", "for the whole machine" };
    const char *file = g->scope == GUARD_SCOPE_PROJECT ? v->project : g->scope == GUARD_SCOPE_USER ? v->user : v->managed;
    const char *base = g->scope == GUARD_SCOPE_PROJECT ? g->project : g->scope == GUARD_SCOPE_USER ? g->home : "";
    if (!*file) return error_set(err, ERR_VALIDATION, "%s has no file for hooks %s", vendor_title(g->vendor), names[g->scope]);
    int n = snprintf(out, PATH_MAX, "%s%s%s", base, *base ? "/" : "", file);
    return (n > 0 && n < PATH_MAX) || error_set(err, ERR_VALIDATION, "the path of %s is too long", file);
}

static bool is_plain(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || strchr("_-./+,:@%=", c) != NULL;
}

static void add_quoted(Buf *out, Str word) {
    bool plain = word.n > 0;
    for (size_t i = 0; i < word.n; i++) plain = plain && is_plain(word.at[i]);
    if (plain) {
        buf_add(out, word);
        return;
    }
    buf_add_char(out, '\'');
    for (size_t i = 0; i < word.n; i++)
        if (word.at[i] == '\'') buf_add(out, STR("'\\''"));
        else buf_add_char(out, word.at[i]);
    buf_add_char(out, '\'');
}

void guard_install_command(const GuardInstall *g, Buf *out) {
    add_quoted(out, str_from(g->program));
    buf_add_fmt(out, " guard %s", vendor_name(g->vendor));
    if (g->scope != GUARD_SCOPE_PROJECT) return;
    buf_add(out, STR(" --project "));
    add_quoted(out, str_from(g->project));
}

bool guard_install_next_event(Str *rest, Str *event) {
    *rest = str_trim(*rest);
    ptrdiff_t n = str_find_char(*rest, ' ');
    *event = n < 0 ? *rest : str_sub(*rest, 0, (size_t)n);
    *rest = str_sub(*rest, event->n, rest->n);
    return event->n > 0;
}

bool guard_install_is_command(Vendor vendor, Str command) {
    char mark[64];
    int n = snprintf(mark, sizeof mark, " guard %s", vendor_name(vendor));
    ptrdiff_t at = str_find(command, (Str){ mark, (size_t)n });
    if (at < 0) return false;
    Str after = str_sub(command, (size_t)at + (size_t)n, command.n), program = str_sub(command, 0, (size_t)at);
    if (after.n && after.at[0] != ' ') return false;
    if (program.n && program.at[program.n - 1] == '\'') program.n--;
    for (ptrdiff_t slash; (slash = str_find_char(program, '/')) >= 0;) program = str_sub(program, (size_t)slash + 1, program.n);
    return str_starts(program, STR("harness"));
}

static void add_member(Buf *out, const char *key, Str value) {
    json_write_string(out, str_from(key), false);
    buf_add(out, STR(": "));
    json_write_string(out, value, false);
}

/* {"type": "command", …}: what the agent runs. */
static void add_handler(const GuardInstall *g, const GuardVendor *v, Buf *out) {
    Buf command = { 0 };
    guard_install_command(g, &command);
    buf_add(out, v->format == GUARD_FORMAT_CURSOR ? STR("{ ") : STR("{ \"type\": \"command\", "));
    add_member(out, v->format == GUARD_FORMAT_COPILOT ? "bash" : "command", buf_str(&command));
    buf_add_fmt(out, ", \"%s\": %d", v->timeout_key, TIMEOUT_S * 1000 / v->timeout_ms);
    if (*v->closed) buf_add_fmt(out, ", %s", v->closed);
    buf_add(out, STR(" }"));
    buf_clear(&command);
}

/* Agents with Claude's format have a list of groups, each with a list of handlers; the others one list of handlers. */
static bool is_grouped(const GuardInstall *g) { return guard_vendor(g->vendor)->format == GUARD_FORMAT_CLAUDE && g->vendor != VENDOR_VSCODE; }

static void add_entry(const GuardInstall *g, Buf *out) {
    if (is_grouped(g)) buf_add(out, STR("{ \"hooks\": ["));
    add_handler(g, guard_vendor(g->vendor), out);
    if (is_grouped(g)) buf_add(out, STR("] }"));
}

/* ---- finding entries ---- */

typedef struct Handler { const JsoncNode *in, *at; Str command; } Handler;   /* a handler of ours, and the list that holds it */

static bool is_ours(Vendor vendor, Str text, const JsoncNode *handler, Arena *arena, Str *command) {
    static const char *const keys[] = { "command", "bash", "exec" };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        Str s = jsonc_string(text, jsonc_member(handler, str_from(keys[i])), arena);
        const JsoncNode *args = jsonc_member(handler, STR("args"));
        Buf whole = { 0 };
        buf_add(&whole, s);
        for (const JsoncNode *a = args && args->kind == JSONC_ARRAY ? args->first : NULL; a; a = a->next) {
            buf_add_char(&whole, ' ');
            add_quoted(&whole, jsonc_string(text, a, arena));
        }
        *command = arena_str(arena, buf_str(&whole));
        buf_clear(&whole);
        if (guard_install_is_command(vendor, *command)) return true;
    }
    return false;
}

/* The nth handler of ours below `hooks`. */
static bool find_handler(Vendor vendor, Str text, const JsoncNode *list, Arena *arena, size_t *skip, Handler *out) {
    for (const JsoncNode *n = list && list->kind == JSONC_ARRAY ? list->first : NULL; n; n = n->next) {
        Str command;
        if (is_ours(vendor, text, n, arena, &command)) {
            if (*skip == 0) {
                *out = (Handler){ list, n, command };
                return true;
            }
            --*skip;
        } else if (find_handler(vendor, text, jsonc_member(n, STR("hooks")), arena, skip, out)) return true;
    }
    return false;
}

static bool find_ours(Vendor vendor, Str text, const JsoncNode *hooks, Arena *arena, size_t nth, Handler *out) {
    for (const JsoncNode *event = hooks && hooks->kind == JSONC_OBJECT ? hooks->first : NULL; event; event = event->next)
        if (find_handler(vendor, text, event, arena, &nth, out)) return true;
    return false;
}

/* ---- editing ---- */

typedef struct Edit { const GuardInstall *g; Arena arena; Buf text, next; Error *err; } Edit;

static bool read_root(Edit *e, const JsoncNode **root) {
    if (!jsonc_read(buf_str(&e->text), &e->arena, root, e->err)) return false;
    return !*root || (*root)->kind == JSONC_OBJECT || error_set(e->err, ERR_PARSE, "it does not contain an object");
}

static bool read_hooks(Edit *e, const JsoncNode **root, const JsoncNode **hooks) {
    if (!read_root(e, root)) return false;
    *hooks = jsonc_member(*root, STR("hooks"));
    return !*hooks || (*hooks)->kind == JSONC_OBJECT || error_set(e->err, ERR_PARSE, "its \"hooks\" is not an object");
}

static void take_next(Edit *e) {
    Buf old = e->text;
    e->text = e->next;
    e->next = old;
    buf_reset(&e->next);
    arena_reset(&e->arena);
}

static void put(Edit *e, const JsoncNode *to, Str key, Str value) {
    jsonc_add(buf_str(&e->text), to, key, value, &e->next);
    take_next(e);
}

static void take_out(Edit *e, const JsoncNode *from, const JsoncNode *n) {
    jsonc_remove(buf_str(&e->text), from, n, &e->next);
    take_next(e);
}

/* Removes one empty list or object that a removed handler left behind. `of` is the value that contains it. */
static bool drop_empty(Edit *e, const JsoncNode *of, const JsoncNode *hooks) {
    for (const JsoncNode *event = hooks ? hooks->first : NULL; event; event = event->next) {
        for (const JsoncNode *group = event->kind == JSONC_ARRAY ? event->first : NULL; group; group = group->next) {
            const JsoncNode *list = jsonc_member(group, STR("hooks"));
            if (!list || list->kind != JSONC_ARRAY || list->first) continue;
            take_out(e, event, group);
            return true;
        }
        if (event->kind != JSONC_ARRAY || event->first) continue;
        take_out(e, hooks, event);
        return true;
    }
    if (!hooks || hooks->first) return false;
    take_out(e, of, hooks);
    return true;
}

static bool remove_ours(Edit *e) {
    const JsoncNode *root, *hooks;
    Handler p;
    bool removed = false;
    for (int i = 0; i < REMOVALS_MAX; i++) {
        if (!read_hooks(e, &root, &hooks)) return false;
        if (find_ours(e->g->vendor, buf_str(&e->text), hooks, &e->arena, 0, &p)) take_out(e, p.in, p.at), removed = true;
        else if (!removed || !drop_empty(e, root, hooks)) return true;
    }
    return error_set(e->err, ERR_LIMIT, "it has too many entries");
}

static bool add_event(Edit *e, Str event) {
    const JsoncNode *root, *hooks;
    Buf entry = { 0 };
    if (!read_hooks(e, &root, &hooks)) return false;
    if (!hooks) {
        put(e, root, STR("hooks"), STR("{}"));
        if (!read_hooks(e, &root, &hooks)) return false;
    }
    const JsoncNode *list = jsonc_member(hooks, event);
    if (list && list->kind != JSONC_ARRAY) return error_set(e->err, ERR_PARSE, "its hooks." STR_FMT " is not a list", STR_ARG(event));
    if (!list) {
        put(e, hooks, event, STR("[]"));
        if (!read_hooks(e, &root, &hooks)) return false;
        list = jsonc_member(hooks, event);
    }
    add_entry(e->g, &entry);
    put(e, list, STR(""), buf_str(&entry));
    buf_clear(&entry);
    return true;
}

static bool needs_version(const GuardInstall *g) {
    GuardFormat f = guard_vendor(g->vendor)->format;
    return f == GUARD_FORMAT_CURSOR || f == GUARD_FORMAT_COPILOT;
}

static bool add_ours(Edit *e) {
    const JsoncNode *root;
    Str events = str_from(guard_vendor(e->g->vendor)->install), event;
    if (!read_root(e, &root)) return false;
    if (!root) {
        buf_add(&e->text, STR("{}\n"));
        if (!read_root(e, &root)) return false;
    }
    if (needs_version(e->g) && !jsonc_member(root, STR("version"))) put(e, root, STR("version"), STR("1"));
    while (guard_install_next_event(&events, &event))
        if (!add_event(e, event)) return false;
    return true;
}

static void edit_end(Edit *e, bool ok, Buf *after) {
    if (ok) buf_add(after, buf_str(&e->text));
    buf_clear(&e->text);
    buf_clear(&e->next);
    arena_clear(&e->arena);
}

/* ---- what is there ---- */

static bool is_toml(const GuardInstall *g) {
    return guard_vendor(g->vendor)->format == GUARD_FORMAT_KIMI || (g->vendor == VENDOR_CODEX && g->scope == GUARD_SCOPE_MANAGED);
}

static bool is_plugin(const GuardInstall *g) { return guard_vendor(g->vendor)->format == GUARD_FORMAT_PLUGIN; }

/* Without white space and comments outside of strings. */
static void squeeze(Str text, Buf *out) {
    bool in_string = false;
    for (size_t i = 0; i < text.n; i++) {
        char c = text.at[i];
        if (!in_string && (c == ' ' || c == '\t' || c == '\n' || c == '\r')) continue;
        buf_add_char(out, c);
        if (in_string && c == '\\' && i + 1 < text.n) buf_add_char(out, text.at[++i]);
        else if (c == '"') in_string = !in_string;
    }
}

static bool same_json(Str a, Str b) {
    Buf x = { 0 }, y = { 0 };
    squeeze(a, &x);
    squeeze(b, &y);
    bool same = str_eq(buf_str(&x), buf_str(&y));
    buf_clear(&x);
    buf_clear(&y);
    return same;
}

/* True if the list of an event holds our entry as add_entry writes it. */
static bool has_entry(const GuardInstall *g, Str text, const JsoncNode *list) {
    Buf want = { 0 };
    bool found = false;
    add_entry(g, &want);
    for (const JsoncNode *n = list && list->kind == JSONC_ARRAY ? list->first : NULL; n && !found; n = n->next)
        found = same_json(str_sub(text, n->from, n->to), buf_str(&want));
    buf_clear(&want);
    return found;
}

static void look_json(const GuardInstall *g, Str text, GuardInstalled *out) {
    Edit e = { .g = g, .err = &out->problem };
    const JsoncNode *root = NULL, *hooks = NULL;
    Handler p;
    Str events = str_from(guard_vendor(g->vendor)->install), event;
    size_t n = 0, same = 0;
    buf_add(&e.text, text);
    out->parsed = read_hooks(&e, &root, &hooks);
    while (out->parsed && find_ours(g->vendor, text, hooks, &e.arena, out->found, &p)) {
        if (out->found++ == 0) buf_add(&out->command, p.command);
    }
    while (out->parsed && guard_install_next_event(&events, &event)) {
        size_t skip = 0;
        const JsoncNode *list = jsonc_member(hooks, event);
        n++;
        out->missing += !find_handler(g->vendor, text, list, &e.arena, &skip, &p);
        same += has_entry(g, text, list);
    }
    const JsoncNode *off = out->parsed ? jsonc_member(root, STR("disableAllHooks")) : NULL;
    out->disabled = off && str_eq(str_sub(text, off->from, off->to), STR("true"));
    out->current = out->parsed && same == n && out->found == n && (!needs_version(g) || jsonc_member(root, STR("version")));
    edit_end(&e, false, NULL);
}

/* For files that are rewritten as a whole: computes the text that install would write now. */
static void look_text(const GuardInstall *g, Str text, bool ours, GuardInstalled *out) {
    Buf now = { 0 };
    out->parsed = true;
    out->found = ours;
    out->missing = !ours;
    out->current = ours && guard_install_text(g, text, &now, &out->problem) && str_eq(text, buf_str(&now));
    if (ours) guard_install_command(g, &out->command);
    buf_clear(&now);
}

void guard_installed_read(const GuardInstall *g, Str text, GuardInstalled *out) {
    *out = (GuardInstalled){ 0 };
    if (is_plugin(g)) look_text(g, text, guard_plugin_is_ours(text), out);
    else if (is_toml(g)) look_text(g, text, guard_toml_has(text), out);
    else look_json(g, text, out);
}

void guard_installed_clear(GuardInstalled *i) { buf_clear(&i->command); }

/* ---- public ---- */

bool guard_install_text(const GuardInstall *g, Str before, Buf *after, Error *err) {
    if (is_toml(g)) return guard_toml_install(g, before, after, err);
    if (is_plugin(g)) {
        if (before.n && !guard_plugin_is_ours(before)) return error_set(err, ERR_VALIDATION, "it is another plugin (rename it, or remove it)");
        guard_plugin_text(g, after);
        return true;
    }
    GuardInstalled now;
    guard_installed_read(g, before, &now);
    bool done = now.parsed && now.current;
    guard_installed_clear(&now);
    Edit e = { .g = g, .err = err };
    buf_add(&e.text, before);
    bool ok = done || (remove_ours(&e) && add_ours(&e));
    edit_end(&e, ok, after);
    return ok;
}

bool guard_uninstall_text(const GuardInstall *g, Str before, Buf *after, Error *err) {
    if (is_toml(g)) return guard_toml_uninstall(before, after, err);
    if (is_plugin(g)) {
        if (!guard_plugin_is_ours(before)) buf_add(after, before);
        return true;
    }
    Edit e = { .g = g, .err = err };
    const JsoncNode *root;
    buf_add(&e.text, before);
    bool ok = remove_ours(&e) && read_root(&e, &root);
    bool alone = ok && needs_version(g) && root && root->first && !root->first->next && str_eq(root->first->key, STR("version"));
    if (alone) take_out(&e, root, root->first);
    bool empty = ok && !str_eq(buf_str(&e.text), before) && same_json(buf_str(&e.text), STR("{}"));
    edit_end(&e, ok && !empty, after);
    return ok;
}
