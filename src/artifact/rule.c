#include "artifact/rule.h"
#include "artifact/pattern.h"
#include "base/glob.h"
#include "base/vec.h"
#include "value/list.h"

enum { WORDS_MAX = 64, WORD_BYTES_MAX = 256 };

const char *rule_verdict_name(RuleVerdict v) {
    static const char *const names[] = { "none", "allow", "ask", "deny" };
    return names[v];
}

void rule_rows_clear(RuleRows *l) { VEC_CLEAR(l); }

/* ---- the fields ---- */

typedef struct Row { Str name, decide, otherwise, because; StrList shell, vendor, host, url, paths[5]; } Row;

#define AT(member) offsetof(Row, member)
#define PATHS(i) (offsetof(Row, paths) + (i) * sizeof(StrList))
static const Field fields[] = {
    { KEY(rule, name), .type = FIELD_STRING, .offset = AT(name), .flags = FIELD_REQUIRED | FIELD_NOT_NULL },
    { KEY(rule, decide), .type = FIELD_STRING, .offset = AT(decide), .flags = FIELD_REQUIRED | FIELD_NOT_NULL },
    { KEY(rule, otherwise), .type = FIELD_STRING, .offset = AT(otherwise), .flags = FIELD_NOT_NULL },
    { KEY(rule, because), .type = FIELD_STRING, .offset = AT(because) },
    { KEY(rule, tool), .flags = FIELD_IGNORED },
    { KEY(rule, kind), .flags = FIELD_IGNORED },
    { KEY(rule, shell), .type = FIELD_STRINGS, .offset = AT(shell), .flags = FIELD_NOT_NULL },
    { KEY(rule, vendor), .type = FIELD_STRINGS, .offset = AT(vendor), .flags = FIELD_NOT_NULL },
    { KEY(rule, host), .type = FIELD_STRINGS, .offset = AT(host), .flags = FIELD_NOT_NULL },
    { KEY(rule, url), .type = FIELD_STRINGS, .offset = AT(url), .flags = FIELD_NOT_NULL },
    { KEY(rule, file), .type = FIELD_STRINGS, .offset = PATHS(0), .flags = FIELD_NOT_NULL },
    { .name = "file.read", .grant = GRANT_rule_file_read, .type = FIELD_STRINGS, .offset = PATHS(1), .flags = FIELD_NOT_NULL },
    { .name = "file.write", .grant = GRANT_rule_file_write, .type = FIELD_STRINGS, .offset = PATHS(2), .flags = FIELD_NOT_NULL },
    { .name = "file.edit", .grant = GRANT_rule_file_edit, .type = FIELD_STRINGS, .offset = PATHS(3), .flags = FIELD_NOT_NULL },
    { .name = "file.delete", .grant = GRANT_rule_file_delete, .type = FIELD_STRINGS, .offset = PATHS(4), .flags = FIELD_NOT_NULL },
};

static const struct { const char *key; uint32_t kinds; } path_keys[] = {
    { "file", CALL_KIND_BIT(CALL_FILE_READ) | CALL_KIND_BIT(CALL_FILE_WRITE) | CALL_KIND_BIT(CALL_FILE_EDIT) | CALL_KIND_BIT(CALL_FILE_DELETE)
              | CALL_KIND_BIT(CALL_SEARCH) },
    { "file.read", CALL_KIND_BIT(CALL_FILE_READ) | CALL_KIND_BIT(CALL_SEARCH) },
    { "file.write", CALL_KIND_BIT(CALL_FILE_WRITE) | CALL_KIND_BIT(CALL_FILE_EDIT) | CALL_KIND_BIT(CALL_FILE_DELETE) },
    { "file.edit", CALL_KIND_BIT(CALL_FILE_EDIT) },
    { "file.delete", CALL_KIND_BIT(CALL_FILE_DELETE) },
};
enum { PATH_KEYS = sizeof path_keys / sizeof *path_keys };

uint32_t rule_path_kinds(const char *path_key) {
    for (size_t i = 0; i < PATH_KEYS; i++)
        if (strcmp(path_keys[i].key, path_key) == 0) return path_keys[i].kinds;
    return 0;
}

/* One rule while it is read. */
typedef struct Reader { FieldInput in; Row row; RuleDef *out; bool ok; } Reader;

/* Reports at a key, or at an item of its list. */
static void complain(Reader *r, const char *key, Str hint, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
static void complain(Reader *r, const char *key, Str hint, const char *fmt, ...) {
    va_list ap;
    bool there = key && field_given(&r->in, key);
    Place place = there ? document_place(r->in.document, r->in.map, str_from(key)) : r->in.at;
    va_start(ap, fmt);
    problems_add_v(r->in.context->problems, PROBLEM_ERROR, r->in.document->file, place, hint, fmt, ap);
    va_end(ap);
    r->ok = false;
}

static void complain_item(Reader *r, const char *key, size_t i, Str word, Str hint, const char *problem) {
    Value *list = dict_find_str(value_dict(r->in.map), str_from(key));
    bool listed = list && value_is_list(*list);
    Place place = listed ? document_item_place(r->in.document, *list, i) : document_place(r->in.document, r->in.map, str_from(key));
    char *path = field_path(&r->in, key);
    if (listed) path = arena_fmt(r->in.context->arena, "%s[%zu]", path, i);
    document_report(r->in.context, r->in.document, PROBLEM_ERROR, place, hint, "%s: \"" STR_FMT "\" %s", path, STR_ARG(word), problem);
    r->ok = false;
}

/* A string, or a list of them. */
static void read_one_or_more(Reader *r, const char *key, StrList *out) {
    Value *v = dict_find_str(value_dict(r->in.map), str_from(key));
    if (!v) return;
    if (value_is_string(*v)) {
        *out = (StrList){ ARENA_NEW(r->in.context->arena, Str), 1 };
        out->at[0] = value_str(*v);
        return;
    }
    if (!value_is_list(*v)) {
        complain(r, key, (Str){ 0 }, "%s: expected string or list, got %s", field_path(&r->in, key), field_type_name(*v));
        return;
    }
    const Field list = { .name = key, .type = FIELD_STRINGS };
    r->ok = field_read_one(&r->in, &list, out) && r->ok;
}

static void check_not_empty(Reader *r) {
    static const char *const keys[] = { "tool", "kind", "shell", "vendor", "host", "url", "file", "file.read", "file.write", "file.edit", "file.delete" };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        Value *v = dict_find_str(value_dict(r->in.map), str_from(keys[i]));
        if (v && value_is_list(*v) && value_list(*v)->n == 0)
            complain(r, keys[i], (Str){ 0 }, "%s: an empty list matches nothing (remove the key, or the rule)", field_path(&r->in, keys[i]));
    }
}

/* ---- verdicts and names ---- */

static RuleVerdict verdict_of(Reader *r, const char *key, Str value, bool allow) {
    static const Str known[] = { { "deny", 4 }, { "ask", 3 }, { "allow", 5 } };
    static const RuleVerdict verdicts[] = { RULE_DENY, RULE_ASK, RULE_ALLOW };
    if (!value.at) return RULE_NONE;
    for (size_t i = 0; i < 2u + allow; i++)
        if (str_eq(value, known[i])) return verdicts[i];
    complain(r, key, field_hint(r->in.context->arena, value, known, 2u + allow), "%s: expected deny%s ask%s, got \"" STR_FMT "\"", field_path(&r->in, key),
             allow ? "," : " or", allow ? " or allow" : "", STR_ARG(value));
    return RULE_NONE;
}

static bool well_formed(Str name) {
    for (size_t i = 0; i < name.n; i++) {
        char c = name.at[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-')) return false;
    }
    return name.n >= 1 && name.n <= 64;
}

static void read_verdicts(Reader *r) {
    r->out->decide = verdict_of(r, "decide", r->row.decide, true);
    r->out->otherwise = verdict_of(r, "otherwise", r->row.otherwise, false);
    if (r->out->otherwise && r->out->decide && r->out->decide != RULE_ALLOW)
        complain(r, "otherwise", STR("use decide: allow, or remove it"), "%s is only for rules that allow", field_path(&r->in, "otherwise"));
}

static void read_vendors(Reader *r) {
    size_t n;
    const Str *known = vendor_list(&n);
    for (size_t i = 0; i < r->row.vendor.n; i++) {
        Vendor v;
        if (vendor_find(r->row.vendor.at[i], &v)) r->out->vendors |= VENDOR_BIT(v);
        else complain_item(r, "vendor", i, r->row.vendor.at[i], field_hint(r->in.context->arena, r->row.vendor.at[i], known, n), "is not a vendor");
    }
}

static uint32_t read_kinds(Reader *r) {
    StrList list = { 0 };
    uint32_t kinds = 0;
    size_t n;
    const Str *known = call_kind_list(&n);
    read_one_or_more(r, "kind", &list);
    for (size_t i = 0; i < list.n; i++) {
        CallKind kind = call_kind_find(list.at[i]);
        if (kind) kinds |= CALL_KIND_BIT(kind);
        else complain_item(r, "kind", i, list.at[i], field_hint(r->in.context->arena, list.at[i], known, n), "is not a kind of call");
    }
    return kinds;
}

/* ---- what it matches ---- */

static bool is_glob(Str s) {
    for (size_t i = 0; i < s.n; i++)
        if (strchr("*?[", s.at[i])) return true;
    return false;
}

/* The kinds of the calls of these tools; 0: any. */
static uint32_t read_tools(Reader *r) {
    StrList *tools = &r->out->tools;
    uint32_t kinds = 0;
    bool known = true;
    read_one_or_more(r, "tool", tools);
    Value *list = dict_find_str(value_dict(r->in.map), STR("tool"));
    Place *places = ARENA_ARRAY(r->in.context->arena, Place, tools->n + 1);
    for (size_t i = 0; i < tools->n; i++) {
        const char *hint, *problem = pattern_problem(PATTERN_TOOL, tools->at[i], &hint);
        if (problem) complain_item(r, "tool", i, tools->at[i], hint ? str_from(hint) : (Str){ 0 }, problem);
        places[i] = value_is_list(*list) ? document_item_place(r->in.document, *list, i) : document_place(r->in.document, r->in.map, STR("tool"));
        CallKind kind = !is_glob(tools->at[i]) || str_starts(tools->at[i], STR("mcp:")) ? call_kind_of_tool(tools->at[i]) : CALL_KIND_NONE;
        known &= kind != CALL_KIND_NONE;
        kinds |= CALL_KIND_BIT(kind);
    }
    r->out->tool_places = places;
    return known && tools->n ? kinds : 0;
}

static void read_shell(Reader *r) {
    r->out->shell = r->row.shell;
    if (r->row.shell.n > WORDS_MAX) complain(r, "shell", (Str){ 0 }, "%s: more than %d words", field_path(&r->in, "shell"), WORDS_MAX);
    for (size_t i = 0; i < r->row.shell.n; i++) {
        Str w = r->row.shell.at[i];
        const char *problem = NULL;
        Str hint = { 0 };
        if (w.n == 0) problem = "is empty and matches no word";
        else if (w.n > WORD_BYTES_MAX) problem = "is too long";
        else if (memchr(w.at, 0, w.n) || memchr(w.at, 1, w.n)) problem = "has a control character";
        else if (str_eq(w, STR("--"))) problem = "matches no word: it only separates options from other words";
        else if (i == 0 && w.at[0] == '-') problem = "is not a program", hint = STR("the first word is the program: [git, push]");
        else if (i == 0 && str_find_char(w, '/') >= 0) problem = "matches no program", hint = STR("write the last part of its path alone");
        else if (i == 0 && str_find_char(w, ' ') >= 0) problem = "matches no program", hint = STR("write one item for each word: [git, push]");
        else if (i == 0 && str_find_char(w, '=') >= 0) problem = "matches no program", hint = STR("assignments are not part of a command's words");
        if (problem) complain_item(r, "shell", i, w, hint, problem);
    }
}

/* True if one of the parts between slashes is `part`. */
static bool has_part(Str pattern, Str part) {
    for (size_t from = 0; from <= pattern.n;) {
        ptrdiff_t slash = str_find_char(str_sub(pattern, from, pattern.n), '/');
        size_t to = slash < 0 ? pattern.n : from + (size_t)slash;
        if (str_eq(str_sub(pattern, from, to), part)) return true;
        from = to + 1;
    }
    return false;
}

/* Why the pattern cannot match a path, or does not mean what it seems to; NULL: it can. */
static const char *path_problem(Str text) {
    if (text.n == 0) return "is empty and matches no path";
    if (str_trim(text).n != text.n) return "begins or ends with a blank (remove it, or write ? for it)";
    if (has_part(text, STR(".."))) return "matches no path: .. is resolved before rules are compared";
    if (has_part(text, STR("."))) return "matches no path: write it without ./";
    if (str_find(text, STR("//")) >= 0) return "matches no path: write one / instead of two";
    if (text.at[0] == '!') return "matches no path: \"!\" does not negate a pattern";
    if (text.at[0] == '~' && !str_starts(text, STR("~/"))) return "matches no path: only ~/ is the home folder";
    return NULL;
}

static Str lower(Str s, Arena *arena) {
    char *out = arena_alloc(arena, s.n + 1);
    for (size_t i = 0; i < s.n; i++) out[i] = (char)(s.at[i] >= 'A' && s.at[i] <= 'Z' ? s.at[i] + ('a' - 'A') : s.at[i]);
    out[s.n] = 0;
    return (Str){ out, s.n };
}

static void read_glob(Reader *r, const char *key, size_t i, Str text, RulePath *out) {
    Arena *arena = r->in.context->arena;
    Error err = { 0 };
    *out = (RulePath){ .text = text, .absolute = str_starts(text, STR("/")), .home = str_starts(text, STR("~/")) };
    Str pattern = out->home ? str_sub(text, 2, text.n) : text;
    if (str_ends(pattern, STR("/"))) pattern = str_from(arena_fmt(arena, STR_FMT "**", STR_ARG(pattern)));
    const char *problem = path_problem(text);
    if (problem) {
        complain_item(r, key, i, text, (Str){ 0 }, problem);
        return;
    }
    out->glob = glob_new(pattern, GLOB_BRACES, arena, &err);
    out->folded = out->glob ? glob_new(lower(pattern, arena), GLOB_BRACES, arena, &err) : NULL;
    if (!out->folded) complain_item(r, key, i, text, (Str){ 0 }, arena_fmt(arena, "is not a pattern: %s", err.msg));
}

static uint32_t read_paths(Reader *r) {
    for (size_t k = 0; k < PATH_KEYS; k++) {
        StrList list = r->row.paths[k];
        if (!field_given(&r->in, path_keys[k].key)) continue;
        if (r->out->path_key) {
            complain(r, path_keys[k].key, STR("write a rule for each"), "%s: a rule has one of file, file.read, file.write, file.edit and file.delete",
                     field_path(&r->in, path_keys[k].key));
            return 0;
        }
        r->out->path_key = path_keys[k].key;
        r->out->paths = ARENA_ARRAY(r->in.context->arena, RulePath, list.n + 1);
        r->out->n_paths = list.n;
        for (size_t i = 0; i < list.n; i++) read_glob(r, path_keys[k].key, i, list.at[i], &r->out->paths[i]);
    }
    return r->out->path_key ? rule_path_kinds(r->out->path_key) : 0;
}

static void read_addresses(Reader *r) {
    Arena *arena = r->in.context->arena;
    r->out->urls = r->row.url;
    r->out->hosts = (StrList){ ARENA_ARRAY(arena, Str, r->row.host.n + 1), r->row.host.n };
    for (size_t i = 0; i < r->row.host.n; i++) {
        Str h = r->row.host.at[i];
        Str name = str_starts(h, STR("*.")) ? str_sub(h, 2, h.n) : h;
        bool bad = name.n == 0;
        for (size_t k = 0; k < name.n; k++) bad |= (unsigned char)name.at[k] <= ' ' || strchr("/*?#@:[]", name.at[k]);
        if (str_eq(h, STR("*"))) bad = false;
        if (bad) complain_item(r, "host", i, h, STR("write a host alone: example.com, or *.example.com for those below it"), "matches no host");
        r->out->hosts.at[i] = lower(h, arena);
    }
    for (size_t i = 0; i < r->row.url.n; i++) {
        Str u = r->row.url.at[i];
        if (str_find(u, STR("://")) > 0 || str_starts(u, STR("*"))) continue;
        complain_item(r, "url", i, u, STR("begin with https:// or *, or use host:"), "matches no address");
    }
}

/* ---- contradictions ---- */

typedef struct Claim { const char *key; uint32_t kinds; } Claim;

/* Each key limits the kinds of calls that the rule is about; at least one kind must be left. */
static void combine(Reader *r, const Claim *claims, size_t n) {
    uint32_t left = ~0u;
    const Claim *before = NULL;
    for (size_t i = 0; i < n; i++) {
        if (!claims[i].kinds) continue;
        if (!(left & claims[i].kinds)) {
            complain(r, claims[i].key, STR("write a rule for each"), "%s: the rule can match no call: %s and %s are about different kinds of calls",
                     r->in.path, before->key, claims[i].key);
            return;
        }
        left &= claims[i].kinds;
        before = &claims[i];
    }
    r->out->kinds = before ? left : 0;
}

static void check_scope(Reader *r) {
    const RuleDef *d = r->out;
    if (!r->ok) return;
    if (!d->kinds && !d->tools.n && !d->vendors)
        complain(r, NULL, STR("to match every call write tool: \"*\""), "%s: the rule does not say what it matches", r->in.path);
    else if (d->otherwise && !d->kinds)
        complain(r, "otherwise", STR("add kind:"), "%s.otherwise: it is not clear which kind of calls it covers", r->in.path);
}

static bool read_rule(Reader *r) {
    RuleDef *d = r->out;
    if (!field_is_map(&r->in)) return false;
    r->ok = field_read(&r->in, fields, sizeof fields / sizeof *fields, &r->row);
    d->name = r->row.name;
    d->because = r->row.because;
    if (d->name.at && !well_formed(d->name)) complain(r, "name", (Str){ 0 }, "rule \"" STR_FMT "\": name must match [A-Za-z0-9_-]{1,64}", STR_ARG(d->name));
    read_verdicts(r);
    read_vendors(r);
    read_shell(r);
    read_addresses(r);
    const Claim claims[] = {
        { "shell", field_given(&r->in, "shell") ? CALL_KIND_BIT(CALL_SHELL) : 0 },
        { "file", read_paths(r) },
        { field_given(&r->in, "host") ? "host" : "url", d->hosts.n || d->urls.n ? CALL_KIND_BIT(CALL_NET_FETCH) : 0 },
        { "kind", read_kinds(r) },
        { "tool", read_tools(r) },
    };
    check_not_empty(r);
    Claim named[sizeof claims / sizeof *claims];
    memcpy(named, claims, sizeof claims);
    if (d->path_key) named[1].key = d->path_key;
    if (r->ok) combine(r, named, sizeof named / sizeof *named);
    check_scope(r);
    return r->ok;
}

/* ---- the list ---- */

static bool is_new(Reader *r, const RuleRows *all) {
    for (size_t i = 0; i < all->n; i++)
        if (str_eq(all->at[i].name, r->out->name)) {
            complain(r, "name", (Str){ 0 }, "rule \"" STR_FMT "\" is defined more than once (also in " STR_FMT ":%u)", STR_ARG(r->out->name),
                     STR_ARG(all->at[i].file), all->at[i].line);
            return false;
        }
    return true;
}

bool rule_rows_read(DocumentContext *c, const Document *d, Value rules, const char *path, bool pulled, RuleRows *out) {
    bool ok = true;
    if (value_is_gone(rules)) return true;
    if (!value_is_list(rules)) {
        document_error(c, d, d->root, STR("rules"), "%s: expected list, got %s", path, field_type_name(rules));
        return false;
    }
    for (uint32_t i = 0; i < value_list(rules)->n; i++) {
        Place at = document_item_place(d, rules, i);
        RuleDef rule = { .file = d->file, .line = at.line, .pulled = pulled };
        Reader r = { .in = { .context = c, .document = d, .map = value_list(rules)->at[i], .path = arena_fmt(c->arena, "%s[%u]", path, i),
            .at = at }, .out = &rule };
        bool good = read_rule(&r) && is_new(&r, out);
        if (good) VEC_PUSH(out, rule);
        ok &= good;
    }
    return ok;
}

Str rule_near_call(Arena *arena, Str tool) {
    size_t n;
    const Str *known = call_kind_tools(&n);
    if (str_starts(tool, STR("mcp:")) || str_starts(tool, STR("mcp__"))) return (Str){ 0 };
    for (size_t i = 0; i < n; i++)
        if (pattern_matches(tool, known[i])) return (Str){ 0 };
    return field_hint(arena, tool, known, n);
}

/* ---- listings ---- */

static void add_list(Buf *out, const char *key, const StrList *list) {
    if (list->n == 0) return;
    buf_add_fmt(out, "%s%s: [", out->n ? ", " : "", key);
    for (size_t i = 0; i < list->n; i++) buf_add_fmt(out, "%s" STR_FMT, i ? ", " : "", STR_ARG(list->at[i]));
    buf_add(out, STR("]"));
}

void rule_describe(const RuleDef *r, Buf *out) {
    Buf text = { 0 };
    add_list(&text, "tool", &r->tools);
    add_list(&text, "shell", &r->shell);
    add_list(&text, "host", &r->hosts);
    add_list(&text, "url", &r->urls);
    if (r->path_key) buf_add_fmt(&text, "%s%s: [", text.n ? ", " : "", r->path_key);
    for (size_t i = 0; i < r->n_paths; i++) buf_add_fmt(&text, "%s" STR_FMT "%s", i ? ", " : "", STR_ARG(r->paths[i].text), i + 1 == r->n_paths ? "]" : "");
    if (text.n == 0 && r->kinds) {
        buf_add(&text, STR("kind:"));
        for (CallKind k = CALL_KIND_NONE + 1; k < CALL_KIND_COUNT; k++)
            if (r->kinds & CALL_KIND_BIT(k)) buf_add_fmt(&text, " %s", call_kind_name(k));
    }
    if (r->vendors) buf_add_fmt(&text, "%svendor:", text.n ? ", " : "");
    for (Vendor v = 0; v < VENDOR_COUNT; v++)
        if (r->vendors & VENDOR_BIT(v)) buf_add_fmt(&text, " %s", vendor_name(v));
    buf_add(out, buf_str(&text));
    buf_clear(&text);
}
