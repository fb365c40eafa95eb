#include "artifact/stray.h"
#include <errno.h>
#include <limits.h>
#include <strings.h>
#include "artifact/misplaced.h"
#include "base/nearly.h"
#include "sandbox/view.h"
#include "value/list.h"

/* ---- hints ---- */

static Str stem(Str name) {
    for (size_t i = name.n; i-- > 1;)
        if (name.at[i] == '.') return str_sub(name, 0, i);
    return name;
}

static Str hint_for(Loader *l, const StrayFolder *in, const DocumentEntry *e) {
    Arena *arena = l->docs.arena;
    if (in->hint) return str_from(in->hint);
    if (in->suffix && e->folder) return STR("move its files up: subfolders are not read");
    if (in->suffix) return str_from(arena_fmt(arena, "did you mean \"" STR_FMT "%s\"?", STR_ARG(stem(e->name)), in->suffix));
    Str near = field_hint(arena, e->name, in->known, in->n);
    if (near.n == 0) near = field_hint(arena, stem(e->name), in->known, in->n);
    return near.n ? near : STR("files of your own belong in .harness/data/");
}

enum { HEAD_MAX = 1 << 20 };

/* The text of a file that is not part of the project. False: it cannot be read, or is too large to be a definition. */
static bool read_text(Loader *l, Str path, Buf *text) {
    DocumentContext docs = l->docs;
    docs.files = NULL;                                    /* do not record it as a loaded file */
    return document_read_bytes(&docs, path, HEAD_MAX, text, NULL);
}

/* ---- definitions and programs ---- */

static Str lower(Str name, char *out, size_t room) {
    size_t n = name.n < room ? name.n : room;
    for (size_t i = 0; i < n; i++) out[i] = (char)(name.at[i] >= 'A' && name.at[i] <= 'Z' ? name.at[i] + ('a' - 'A') : name.at[i]);
    return (Str){ out, n };
}

static bool has_definition(Loader *l, const StrayFolder *in, Str folder) {
    DocumentEntry *entries;
    size_t n;
    Str path = str_from(arena_fmt(l->docs.arena, STR_FMT "/" STR_FMT, STR_ARG(in->path), STR_ARG(folder)));
    if (!document_entries(&l->docs, path, &entries, &n, NULL)) return true;
    for (size_t i = 0; i < n; i++)
        if (!entries[i].folder && str_ends(entries[i].name, str_from(in->suffix))) return true;
    return false;
}

/* A file without a suffix is a program, unless it begins like JSON or frontmatter. */
static bool begins_like_one(Loader *l, const StrayFolder *in, const DocumentEntry *e) {
    Buf text = { 0 };
    Str path = str_from(arena_fmt(l->docs.arena, STR_FMT "/" STR_FMT, STR_ARG(in->path), STR_ARG(e->name)));
    Str head = read_text(l, path, &text) ? str_trim(buf_str(&text)) : STR("");
    bool begins = head.n && (head.at[0] == '{' || head.at[0] == '[' || str_starts(head, STR("---")));
    buf_clear(&text);
    return begins;
}

bool stray_is_definition(Loader *l, const StrayFolder *in, const DocumentEntry *e) {
    static const Str kinds[] = { STR(".json"), STR(".jsonc"), STR(".json5"), STR(".jsn"), STR(".md"), STR(".mdx"), STR(".markdown"), STR(".yaml"),
                                 STR(".yml"), STR(".toml"), STR(".txt") };
    char text[NAME_MAX];
    if (e->folder) return has_definition(l, in, e->name);
    Str name = lower(e->name, text, sizeof text);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (str_ends(name, kinds[i])) return true;
    if (str_find_char(name, '.') >= 0) return false;
    return field_resembles(name, STR("hooks")) || field_resembles(name, STR("tools")) || field_resembles(name, STR("config")) || begins_like_one(l, in, e);
}

void stray_note(Loader *l, const StrayFolder *in, const DocumentEntry *e) {
    Arena *arena = l->docs.arena;
    Str path = str_from(arena_fmt(arena, STR_FMT "%s" STR_FMT, STR_ARG(in->path), in->path.n ? "/" : "", STR_ARG(e->name)));
    bool inside = l->docs.shown.n == 0 && !in->guards;
    const char *message = in->suffix && !e->folder ? arena_fmt(arena, "nothing reads this file: only *%s is read here", in->suffix)
                        : e->folder ? "nothing reads this folder" : "nothing reads this file";
    VEC_PUSH(&l->strays, ((LoaderStray){ .path = inside ? path : (Str){ 0 }, .folder = e->folder, .message = message,
                                         .shown = str_from(arena_fmt(arena, STR_FMT STR_FMT, STR_ARG(l->docs.shown), STR_ARG(path))),
                                         .hint = hint_for(l, in, e) }));
}

/* ---- hooks that nothing reads ---- */

enum { DEPTH_MAX = 16 };
typedef struct HookSearch { Loader *l; Str folder; int depth; } HookSearch;

static bool report_hook(Loader *l, Str folder, Str name, bool is_free) {
    Str path = str_from(arena_fmt(l->docs.arena, STR_FMT "%s" STR_FMT, STR_ARG(folder), folder.n ? "/" : "", STR_ARG(name)));
    Buf text = { 0 };
    uint32_t line;
    bool is_hook = read_text(l, path, &text) && misplaced_hook_in_text(name, buf_str(&text), is_free, &line);
    if (is_hook)
        problems_add(l->docs.problems, PROBLEM_ERROR, str_from(arena_fmt(l->docs.arena, STR_FMT STR_FMT, STR_ARG(l->docs.shown), STR_ARG(path))),
                     (Place){ line ? line : 1, 1 }, is_free ? STR("give it another name than README") : STR("hooks belong in .harness/hooks/"),
                     "this looks like a hook, but nothing reads it");
    buf_clear(&text);
    return is_hook;
}

bool stray_hook(Loader *l, Str folder, Str name) { return report_hook(l, folder, name, false); }

void stray_readmes(Loader *l, Str folder, StrList names) {
    for (size_t i = 0; i < names.n; i++) report_hook(l, folder, names.at[i], true);
}

static void search_folder(HookSearch *s);

static void check_hook(void *ctx, Str name, bool folder) {
    HookSearch *s = ctx;
    if (folder && s->depth < DEPTH_MAX) {
        Str path = str_from(arena_fmt(s->l->docs.arena, STR_FMT "/" STR_FMT, STR_ARG(s->folder), STR_ARG(name)));
        search_folder(&(HookSearch){ s->l, path, s->depth + 1 });
    }
    if (!folder) report_hook(s->l, s->folder, name, false);
}

static void search_folder(HookSearch *s) { document_each(&s->l->docs, s->folder, check_hook, s); }

void stray_hooks(Loader *l, Str folder) {
    if (document_exists(&l->docs, folder)) search_folder(&(HookSearch){ l, folder, 0 });
}

/* ---- the root ---- */

/* A file that a call has just created, in another process, is not part of the project. */
static bool is_new(const Loader *l, Str name) {
    ViewEntry e;
    return l->docs.view && view_find(l->docs.view, l->docs.base, name, &e) && !e.node && e.error == ENOENT;
}

static bool has_entry(Loader *l, Str folder, Str wanted) {
    DocumentEntry *entries;
    size_t n;
    if (!document_entries(&l->docs, folder, &entries, &n, NULL)) return false;
    for (size_t i = 0; i < n; i++)
        if (field_same(entries[i].name, wanted)) return true;
    return false;
}

/* `Agent/` may be any folder, unless it has the files of a space. */
static bool is_space(Loader *l, Str folder) {
    if (str_eq(folder, STR("agent")) || !field_same(folder, STR("agent"))) return false;
    return has_entry(l, folder, STR("config.md")) || has_entry(l, folder, STR("hooks"));
}

/* guard.md is read in the folders of the user and the machine. */
static void check_guard(Loader *l, Str name) {
    Buf text = { 0 };
    uint32_t line;
    if (read_text(l, name, &text) && misplaced_policy_in_text(name, buf_str(&text), &line))
        problems_add(l->docs.problems, PROBLEM_ERROR, arena_str(l->docs.arena, name), (Place){ line ? line : 1, 1 },
                     STR("rules of a project belong in harness.md, rules for all projects in ~/.config/harness/guard.md"), "nothing reads the policy in this file");
    buf_clear(&text);
}

static void note_in_root(void *ctx, Str name, bool folder) {
    Loader *l = ctx;
    if (!folder && field_same(name, STR("guard.md")) && !is_new(l, name)) check_guard(l, name);
    Str meant = folder && is_space(l, name) ? STR("agent") : nearly_project_file(name, folder);
    if (meant.n == 0 || str_eq(name, l->config) || is_new(l, name)) return;
    if (l->in->tools && str_ends(str_from(l->in->tools), name)) return;
    Str path = arena_str(l->docs.arena, name);
    VEC_PUSH(&l->strays, ((LoaderStray){ .path = path, .folder = folder, .message = folder ? "nothing reads this folder" : "nothing reads this file",
                                         .shown = path, .hint = str_from(arena_fmt(l->docs.arena, "did you mean \"" STR_FMT "\"?", STR_ARG(meant))) }));
}

void stray_root(Loader *l) { document_each(&l->docs, STR(""), note_in_root, l); }

/* ---- files that the project names ---- */

static bool names(Str text, const LoaderStray *s) {
    static const Str tests = STR(".harness/tests/");
    while (str_starts(text, STR("./"))) text = str_sub(text, 2, text.n);
    Str path = s->path;
    for (int i = 0; i < 2; i++) {
        if (str_starts(text, path) && (text.n == path.n || (s->folder && text.at[path.n] == '/'))) return true;
        if (!str_starts(s->path, tests)) return false;
        path = str_sub(s->path, tests.n, s->path.n);         /* paths in a test may be relative to the test */
    }
    return false;
}

static bool value_names(Value v, const LoaderStray *s) {
    Entry *e;
    if (value_is_string(v)) return names(value_str(v), s);
    for (uint32_t i = 0; value_is_list(v) && i < value_list(v)->n; i++)
        if (value_names(value_list(v)->at[i], s)) return true;
    for (uint32_t i = 0; value_is_dict(v) && dict_next(value_dict(v), &i, &e);)
        if (value_names(e->value, s)) return true;
    return false;
}

static bool server_names(const ServerDef *server, const LoaderStray *s) {
    for (size_t i = 0; i < server->args.n; i++)
        if (names(server->args.at[i], s)) return true;
    return names(server->command, s) || names(server->cwd, s);
}

static bool is_named(const Loader *l, const LoaderStray *s) {
    if (s->path.n == 0) return false;
    if (value_names(l->settings.root, s)) return true;
    for (size_t i = 0; i < l->tests.n; i++)
        if (value_names(l->tests.at[i].root, s)) return true;
    for (size_t i = 0; i < l->prompts.n; i++)
        if (value_names(l->prompts.at[i].messages, s)) return true;
    for (size_t i = 0; i < l->resources.n; i++)
        if (names(l->resources.at[i].file, s)) return true;
    for (size_t i = 0; i < l->servers.n; i++)
        if (server_names(&l->servers.at[i], s)) return true;
    return false;
}

void stray_report(Loader *l) {
    for (size_t i = 0; i < l->strays.n; i++) {
        const LoaderStray *s = &l->strays.at[i];
        if (is_named(l, s)) continue;
        if (s->folder) problems_add(l->docs.problems, PROBLEM_ERROR, s->shown, (Place){ 0 }, s->hint, "%s", s->message);
        else problems_add_about_file(l->docs.problems, PROBLEM_ERROR, s->shown, s->hint, s->message);
    }
}
