#include "guard/kept.h"
#include <stdio.h>
#include "base/sha256.h"
#include "policy/credentials.h"
#include "value/json.h"
#include "value/list.h"

/* What envelope.c reads of a call: how the vendor is recognised, the call, and Cursor's events that have the arguments as top-level members. What an
 * agent sends beside that (the user's address, its last message) is not stored. */
static const Str kept_names[] = {
    STR("hook_event_name"), STR("hookEventName"), STR("session_id"), STR("sessionId"), STR("conversation_id"), STR("sessionID"),
    STR("tool_use_id"), STR("tool_call_id"), STR("callID"), STR("toolCallId"), STR("cursor_version"), STR("turn_id"), STR("model"),
    STR("transcript_path"), STR("timestamp"), STR("client_type"), STR("permission_mode"), STR("cwd"), STR("workspace_roots"),
    STR("tool_name"), STR("toolName"), STR("tool"), STR("mcp_server_name"), STR("mcp_server"), STR("mcp_context"),
    STR("command"), STR("file_path"), STR("subagent_type"), STR("task"),
};
static const Str input_names[] = { STR("tool_input"), STR("toolArgs"), STR("args") };
#define COUNT(a) (sizeof(a) / sizeof *(a))

/* ---- writing JSON with other texts ---- */

typedef struct Writer Writer;
struct Writer {
    Buf *out;
    void (*text)(const Writer *w, Str s);
    bool (*hides)(Str name, Value v);    /* true if `v`, the value of a member or of an option in a list, is a credential; NULL: none is */
    Str root;                            /* portable: of the project */
    size_t depth;                        /* portable: folders from the root to the folder of the call */
};

static void write_value(const Writer *w, Value v);

static void write_member(const Writer *w, Str key, Value v, bool *first) {
    if (!*first) buf_add_char(w->out, ',');
    *first = false;
    json_write_string(w->out, key, false);
    buf_add_char(w->out, ':');
    if (w->hides && w->hides(key, v)) buf_add(w->out, STR("\"[redacted]\""));
    else write_value(w, v);
}

/* ["--token", "VALUE"] */
static bool follows_option(const Writer *w, const List *list, uint32_t i) {
    if (!w->hides || i == 0 || !value_is_string(list->at[i - 1])) return false;
    Str name = value_str(list->at[i - 1]);
    return str_starts(name, STR("-")) && w->hides(name, list->at[i]);
}

static void write_value(const Writer *w, Value v) {
    bool first = true;
    Entry *e;
    if (value_is_string(v)) return w->text(w, value_str(v));
    if (value_is_list(v)) {
        buf_add_char(w->out, '[');
        for (uint32_t i = 0; i < value_list(v)->n; i++) {
            if (i) buf_add_char(w->out, ',');
            if (follows_option(w, value_list(v), i)) buf_add(w->out, STR("\"[redacted]\""));
            else write_value(w, value_list(v)->at[i]);
        }
        buf_add_char(w->out, ']');
    } else if (value_is_dict(v)) {
        buf_add_char(w->out, '{');
        for (uint32_t i = 0; dict_next(value_dict(v), &i, &e);) write_member(w, value_str(e->key), e->value, &first);
        buf_add_char(w->out, '}');
    } else if (!json_write(w->out, v, &(JsonWrite){ 0 }, NULL)) {
        buf_add(w->out, STR("null"));
    }
}

/* ---- storing ---- */

static bool is_credential(Str name, Value v) {
    return value_is_string(v) && value_str(v).n && credentials_name(name) && str_find(value_str(v), STR("${")) < 0;
}

static void write_masked(const Writer *w, Str s) {
    Buf text = { 0 };
    buf_add(&text, s);
    credentials_mask(&text);
    json_write_string(w->out, buf_str(&text), false);
    buf_clear(&text);
}

static void write_short(const Writer *w, Str s) {
    uint8_t digest[SHA256_BYTES];
    char hex[2 * SHA256_BYTES + 1];
    if (s.n <= GUARD_KEPT_TEXT_MAX) return write_masked(w, s);
    sha256_of(s, digest);
    for (int i = 0; i < SHA256_BYTES; i++) snprintf(hex + 2 * i, 3, "%02x", digest[i]);
    buf_add_fmt(w->out, "\"sha256:%s (%zu bytes)\"", hex, s.n);
}

/* The arguments are written as the object that was judged: some agents send its text. */
static void write_envelope(const Writer *w, const GuardEnvelope *e) {
    bool first = true, inputs = false;
    Entry *en;
    buf_add_char(w->out, '{');
    for (uint32_t i = 0; dict_next(value_dict(e->whole), &i, &en);) {
        Str key = value_str(en->key);
        if (value_is_none(en->value)) continue;
        if (str_among(key, kept_names, COUNT(kept_names))) write_member(w, key, en->value, &first);
        else if (!inputs && value_is_dict(e->input) && str_among(key, input_names, COUNT(input_names))) {
            write_member(w, key, e->input, &first);
            inputs = true;
        }
    }
    buf_add_char(w->out, '}');
}

void guard_kept_write(const GuardEnvelope *e, Redactor *redactor, Buf *out) {
    Buf text = { 0 };
    Writer w = { .out = &text, .text = write_short, .hides = is_credential };
    if (!value_is_dict(e->whole) || !guard_event_calls(e->event)) return;
    write_envelope(&w, e);
    if (text.n <= GUARD_KEPT_MAX) redact_json(redactor, &text);
    bool whole = text.n && text.at[0] == '{';                        /* else it was withheld as a whole */
    if (whole && text.n <= GUARD_KEPT_MAX) buf_add(out, buf_str(&text));
    buf_clear(&text);
}

static bool is_partial(Str s) {
    return str_find(s, STR("[redacted]")) >= 0 || (str_starts(s, STR("sha256:")) && str_ends(s, STR(" bytes)")));
}

bool guard_kept_partial(Value kept) {
    Entry *e;
    if (value_is_string(kept)) return is_partial(value_str(kept));
    for (uint32_t i = 0; value_is_list(kept) && i < value_list(kept)->n; i++)
        if (guard_kept_partial(value_list(kept)->at[i])) return true;
    for (uint32_t i = 0; value_is_dict(kept) && dict_next(value_dict(kept), &i, &e);)
        if (is_partial(value_str(e->key)) || guard_kept_partial(e->value)) return true;
    return false;
}

/* ---- a test ---- */

/* The rest of `path` after the root; at NULL: it is not below. */
static Str below(Str path, Str root) {
    if (!str_starts(path, root) || root.n < 2 || (path.n > root.n && path.at[root.n] != '/')) return (Str){ 0 };
    return path.n > root.n ? str_sub(path, root.n + 1, path.n) : STR("");
}

static void write_relative(const Writer *w, Str s) {
    Str rest = below(s, w->root);
    Buf path = { 0 };
    if (!rest.at || memchr(s.at, '\n', s.n)) return json_write_string(w->out, s, false);
    for (size_t i = 0; i < w->depth; i++) buf_add(&path, STR("../"));
    buf_add(&path, rest);
    if (path.n && path.at[path.n - 1] == '/') path.n--;
    json_write_string(w->out, path.n ? buf_str(&path) : STR("."), false);
    buf_clear(&path);
}

static void write_same(const Writer *w, Str s) { json_write_string(w->out, s, false); }

static size_t folders(Str path) {
    size_t n = path.n > 0;
    for (size_t i = 0; i < path.n; i++) n += path.at[i] == '/';
    return n;
}

void guard_kept_portable(Value kept, Str root, Buf *out) {
    Str cwd = value_member_text(kept, "cwd"), inside = cwd.n ? below(cwd, root) : STR("");
    Writer plain = { .out = out, .text = write_same }, relative = { .out = out, .text = inside.at ? write_relative : write_same, .root = root,
                     .depth = inside.at ? folders(inside) : 0 };
    bool first = true;
    Entry *e;
    buf_add_char(out, '{');
    for (uint32_t i = 0; value_is_dict(kept) && dict_next(value_dict(kept), &i, &e);) {
        Str key = value_str(e->key);
        bool folder = str_eq(key, STR("cwd"));
        if (str_eq(key, STR("workspace_roots")) || (folder && inside.at && !inside.n)) continue;     /* the root is what a test has */
        if (folder && inside.n) {
            if (!first) buf_add_char(out, ',');
            first = false;
            buf_add(out, STR("\"cwd\":"));
            json_write_string(out, inside, false);
        } else {
            write_member(folder ? &plain : &relative, key, e->value, &first);
        }
    }
    buf_add_char(out, '}');
}
