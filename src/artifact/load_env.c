/* Maps of strings in which ${NAME} refers to a variable of the parent process: `environment`, `env`
 * and `headers`. Checks only the form; values are expanded when they are used. */
#include "artifact/load.h"

static bool is_name_start(char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_'; }

static size_t name_length(Str s) {
    size_t n = 0;
    while (n < s.n && (is_name_start(s.at[n]) || (n && s.at[n] >= '0' && s.at[n] <= '9'))) n++;
    return n;
}

/* True if every "${" is closed by "}"; "$${" is a literal. Stores a name that must not be passed on in *refused. */
static bool references_are_closed(Loader *l, Str s, Str *refused) {
    for (size_t i = 0; i + 1 < s.n; i++) {
        if (s.at[i] != '$') continue;
        if (s.at[i + 1] == '$' && i + 2 < s.n && s.at[i + 2] == '{') {
            i += 2;
        } else if (s.at[i + 1] == '{') {
            Str rest = str_sub(s, i + 2, s.n);
            size_t n = name_length(rest);
            if (n == 0 || n == rest.n || rest.at[n] != '}') return false;
            if (!loader_env_allowed(l, str_sub(rest, 0, n))) *refused = str_sub(rest, 0, n);
            i += 2 + n;
        }
    }
    return true;
}

/* RFC 9110: token characters in the name of a header. */
static bool is_header_name(Str s) {
    for (size_t i = 0; i < s.n; i++)
        if (!is_name_start(s.at[i]) && !(s.at[i] >= '0' && s.at[i] <= '9') && !memchr("!#$%&'*+-.^`|~", s.at[i], 14)) return false;
    return s.n > 0;
}

const char *loader_env_problem(Loader *l, Str s, bool headers) {
    Str refused = { 0 };
    if (s.n && memchr(s.at, 0, s.n)) return "must not contain NUL";
    if (headers && (str_find_char(s, '\n') >= 0 || str_find_char(s, '\r') >= 0)) return "must not contain line breaks";
    if (!references_are_closed(l, s, &refused)) return "\"${\" must be followed by a name and \"}\" (a literal one is \"$${\")";
    if (refused.n == 0) return NULL;
    return arena_fmt(l->docs.arena, STR_FMT " is a key or token (sandbox.env_allow of harness.md must name it)", STR_ARG(refused));
}

bool loader_env(Loader *l, const LoaderPlace *at, const char *key, Value map, bool headers) {
    if (value_is_gone(map)) return true;
    LoaderPlace inside = *at;
    inside.map = map;
    inside.path = arena_fmt(l->docs.arena, "%s%s%s", at->path, at->path[0] ? "." : "", key);
    bool ok = true;
    Entry *e;
    for (uint32_t i = 0; dict_next(value_dict(map), &i, &e);) {
        Str name = value_str(e->key);
        const char *problem = NULL, *where = arena_fmt(l->docs.arena, STR_FMT, STR_ARG(name));
        if (headers ? !is_header_name(name) : name.n == 0 || name_length(name) != name.n)
            problem = headers ? "is not the name of a header" : "is not the name of a variable";
        else if (!value_is_string(e->value))
            problem = arena_fmt(l->docs.arena, "expected string, got %s", field_type_name(e->value));
        else problem = loader_env_problem(l, value_str(e->value), headers);
        if (!problem) continue;
        loader_error(l, &inside, where, "%s.%s: %s", inside.path, where, problem);
        ok = false;
    }
    return ok;
}
