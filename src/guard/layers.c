/* Reads guard.md: the policy of a user or of a machine for all agents and projects. */
#include "guard/layers.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>
#include "artifact/misplaced.h"
#include "value/list.h"

static const Str top_keys[] = { STR("rules"), STR("guard"), STR("audit") }, audit_keys[] = { STR("anchor") }, guard_keys[] = { STR("unknown"), STR("audit") };
static const Str unknown_values[] = { STR("deny"), STR("ask"), STR("allow") }, audit_values[] = { STR("required"), STR("optional") };
#define COUNT(a) (sizeof(a) / sizeof *(a))

typedef struct Reading { DocumentContext *c; const Document *d; bool ok; } Reading;

static void bad_key(Reading *r, Value map, Str key, const char *prefix, const Str *known, size_t n) {
    r->ok = false;
    document_report(r->c, r->d, PROBLEM_ERROR, document_place(r->d, map, key), field_hint(r->c->arena, key, known, n), "unknown key \"%s" STR_FMT "\"", prefix,
                    STR_ARG(key));
}

static void check_keys(Reading *r, Value map, const char *prefix, const Str *known, size_t n) {
    Entry *e;
    for (uint32_t i = 0; dict_next(value_dict(map), &i, &e);)
        if (!value_is_string(e->key) || !str_among(value_str(e->key), known, n))
            bad_key(r, map, value_is_string(e->key) ? value_str(e->key) : STR("?"), prefix, known, n);
}

static bool choose(Reading *r, Value map, const char *key, const Str *values, size_t n, size_t *out) {
    Value v = value_member(map, key);
    if (value_is_gone(v)) return false;
    for (size_t i = 0; value_is_string(v) && i < n; i++)
        if (str_eq(value_str(v), values[i])) return *out = i, true;
    r->ok = false;
    Str hint = value_is_string(v) ? field_hint(r->c->arena, value_str(v), values, n) : STR("");
    document_report(r->c, r->d, PROBLEM_ERROR, document_place(r->d, map, str_from(key)), hint, "guard.%s must be " STR_FMT "%s", key, STR_ARG(values[0]),
                    n == 3 ? ", ask or allow" : " or optional");
    return false;
}

static void read_guard(Reading *r, GuardLayer *out) {
    Value v = value_member(r->d->root, "guard");
    size_t at = 0;
    if (value_is_gone(v)) return;
    if (!value_is_dict(v)) {
        r->ok = false;
        document_error(r->c, r->d, r->d->root, STR("guard"), "guard: expected map, got %s", field_type_name(v));
        return;
    }
    check_keys(r, v, "guard.", guard_keys, COUNT(guard_keys));
    out->has_unknown = choose(r, v, "unknown", unknown_values, COUNT(unknown_values), &at);
    if (out->has_unknown) out->unknown = (GuardUnknown)at;
    out->has_audit = choose(r, v, "audit", audit_values, COUNT(audit_values), &at);
    if (out->has_audit) out->audit = at == 0;
}

/* `syslog`, an absolute path, or one below the home folder. */
static void read_anchor(Reading *r, GuardLayer *out) {
    Value v = value_member(r->d->root, "audit"), anchor = value_member(v, "anchor");
    const char *home = getenv("HOME");
    if (value_is_gone(v)) return;
    if (value_is_dict(v)) check_keys(r, v, "audit.", audit_keys, COUNT(audit_keys));
    Str s = value_is_string(anchor) ? value_str(anchor) : STR("");
    if (str_starts(s, STR("~/")) && home && home[0] == '/') s = str_from(arena_fmt(r->c->arena, "%s" STR_FMT, home, STR_ARG(str_sub(s, 1, s.n))));
    bool ok = str_eq(s, STR("syslog")) || str_starts(s, STR("/"));
    for (size_t i = 0; i < s.n; i++) ok = ok && (unsigned char)s.at[i] >= 0x20;
    if (ok) {
        out->anchor = arena_str(r->c->arena, s);
        return;
    }
    r->ok = false;
    document_error(r->c, r->d, r->d->root, STR("audit"), "audit: expected a map with anchor: syslog, or the absolute path of a file");
}

static void check_tools(Reading *r, const RuleRows *rules) {
    for (size_t i = 0; i < rules->n; i++)
        for (size_t k = 0; k < rules->at[i].tools.n; k++) {
            const RuleDef *rule = &rules->at[i];
            Str hint = rule_near_call(r->c->arena, rule->tools.at[k]);
            if (hint.n == 0) continue;
            r->ok = false;
            document_report(r->c, r->d, PROBLEM_ERROR, rule->tool_places[k], hint, "rule \"" STR_FMT "\": \"" STR_FMT "\" matches no tool", STR_ARG(rule->name),
                            STR_ARG(rule->tools.at[k]));
        }
}

static bool read_document(DocumentContext *c, const Document *d, GuardLayer *out) {
    Reading r = { c, d, true };
    if (!value_is_dict(d->root)) return document_error(c, d, d->root, STR(""), "the frontmatter must be a map"), false;
    check_keys(&r, d->root, "", top_keys, COUNT(top_keys));
    read_guard(&r, out);
    read_anchor(&r, out);
    Value rules = value_member(d->root, "rules");
    bool ok = value_is_gone(rules) || rule_rows_read(c, d, rules, "rules", false, &out->rules);
    check_tools(&r, &out->rules);
    misplaced_in_body(c, d);
    return ok && r.ok && c->problems->errors == 0;
}

/* Other users could loosen a policy file that they may write. */
static bool safe_owner(int folder, const char *path, uint32_t owner, Error *err) {
    struct stat st;
    if (fstatat(folder, "guard.md", &st, 0) != 0) return error_set(err, ERR_IO, "%s/guard.md: %m", path);
    if (st.st_uid != owner && st.st_uid != 0) return error_set(err, ERR_POLICY, "%s/guard.md belongs to another user", path);
    if (st.st_mode & 022) return error_set(err, ERR_POLICY, "%s/guard.md may be written by other users: chmod go-w it", path);
    return true;
}

static bool read_file(int folder, const char *path, GuardLayer *out, Error *err) {
    Problems problems = { 0 };
    Error none = { 0 };
    Document d = { 0 };
    out->heap = heap_new(0);
    DocumentContext c = { .root_fd = folder, .arena = &out->arena, .heap = out->heap, .names = dict_new(out->heap, 64, &none), .problems = &problems,
                          .shown = str_from(arena_fmt(&out->arena, "%s/", path)), .strict = true };
    bool ok = document_read_markdown(&c, "guard", STR("guard.md"), &d);
    if (ok) {
        ok = read_document(&c, &d, out);
        document_clear(&d);
    }
    if (!ok && problems.n) {
        Buf text = { 0 };
        problem_format(&problems.at[0], &text);
        error_set(err, ERR_CONFIG, STR_FMT, STR_ARG(buf_str(&text)));
        buf_clear(&text);
    } else if (!ok) {
        error_set(err, ERR_CONFIG, "%s/guard.md cannot be read", path);
    }
    problems_clear(&problems);
    return ok;
}

/* ---- names that are nearly right ---- */

static bool is_ending(Str ending) {
    static const char *const known[] = { "", ".md", ".mdx", ".markdown", ".yaml", ".yml", ".json", ".toml", ".txt" };
    for (size_t i = 0; i < COUNT(known); i++)
        if (strlen(known[i]) == ending.n && strncasecmp(ending.at, known[i], ending.n) == 0) return true;
    return false;
}

/* Guard.md, guard.yaml, gaurd.md, rules.md: the user meant guard.md. Copies of editors (guard.md~, guard.md.bak) are not meant. */
static bool is_nearly(const char *name) {
    static const Str meant[] = { STR("guard"), STR("rules"), STR("harness") };
    char low[NAME_MAX + 1];
    size_t n = 0;
    if (strcmp(name, "guard.md") == 0) return false;
    for (; n < NAME_MAX && name[n]; n++) low[n] = (char)(name[n] >= 'A' && name[n] <= 'Z' ? name[n] + ('a' - 'A') : name[n]);
    Str all = { low, n };
    ptrdiff_t dot = str_find_char(all, '.');
    size_t stem = dot < 0 ? n : (size_t)dot;
    if (!is_ending(str_sub(all, stem, n))) return false;
    for (size_t i = 0; i < COUNT(meant); i++)
        if (str_within(str_sub(all, 0, stem), meant[i], i == 0 ? 2 : 0)) return true;
    return false;
}

/* A policy that nothing reads would let calls through. */
static bool no_other_names(int folder, const char *path, Error *err) {
    int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    bool ok = dir || error_set(err, ERR_IO, "%s: %m", path);
    if (!dir && fd >= 0) close(fd);
    for (struct dirent *e; ok && dir && (e = readdir(dir));)
        if (is_nearly(e->d_name)) {
            error_set(err, ERR_CONFIG, "%s/%s: nothing reads this file", path, e->d_name);
            ok = error_hint(err, "did you mean \"guard.md\"?");
        }
    if (dir) closedir(dir);
    return ok;
}

/* ---- reading ---- */

bool guard_layer_read(const char *folder, uint32_t owner, GuardLayer *out, Error *err) {
    struct stat st;
    *out = (GuardLayer){ 0 };
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return errno == ENOENT || errno == ENOTDIR || error_set(err, ERR_IO, "%s: %m", folder);
    bool there = fstatat(fd, "guard.md", &st, AT_SYMLINK_NOFOLLOW) == 0;
    bool ok = there || errno == ENOENT || error_set(err, ERR_IO, "%s/guard.md: %m", folder);
    ok = ok && no_other_names(fd, folder, err);
    if (ok && there) ok = safe_owner(fd, folder, owner, err) && read_file(fd, folder, out, err);
    out->present = ok && there;
    close(fd);
    return ok;
}

void guard_layer_clear(GuardLayer *l) {
    rule_rows_clear(&l->rules);
    if (l->heap) heap_free(l->heap);
    arena_clear(&l->arena);
    *l = (GuardLayer){ 0 };
}

bool guard_layer_user_folder(Buf *out) {
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    if (config && config[0] == '/') buf_add_fmt(out, "%s/harness", config);
    else if (home && home[0] == '/') buf_add_fmt(out, "%s/.config/harness", home);
    else return false;
    return true;
}
