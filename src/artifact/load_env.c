/* Maps of strings in which ${NAME} stands for a variable of the parent: `environment`, `env`
 * and `headers`. Only the form is checked here; values are filled in when they are used. */
#include "artifact/load.h"

static bool is_name_start(char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_'; }

static size_t name_length(Str s) {
    size_t n = 0;
    while (n < s.n && (is_name_start(s.at[n]) || (n && s.at[n] >= '0' && s.at[n] <= '9'))) n++;
    return n;
}

/* Every "${" opens a name that "}" closes; "$${" is no opening. */
static bool references_are_closed(Str s) {
    for (size_t i = 0; i + 1 < s.n; i++) {
        if (s.at[i] != '$') continue;
        if (s.at[i + 1] == '$' && i + 2 < s.n && s.at[i + 2] == '{') {
            i += 2;
        } else if (s.at[i + 1] == '{') {
            Str rest = str_sub(s, i + 2, s.n);
            size_t n = name_length(rest);
            if (n == 0 || n == rest.n || rest.at[n] != '}') return false;
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

static const char *value_problem(Str s, bool headers) {
    if (memchr(s.at, 0, s.n)) return "must not contain NUL";
    if (headers && (memchr(s.at, '\n', s.n) || memchr(s.at, '\r', s.n))) return "must not contain line breaks";
    return references_are_closed(s) ? NULL : "\"${\" must be followed by a name and \"}\" (a literal one is \"$${\")";
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
        else problem = value_problem(value_str(e->value), headers);
        if (!problem) continue;
        loader_error(l, &inside, where, "%s.%s: %s", inside.path, where, problem);
        ok = false;
    }
    return ok;
}
