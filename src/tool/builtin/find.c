/* The tools glob and grep; the search is in glob_files.c and grep.c. */
#include "tool/builtin/builtin.h"
#include "tool/builtin/glob_files.h"
#include "tool/builtin/grep.h"
#include "value/list.h"

static bool put_path(Heap *h, Str prefix, Str path, Value *out, Error *err) {
    if (prefix.n == 0) return kind_text_value(h, path, out, err);
    Buf whole = { 0 };
    buf_add(&whole, prefix);
    buf_add(&whole, path);
    bool ok = kind_text_value(h, buf_str(&whole), out, err);
    buf_clear(&whole);
    return ok;
}

/* {KEY: list, truncated} */
static bool give_list(ToolCallFrame *f, const char *key, List *list, bool truncated, Error *err) {
    Dict *d = dict_new(f->heap, 2, err);
    if (!d || !dict_put_str(f->heap, d, str_from(key), value_from_object(list), err)) return false;
    f->value = value_from_object(d);
    return dict_put_str(f->heap, d, STR("truncated"), value_from_bool(truncated), err);
}

/* ---- glob ---- */

static bool give_files(ToolCallFrame *f, const GlobFilesResult *r, Str prefix, Error *err) {
    List *list = list_new(f->heap, r->n, err);
    Value path;
    if (!list) return false;
    for (size_t i = 0; i < r->n; i++)
        if (!put_path(f->heap, prefix, r->files[i].path, &path, err) || !list_push(f->heap, list, path, err)) return false;
    return give_list(f, "files", list, r->truncated, err);
}

static bool run_glob(ToolCallFrame *f, Error *err) {
    Arena arena = { 0 };
    BuiltinStart s;
    GlobFilesResult r = { 0 };
    bool ok = builtin_start_open(f, &arena, &s, err);
    GlobFilesInput in = { .root = s.root, .start = s.start, .pattern = builtin_arg_text(f, "pattern", STR("")), .hidden = builtin_arg_flag(f, "hidden"),
                          .may_see = builtin_may_see, .state = &s };
    ok = ok && glob_files(&in, f->cancel, &arena, &r, err) && give_files(f, &r, s.prefix, err);
    builtin_start_close(&s);
    arena_clear(&arena);
    return builtin_end(f, ok, err);
}

/* ---- grep ---- */

static bool put_lines(Heap *h, Dict *d, const char *key, const Str *lines, size_t n, Error *err) {
    List *list = list_new(h, n, err);
    Value text;
    if (!list) return false;
    for (size_t i = 0; i < n; i++)
        if (!kind_text_value(h, lines[i], &text, err) || !list_push(h, list, text, err)) return false;
    return dict_put_str(h, d, str_from(key), value_from_object(list), err);
}

static bool add_match(Heap *h, List *list, const GrepMatch *m, Str prefix, Error *err) {
    Dict *d = dict_new(h, 5, err);
    Value path;
    return d && put_path(h, prefix, m->path, &path, err) && dict_put_str(h, d, STR("path"), path, err) &&
           dict_put_str(h, d, STR("line"), value_from_small((int64_t)m->line), err) && builtin_put_text(h, d, "text", m->text, err) &&
           put_lines(h, d, "before", m->before, m->before_n, err) && put_lines(h, d, "after", m->after, m->after_n, err) &&
           list_push(h, list, value_from_object(d), err);
}

static bool give_matches(ToolCallFrame *f, const GrepResult *r, Str prefix, Error *err) {
    List *list = list_new(f->heap, r->n, err);
    if (!list) return false;
    for (size_t i = 0; i < r->n; i++)
        if (!add_match(f->heap, list, &r->matches[i], prefix, err)) return false;
    return give_list(f, "matches", list, r->truncated, err);
}

static bool context_of(const ToolCallFrame *f, size_t *out, Error *err) {
    int64_t named = builtin_arg_int(f, "context", -1), letter = builtin_arg_int(f, "-C", -1);
    if (named >= 0 && letter >= 0 && named != letter) return error_set(err, ERR_VALIDATION, "context and -C have different values");
    *out = named >= 0 ? (size_t)named : letter >= 0 ? (size_t)letter : 0;
    return true;
}

static bool run_grep(ToolCallFrame *f, Error *err) {
    Arena arena = { 0 };
    BuiltinStart s = { .root = -1 };
    GrepResult r = { 0 };
    size_t context = 0;
    bool ok = context_of(f, &context, err) && builtin_start_open(f, &arena, &s, err);
    s.reads = f;
    GrepInput in = { .root = s.root, .start = s.start, .pattern = builtin_arg_text(f, "pattern", STR("")), .type = builtin_arg_text(f, "type", STR("")),
                     .context = context, .may_see = builtin_may_see, .state = &s };
    ok = ok && grep_files(&in, f->cancel, &arena, &r, err) && give_matches(f, &r, s.prefix, err);
    builtin_start_close(&s);
    arena_clear(&arena);
    return builtin_end(f, ok, err);
}

#define LINES "{\"type\":\"integer\",\"minimum\":0,\"maximum\":100,\"description\":\"Lines to show before and after each match.\"}"

const BuiltinDef builtin_find[] = {
    { .name = "glob", .title = "Find files by name",
      .description = "Finds files whose path matches a pattern, newest first, at most 10,000. `*` and `?` stay within a folder, `**` crosses folders; {a,b} and "
                     "[a-z] work too. Skips files that .gitignore excludes.",
      .parameters = "{\"type\":\"object\",\"properties\":{"
                    "\"pattern\":{\"type\":\"string\",\"minLength\":1,\"description\":\"As in **/*.ts or src/{lib,app}/*.c.\"},"
                    "\"path\":{\"type\":\"string\",\"minLength\":1,\"description\":\"Folder the pattern starts at. Default: the workspace.\"},"
                    "\"hidden\":{\"type\":\"boolean\",\"default\":false,\"description\":\"Wildcards also match names that start with a period.\"}},"
                    "\"required\":[\"pattern\"],\"additionalProperties\":false}",
      .timeout_ms = 5000, .execute = run_glob },
    { .name = "grep", .title = "Search in files",
      .description = "Finds lines that match a regular expression (PCRE2; (?i) ignores case), in the order of paths, at most 1,000. Skips binary files, "
                     "hidden files and files that .gitignore excludes.",
      .parameters = "{\"type\":\"object\",\"properties\":{"
                    "\"pattern\":{\"type\":\"string\",\"minLength\":1,\"description\":\"The regular expression; it matches within one line.\"},"
                    "\"path\":{\"type\":\"string\",\"minLength\":1,\"description\":\"Folder or file to search. Default: the workspace.\"},"
                    "\"type\":{\"type\":\"string\",\"description\":\"Only files of this type: c, py, js, go, rust, md … or an extension like tsx.\"},"
                    "\"context\":" LINES ",\"-C\":" LINES "},"
                    "\"required\":[\"pattern\"],\"additionalProperties\":false}",
      .timeout_ms = 10000, .execute = run_grep },
    { 0 },
};
