#include "tool/builtin/ignore.h"
#include "base/vec.h"
#include "base/glob.h"

/* Most rules are a plain name or *.ext: compares those without a glob. */
typedef enum { RULE_NAME, RULE_SUFFIX, RULE_GLOB } RuleKind;

typedef struct {
    RuleKind kind;
    bool negated, folders_only;
    bool whole;                         /* matched against the path below the folder, not the name alone */
    Str text;
    const Glob *glob;
} Rule;

struct Ignore { const Ignore *above; Str folder; Rule *rule; size_t n; };

/* Removes trailing spaces unless escaped by a backslash. */
static Str trim_end(Str s) {
    size_t keep = 0;
    for (size_t i = 0; i < s.n; i++) {
        if (s.at[i] == '\\' && i + 1 < s.n) i++, keep = i + 1;
        else if (s.at[i] != ' ') keep = i + 1;
    }
    return str_sub(s, 0, keep);
}

static bool is_plain(Str s) {
    for (size_t i = 0; i < s.n; i++)
        if (strchr("*?[\\", s.at[i])) return false;
    return true;
}

static bool read_rule(Str s, Arena *arena, Rule *out) {
    *out = (Rule){ 0 };
    s = trim_end(s);
    if (s.n == 0 || s.at[0] == '#' || memchr(s.at, 0, s.n)) return false;
    if (s.at[0] == '!') out->negated = true, s = str_sub(s, 1, s.n);
    if (s.n && s.at[s.n - 1] == '/') out->folders_only = true, s.n--;
    if (s.n == 0) return false;
    out->whole = str_find_char(s, '/') >= 0;
    if (s.at[0] == '/') s = str_sub(s, 1, s.n);
    if (s.n == 0) return false;
    if (is_plain(s) && !out->whole) return out->kind = RULE_NAME, out->text = arena_str(arena, s), true;
    if (s.at[0] == '*' && !out->whole && is_plain(str_sub(s, 1, s.n)))
        return out->kind = RULE_SUFFIX, out->text = arena_str(arena, str_sub(s, 1, s.n)), true;
    out->kind = RULE_GLOB;
    out->glob = glob_new(s, 0, arena, NULL);
    return out->glob != NULL;
}

const Ignore *ignore_new(const Ignore *above, Str folder, Str text, Arena *arena) {
    VEC(Rule) rules = { 0 };
    Rule rule;
    Str line;
    if (str_starts(text, STR("\xef\xbb\xbf"))) text = str_sub(text, 3, text.n);
    while (rules.n < IGNORE_RULES_MAX && str_next_line(&text, &line))
        if (read_rule(line, arena, &rule)) VEC_PUSH(&rules, rule);
    Ignore *out = ARENA_NEW(arena, Ignore);
    *out = (Ignore){ above, arena_str(arena, folder), ARENA_ARRAY(arena, Rule, rules.n), rules.n };
    if (rules.n) memcpy(out->rule, rules.at, rules.n * sizeof *rules.at);
    VEC_CLEAR(&rules);
    return out;
}

static bool rule_matches(const Rule *r, Str below, Str name) {
    switch (r->kind) {
    case RULE_NAME: return str_eq(r->text, name);
    case RULE_SUFFIX: return str_ends(name, r->text);
    case RULE_GLOB: break;
    }
    return glob_match(r->glob, r->whole ? below : name);
}

bool ignore_match(const Ignore *rules, Str path, bool folder) {
    const char *slash = path.n ? memrchr(path.at, '/', path.n) : NULL;
    Str name = slash ? str_sub(path, (size_t)(slash - path.at) + 1, path.n) : path;
    for (const Ignore *g = rules; g; g = g->above) {
        Str below = str_sub(path, g->folder.n ? g->folder.n + 1 : 0, path.n);
        for (size_t i = g->n; i-- > 0;) {
            const Rule *r = &g->rule[i];
            if ((folder || !r->folders_only) && rule_matches(r, below, name)) return !r->negated;
        }
    }
    return false;
}
