#include "artifact/field.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "value/int.h"
#include "value/list.h"

const char *field_type_name(Value v) {
    if (value_is_none(v)) return "null";
    if (value_is_bool(v)) return "bool";
    if (value_is_int(v)) return "int";
    if (value_is_float(v)) return "number";
    if (value_is_string(v)) return "string";
    if (value_is_list(v)) return "list";
    return value_is_dict(v) ? "map" : value_type_name(v);
}

static const char *const type_names[] = {
    [FIELD_STRING] = "string", [FIELD_BOOL] = "bool", [FIELD_INT] = "int",   [FIELD_NUMBER] = "number",
    [FIELD_STRINGS] = "list",  [FIELD_MAP] = "map",   [FIELD_LIST] = "list", [FIELD_ANY] = "value",
};

char *field_path(const FieldInput *in, const char *name) {
    return arena_fmt(in->context->arena, "%s%s%s", in->path, in->path[0] ? "." : "", name);
}

/* A hint about what to write instead, if the type alone does not show it. */
static Str mismatch_hint(const char *name, const char *want, Value got) {
    bool text = strcmp(want, "string") == 0;
    if (text && strcmp(name, "script") == 0) return STR("write script: | and indent the code below it");
    if (strcmp(want, "bool") == 0 && value_is_string(got)) return STR("write true or false, without quotes");
    if (strcmp(want, "int") == 0 && value_is_string(got)) return STR("write the number alone, without quotes and units");
    if (strcmp(want, "list") == 0 && value_is_string(got)) return STR("write [one, two], or one item per line after \"- \"");
    return STR("");
}

static bool mismatch(const FieldInput *in, const char *name, const char *want, Value got) {
    document_report(in->context, in->document, PROBLEM_ERROR, document_place(in->document, in->map, str_from(name)), mismatch_hint(name, want, got),
                    "%s: expected %s, got %s", field_path(in, name), want, field_type_name(got));
    return false;
}

static bool read_strings(const FieldInput *in, const char *name, Value v, StrList *out) {
    if (!value_is_list(v)) return mismatch(in, name, "list", v);
    const List *l = value_list(v);
    Str *at = ARENA_ARRAY(in->context->arena, Str, l->n ? l->n : 1);
    bool ok = true;
    for (uint32_t i = 0; i < l->n; i++) {
        if (value_is_string(l->at[i])) {
            at[i] = value_str(l->at[i]);
            continue;
        }
        document_report(in->context, in->document, PROBLEM_ERROR, document_item_place(in->document, v, i), (Str){ 0 },
                        "%s[%u]: expected string, got %s", field_path(in, name), i, field_type_name(l->at[i]));
        ok = false;
    }
    if (ok) *out = (StrList){ at, l->n };
    return ok;
}

static bool read_int(const FieldInput *in, const char *name, Value v, int64_t *out) {
    if (!value_is_int(v)) return mismatch(in, name, "int", v);
    if (int_to_i64(v, out)) return true;
    document_error(in->context, in->document, in->map, str_from(name), "%s: number is out of range", field_path(in, name));
    return false;
}

static bool read_value(const FieldInput *in, const Field *f, Value v, void *to) {
    switch (f->type) {
    case FIELD_STRING:
        if (!value_is_string(v)) break;
        return *(Str *)to = value_str(v), true;
    case FIELD_BOOL:
        if (!value_is_bool(v)) break;
        return *(bool *)to = value_bool(v), true;
    case FIELD_INT: return read_int(in, f->name, v, to);
    case FIELD_NUMBER:
        if (!value_is_int(v) && !value_is_float(v)) break;
        return *(double *)to = value_is_int(v) ? int_to_double(v) : value_float(v), true;
    case FIELD_STRINGS: return read_strings(in, f->name, v, to);
    case FIELD_MAP:
        if (!value_is_dict(v)) break;
        return *(Value *)to = v, true;
    case FIELD_LIST:
        if (!value_is_list(v)) break;
        return *(Value *)to = v, true;
    case FIELD_ANY: return *(Value *)to = v, true;
    }
    return mismatch(in, f->name, type_names[f->type], v);
}

void field_note(const FieldInput *in, const char *name, GrantKey key, Value v) {
    if (!in->context->grants || !grants_applies(key, v)) return;         /* before the path is written: most keys grant nothing */
    Place place = document_place(in->document, in->map, str_from(name));
    grants_note(in->context->grants, in->context->arena, key, v, in->document->file, place.line, field_path(in, name));
}

bool field_read_one(const FieldInput *in, const Field *f, void *out) {
    if (f->flags & (FIELD_IGNORED | FIELD_UNKNOWN)) return true;
    Value *v = dict_find_str(value_dict(in->map), str_from(f->name));
    if (v && value_is_none(*v) && (f->flags & FIELD_NOT_NULL)) return mismatch(in, f->name, type_names[f->type], *v);
    if (v && !value_is_none(*v)) {
        field_note(in, f->name, f->grant, *v);
        return read_value(in, f, *v, (char *)out + f->offset);
    }
    if (!(f->flags & FIELD_REQUIRED)) return true;
    document_report(in->context, in->document, PROBLEM_ERROR, v ? document_place(in->document, in->map, str_from(f->name)) : in->at,
                    (Str){ 0 }, "%s is required", field_path(in, f->name));
    return false;
}

/* ---- unknown keys ---- */

static const Field *find(const Field *fields, size_t n, Str key) {
    for (size_t i = 0; i < n; i++)
        if (str_eq(str_from(fields[i].name), key)) return &fields[i];
    return NULL;
}

enum { WORD_MAX = 96, SHORT_WORD = 3 };

/* Blanks of every width, and invisible characters. */
static bool is_invisible(uint32_t c) {
    return c == ' ' || c == 0xa0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x202f || c == 0x205f || c == 0x3000 || utf8_is_deceptive(c);
}

enum { FOLDED_END = 0x110000 };         /* not a character */

/* Takes the next character of a word: in lower case, without '_', '-' and invisible characters; full-width letters become ordinary ones. */
static uint32_t next_folded(Str *word) {
    while (word->n) {
        size_t length = 1;
        uint32_t c = (unsigned char)word->at[0];
        if (c >= 0x80) c = utf8_decode(*word, &length);
        *word = (Str){ word->at + length, word->n - length };
        if (c >= 'a' && c <= 'z') return c;
        if (c >= 0xff01 && c <= 0xff5e) c -= 0xff01 - '!';
        if (c == '_' || c == '-' || is_invisible(c)) continue;
        return c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c;
    }
    return FOLDED_END;
}

/* Truncates long words, which resemble no key. */
static Str folded(Str word, char out[WORD_MAX]) {
    size_t n = 0;
    for (uint32_t c; n + 4 <= WORD_MAX && (c = next_folded(&word)) != FOLDED_END;) n += utf8_encode(c, &out[n]);
    return (Str){ out, n };
}

/* True if it has ASCII letters and other characters: one of them may only look like the letter of a key. */
static bool is_disguised(Str key) {
    bool letter = false, other = false;
    for (size_t i = 0; i < key.n; i++) {
        char c = key.at[i];
        letter = letter || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        other = other || (unsigned char)c >= 0x80;
    }
    return letter && other;
}

bool field_same(Str word, Str known) {
    if (word.n > WORD_MAX) return false;
    for (;;) {
        uint32_t a = next_folded(&word), b = next_folded(&known);
        if (a != b) return false;
        if (a == FOLDED_END) return true;
    }
}

bool field_resembles(Str word, Str known) {
    char a[WORD_MAX], b[WORD_MAX];
    Str x = folded(word, a), y = folded(known, b);
    if (x.n == 0 || word.n > WORD_MAX) return false;
    return str_within(x, y, x.n <= SHORT_WORD || y.n <= SHORT_WORD ? 1 : 2);
}

/* `blockedTool` and `LIMITS` are beyond the edit distance of str_nearest() unless case and separators are removed. */
static Str nearest_folded(Str word, const Str *known, size_t n) {
    char a[WORD_MAX], b[WORD_MAX];
    Str key = folded(word, a);
    unsigned most = key.n < 6 ? 1 : 2;
    for (unsigned edits = 0; edits <= most && key.n > 1 && word.n <= WORD_MAX; edits++)
        for (size_t i = 0; i < n; i++)
            if (str_within(key, folded(known[i], b), edits)) return known[i];
    return (Str){ "", 0 };
}

Str field_hint(Arena *arena, Str word, const Str *known, size_t n) {
    Str nearest = str_nearest(word, known, n);
    if (nearest.n == 0) nearest = nearest_folded(word, known, n);
    return nearest.n ? str_from(arena_fmt(arena, "did you mean \"" STR_FMT "\"?", STR_ARG(nearest))) : (Str){ 0 };
}

/* True if a "key" is really a line of a script: a block scalar whose text is not indented ends before its first line. */
static bool is_code(Str key) { return str_starts(key, STR("def ")) || str_starts(key, STR("return ")) || str_starts(key, STR("if ")); }

static Str suggestion(const FieldInput *in, const Field *fields, size_t n, Str key) {
    Str *names = ARENA_ARRAY(in->context->arena, Str, n ? n : 1);
    size_t known = 0;
    if (is_code(key)) return STR("indent the lines of a script below \"script: |\"");
    for (size_t i = 0; i < n; i++)
        if (!(fields[i].flags & FIELD_UNKNOWN)) names[known++] = str_from(fields[i].name);
    return field_hint(in->context->arena, key, names, known);
}

/* Restrictions of other formats, which would have no effect in a tool or an agent. */
#define SAFETY "it belongs below \"safety\""
#define SETTINGS "it belongs in harness.md"
#define LISTS "tools take \"safety\" and \"confirm\", sub-agents \"tools\" and \"blocked_tools\", and harness.md \"tools_policy\""
#define GOVERNED "only tools in .harness/tools/ and agent/tools/ take it"
#define RULES "rules belong in harness.md, or in a bundle below .harness/plugins/"
#define HOOKS "hooks belong in .harness/hooks/"
#define CONFIRM "write \"confirm: true\""
#define TIMEOUT "a time limit is \"timeout_ms\" of a tool, \"timeoutSec\" in tools.json, \"timeout\" in a space"
static const struct { const char *key, *hint; } restrictions[] = {
    { "timeout", TIMEOUT }, { "timeout_ms", TIMEOUT }, { "timeout_sec", TIMEOUT }, { "timeout_seconds", TIMEOUT },
    { "read_only", SAFETY }, { "destructive", SAFETY }, { "networked", SAFETY }, { "filesystem", SAFETY }, { "spends_money", SAFETY },
    { "requires_confirmation", SAFETY }, { "workspace_root", SAFETY }, { "redact", SAFETY },
    { "limits", SETTINGS }, { "sandbox", SETTINGS }, { "network", SETTINGS }, { "allowed_domains", SETTINGS }, { "tools_policy", SETTINGS },
    { "read_roots", SETTINGS }, { "write_roots", SETTINGS }, { "max_turns", SETTINGS }, { "max_tool_calls", SETTINGS },
    { "rules", RULES }, { "guard", LISTS }, { "guards", LISTS }, { "policy", LISTS }, { "permissions", LISTS }, { "permission_mode", LISTS },
    { "allow", LISTS }, { "allowed", LISTS }, { "allowed_tools", LISTS }, { "enabled", LISTS }, { "enabled_tools", LISTS }, { "include_tools", LISTS },
    { "deny", LISTS }, { "denied", LISTS }, { "denied_tools", LISTS }, { "disallowed_tools", LISTS }, { "disabled", LISTS },
    { "disabled_tools", LISTS }, { "exclude_tools", LISTS }, { "block", LISTS }, { "blocked", LISTS }, { "blocked_tools", LISTS },
    { "can_spawn", LISTS }, { "can_invoke_agents", LISTS }, { "allowed_agents", LISTS }, { "approval", LISTS }, { "approvals", LISTS },
    { "requires_approval", LISTS }, { "needs_approval", LISTS }, { "require_approval", LISTS },
    { "forbidden", LISTS }, { "forbidden_tools", LISTS }, { "denylist", LISTS }, { "deny_list", LISTS }, { "allowlist", LISTS }, { "blocklist", LISTS },
    { "confirm", GOVERNED }, { "safety", GOVERNED }, { "idempotency", GOVERNED }, { "mutating", SAFETY }, { "hooks", HOOKS },
    { "max_calls", SETTINGS }, { "rate_limit", SETTINGS }, { "max_depth", SETTINGS }, { "max_spend_usd", SETTINGS }, { "wall_clock_ms", SETTINGS },
    { "confirmation", CONFIRM }, { "ask", CONFIRM }, { "approve", CONFIRM }, { "delegation", SETTINGS },
    { "deny_tools", LISTS }, { "block_tools", LISTS }, { "allow_tools", LISTS },
    { "max_iterations", "agents take it" }, { "max_tokens", SETTINGS }, { "max_concurrency", SETTINGS },
};

const char *field_restriction(Str key) {
    char a[WORD_MAX], b[WORD_MAX];
    Str word = folded(key, a);
    for (size_t i = 0; i < sizeof restrictions / sizeof *restrictions; i++)
        if (str_eq(word, folded(str_from(restrictions[i].key), b))) return restrictions[i].hint;
    return NULL;
}

static bool resembles_one(const Field *fields, size_t n, Str key) {
    for (size_t i = 0; i < n; i++)
        if (!(fields[i].flags & (FIELD_UNKNOWN | FIELD_DESCRIPTIVE)) && field_resembles(key, str_from(fields[i].name))) return true;
    return false;
}

/* `f` is the row of a key that belongs elsewhere, else NULL. Sets the hint. */
static Severity judge_key(const FieldInput *in, const Field *fields, size_t n, const Field *f, Str key, Str *hint) {
    const char *misplaced = in->unknown == UNKNOWN_KEYS_GUARD && !f ? field_restriction(key) : NULL;
    bool resembles = in->unknown == UNKNOWN_KEYS_GUARD && !f && resembles_one(fields, n, key);
    *hint = f ? str_from(f->hint) : suggestion(in, fields, n, key);
    if (misplaced && (!resembles || hint->n == 0)) *hint = str_from(misplaced);
    bool disguised = in->unknown == UNKNOWN_KEYS_GUARD && !f && is_disguised(key);
    if (disguised && hint->n == 0) *hint = STR("it mixes ASCII letters with other characters");
    bool refused = f && (f->flags & FIELD_REFUSED);
    bool error = in->unknown == UNKNOWN_KEYS_REFUSE || in->context->strict || misplaced || resembles || disguised || refused;
    return error ? PROBLEM_ERROR : PROBLEM_WARNING;
}

static bool unknown_keys(const FieldInput *in, const Field *fields, size_t n) {
    bool ok = true;
    Entry *e;
    for (uint32_t i = 0; dict_next(value_dict(in->map), &i, &e);) {
        Str key = value_is_string(e->key) ? value_str(e->key) : STR(""), hint;
        const Field *f = find(fields, n, key);
        if (f && !(f->flags & FIELD_UNKNOWN)) continue;
        Severity severity = judge_key(in, fields, n, f, key, &hint);
        document_report(in->context, in->document, severity, document_place(in->document, in->map, key), hint,
            "%s%sunknown key \"" STR_FMT "\"", in->path, in->path[0] ? ": " : "", STR_ARG(key));
        ok = ok && severity != PROBLEM_ERROR;
    }
    return ok;
}

bool field_read(const FieldInput *in, const Field *fields, size_t n, void *out) {
    bool ok = true;
    for (size_t i = 0; i < n; i++) ok = field_read_one(in, &fields[i], out) && ok;
    return unknown_keys(in, fields, n) && ok;
}

bool field_given(const FieldInput *in, const char *name) { return dict_find_str(value_dict(in->map), str_from(name)) != NULL; }

bool field_is_map(const FieldInput *in) {
    if (value_is_dict(in->map)) return true;
    document_report(in->context, in->document, PROBLEM_ERROR, in->at, (Str){ 0 }, "%s: expected map, got %s", in->path,
                    field_type_name(in->map));
    return false;
}
