/* @path and !cmd: what the user adds to the next message, through the same pipeline as the agent's calls. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/mem.h"
#include "cli/terminal/talk_private.h"
#include "sandbox/jail.h"
#include "tool/runtime.h"
#include "value/json.h"

enum { ATTACHED_MAX = 20, SHOWN_MAX = 64 << 10 };

static Runtime *runtime_of(const Talk *t) { return run_runtime(session_run(t->session)); }

static void note(const Talk *t, SayLevel level, Str path, const char *what) {
    Buf line = { 0 };
    buf_add_fmt(&line, "@" STR_FMT ": %s", STR_ARG(path), what);
    cli_say(t->cli, level, buf_str(&line));
    buf_clear(&line);
}

/* ---- @path in a text ---- */

static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

/* Reads the path after the "@" at text.at[*i]: a word in which \ keeps the next character, or "quoted" or 'quoted'. *i: the end.
 * False: no path follows, or a quote is not closed. */
static bool read_path(Str text, size_t *i, Buf *path) {
    size_t at = *i + 1;
    char quote = at < text.n && (text.at[at] == '"' || text.at[at] == '\'') ? text.at[at++] : 0;
    buf_reset(path);
    while (at < text.n && (quote ? text.at[at] != quote : !is_space(text.at[at]))) {
        if (!quote && text.at[at] == '\\' && at + 1 < text.n) at++;
        buf_add_char(path, text.at[at++]);
    }
    bool closed = !quote || at < text.n;
    *i = at + (quote && closed);
    return closed && path->n > 0;
}

/* An "@" starts a path only at the start of a word: mail addresses are text. */
static bool starts_path(Str text, size_t i) { return text.at[i] == '@' && (i == 0 || is_space(text.at[i - 1]) || strchr("([{\"'", text.at[i - 1])); }

typedef enum { PATH_MISSING, PATH_FOLDER, PATH_THERE } PathKind;      /* PATH_THERE: a file, or a path that may not be examined: the tool read reports why */

static PathKind kind_of(const Talk *t, Str path) {
    JailStat st = { 0 };
    Error err = { 0 };
    bool exists = false;
    const Jail *jail = runtime_jail(runtime_of(t));
    if (jail_exists(jail, path, &exists, &err) && !exists) return PATH_MISSING;
    return !err.kind && jail_stat(jail, path, &st, &err) && st.type == 'd' ? PATH_FOLDER : PATH_THERE;
}

/* Punctuation after a path belongs to the sentence: "(see @README)." */
static void trim_punctuation(const Talk *t, Buf *path) {
    size_t n = path->n;
    if (kind_of(t, buf_str(path)) != PATH_MISSING) return;
    while (n > 1 && strchr(".,;:!?)]}'\"", path->at[n - 1])) {
        n--;
        if (kind_of(t, (Str){ path->at, n }) == PATH_MISSING) continue;
        path->n = n;
        path->at[n] = 0;
        return;
    }
}

static bool own_read(const Talk *t) {
    const ToolEntry *e = registry_find(runtime_registry(runtime_of(t)), STR("read"), NULL, 0);
    return e && e->def.kind == TOOL_BUILTIN;
}

static bool attach_result(const Talk *t, Str path, const Result *r, Error *err) {
    char what[1200];
    if (r->is_error) {
        snprintf(what, sizeof what, "not attached: " STR_FMT, STR_ARG(str_sub(r->error, 0, 1000)));
        return note(t, SAY_WARNING, path, what), true;
    }
    Buf text = { 0 };
    buf_add_fmt(&text, "[file " STR_FMT ", attached by the user]\n" STR_FMT, STR_ARG(path), STR_ARG(r->text));
    session_add_text(t->session, buf_str(&text));
    buf_clear(&text);
    note(t, SAY_HINT, path, r->artifact.n ? "attached; it is long, so the agent gets its beginning and end" : "attached");
    return session_add_media(t->session, r, err);
}

static bool attach(const Talk *t, Str path, Error *err) {
    if (!own_read(t)) return note(t, SAY_WARNING, path, "not attached: the tool read of this project is not the built-in one"), true;
    Buf args = { 0 };
    Result r = { 0 };
    Busy busy;
    buf_add(&args, STR("{\"path\":"));
    json_write_string(&args, path, false);
    buf_add_char(&args, '}');
    talk_busy(t, &busy, STR("read"));
    bool ok = session_call(t->session, STR("read"), buf_str(&args), busy.cancel, &r, err);
    talk_ready(t, &busy);
    if (ok) ok = attach_result(t, path, &r, err);
    result_clear(&r);
    buf_clear(&args);
    return ok;
}

static bool attach_one(const Talk *t, Str path, size_t done, Error *err) {
    if (done >= ATTACHED_MAX) return note(t, SAY_WARNING, path, "not attached: a message takes at most 20 files"), true;
    switch (kind_of(t, path)) {
    case PATH_MISSING: note(t, SAY_WARNING, path, "no such file in the workspace; sent as text"); return true;
    case PATH_FOLDER: note(t, SAY_WARNING, path, "a folder; sent as text (name a file)"); return true;
    case PATH_THERE: break;
    }
    return attach(t, path, err);
}

bool talk_attach(const Talk *t, Str text, Error *err) {
    VEC(char *) done = { 0 };
    Buf path = { 0 };
    bool ok = true;
    for (size_t i = 0; ok && i < text.n;) {
        if (!starts_path(text, i)) {
            i++;
            continue;
        }
        if (!read_path(text, &i, &path)) continue;
        trim_punctuation(t, &path);
        size_t k = 0;
        while (k < done.n && strcmp(done.at[k], path.at) != 0) k++;
        if (k < done.n) continue;
        ok = attach_one(t, buf_str(&path), done.n, err);
        VEC_PUSH(&done, str_dup(buf_str(&path)));
    }
    for (size_t i = 0; i < done.n; i++) free(done.at[i]);
    VEC_CLEAR(&done);
    buf_clear(&path);
    return ok;
}

/* ---- !cmd ---- */

static void show_text(Buf *out, Str text) {
    Str part = str_sub(text, 0, SHOWN_MAX);
    cli_escape_all(out, part, true);
    if (part.n && part.at[part.n - 1] != '\n') buf_add_char(out, '\n');
    if (part.n < text.n) buf_add_fmt(out, "(%zu more bytes are not shown)\n", text.n - part.n);
}

static void show_output(const Talk *t, const Result *r) {
    Buf out = { 0 };
    Value code = value_member(r->value, "exit_code");
    if (value_is_gone(code)) {
        Error err = { 0 };
        error_set(&err, ERR_POLICY, STR_FMT, STR_ARG(str_sub(r->error.n ? r->error : r->text, 0, 1000)));
        talk_fail(t, &err);
        return;
    }
    show_text(&out, value_member_text(r->value, "stdout"));
    show_text(&out, value_member_text(r->value, "stderr"));
    if (value_is_small(code) && value_small(code) != 0) buf_add_fmt(&out, "exit status %lld\n", (long long)value_small(code));
    (void)cli_write(STDERR_FILENO, buf_str(&out), true);
    buf_clear(&out);
}

static bool has_bash(const Talk *t, Error *err) {
    const ToolEntry *e = registry_find(runtime_registry(runtime_of(t)), STR("bash"), NULL, 0);
    if (e && e->def.kind == TOOL_BUILTIN) return true;
    error_set(err, ERR_POLICY, "!command needs the built-in tool bash, which this project does not have");
    return error_hint(err, "builtin_tools: [bash] in harness.md enables it, for the agent too");
}

bool talk_shell(const Talk *t, Str command, Error *err) {
    Error why = { 0 };
    Buf args = { 0 }, text = { 0 };
    Result r = { 0 };
    Busy busy;
    if (command.n == 0) return error_set(&why, ERR_VALIDATION, "! needs a command: !ls"), talk_fail(t, &why), true;
    if (!has_bash(t, &why)) return talk_fail(t, &why), true;
    buf_add(&args, STR("{\"command\":"));
    json_write_string(&args, command, false);
    buf_add_char(&args, '}');
    talk_busy(t, &busy, STR("bash"));
    bool ok = session_call(t->session, STR("bash"), buf_str(&args), busy.cancel, &r, err);
    talk_ready(t, &busy);
    if (ok) show_output(t, &r);
    if (ok && r.refusal == RESULT_NOT_REFUSED) {
        buf_add_fmt(&text, "[the user ran a command]\n$ " STR_FMT "\n" STR_FMT, STR_ARG(command), STR_ARG(r.text));
        session_add_text(t->session, buf_str(&text));
    }
    result_clear(&r);
    buf_clear(&args);
    buf_clear(&text);
    return ok;
}

/* ---- completion ---- */

/* The start of the last @path of a line; -1: none. */
static ptrdiff_t last_path(Str line, char *quote) {
    for (size_t i = line.n; i-- > 0;) {
        if (!starts_path(line, i)) continue;
        size_t from = i + 1;
        *quote = from < line.n && (line.at[from] == '"' || line.at[from] == '\'') ? line.at[from++] : 0;
        for (size_t k = from; k < line.n; k++) {
            if (*quote ? line.at[k] == *quote : is_space(line.at[k]) && line.at[k - 1] != '\\') return -1;
        }
        return (ptrdiff_t)i;
    }
    return -1;
}

static void add_name(Buf *out, Str name, char quote) {
    for (size_t i = 0; i < name.n; i++) {
        if (!quote && (is_space(name.at[i]) || name.at[i] == '\\')) buf_add_char(out, '\\');
        buf_add_char(out, name.at[i]);
    }
}

static bool plain_name(Str name) {
    for (size_t i = 0; i < name.n; i++)
        if ((unsigned char)name.at[i] < ' ' || name.at[i] == 127) return false;
    return true;
}

bool talk_complete_path(const Talk *t, Str before, LineWords *words, size_t *typed) {
    char quote = 0;
    ptrdiff_t at = last_path(before, &quote);
    if (at < 0) return false;
    Str token = str_sub(before, (size_t)at, before.n), folder = STR("."), shown = STR("");
    Buf path = { 0 };
    Arena arena = { 0 };
    JailEntry *entries = NULL;
    size_t n = 0, start = quote ? 2 : 1;
    for (size_t i = start; i < token.n; i++) {
        if (!quote && token.at[i] == '\\' && i + 1 < token.n) i++;
        buf_add_char(&path, token.at[i]);
        if (token.at[i] == '/') shown = str_sub(token, start, i + 1);
    }
    Str whole = buf_str(&path), name = whole;
    for (size_t i = whole.n; i-- > 0;) {
        if (whole.at[i] != '/') continue;
        folder = i ? str_sub(whole, 0, i) : STR("/");
        name = str_sub(whole, i + 1, whole.n);
        break;
    }
    *typed = token.n;
    if (!jail_list(runtime_jail(runtime_of(t)), folder, &arena, &entries, &n, &(Error){ 0 })) n = 0;
    for (size_t i = 0; i < n; i++) {
        Str found = entries[i].name;
        if (!str_starts(found, name) || (found.at[0] == '.' && name.n == 0) || !plain_name(found)) continue;
        Buf word = { 0 };
        buf_add(&word, str_sub(token, 0, start));
        buf_add(&word, shown);
        add_name(&word, found, quote);
        if (entries[i].stat.type == 'd') buf_add_char(&word, '/');
        else if (quote) buf_add_char(&word, quote);
        VEC_PUSH(words, buf_take(&word));
    }
    arena_clear(&arena);
    buf_clear(&path);
    return true;
}
