/* Loads a folder with the layout of .harness/: one subfolder per format. */
#include "artifact/load.h"
#include "artifact/misplaced.h"
#include "artifact/stray.h"

typedef void LoadFile(Loader *l, const Document *d, SourceKind source);

static void tool_file(Loader *l, const Document *d, SourceKind source) {
    LoaderPlace at = loader_file_place(l, d, source);
    load_tool(l, &at);
}

static void hook_file(Loader *l, const Document *d, SourceKind source) {
    LoaderPlace at = loader_file_place(l, d, source);
    load_hook(l, &at);
}

static void agent_file(Loader *l, const Document *d, SourceKind source) {
    LoaderPlace at = loader_file_place(l, d, source);
    load_agent(l, &at);
}

static void plugin_file(Loader *l, const Document *d, SourceKind source) { load_bundle(l, d, STR("plugin"), source); }
static void builtin_file(Loader *l, const Document *d, SourceKind source) { load_bundle(l, d, STR("builtin"), source); }
static void override_file(Loader *l, const Document *d, SourceKind source) { load_bundle(l, d, STR("override"), source); }

static void test_file(Loader *l, const Document *d, SourceKind source) {
    (void)source;
    load_test(l, d);
}

/* The folders of .harness/ and the files in them. Rows without a loader are read elsewhere (skills, the models of
 * tests) or unrestricted (data). --lenient skips an unreadable file only in folders whose definitions may be skipped,
 * never where guards may be. */
typedef struct Format { const char *folder, *suffix, *kind; LoadFile *load; bool forgivable, project_only; } Format;
static const Format formats[] = {
    { "tools", ".md", "tool", tool_file, true, false },
    { "hooks", ".md", "hook", hook_file, false, false },
    { "agents", ".md", "agent", agent_file, true, false },
    { "plugins", ".md", "bundle", plugin_file, false, false },
    { "builtins", ".md", "bundle", builtin_file, false, false },
    { "overrides", ".md", "bundle", override_file, false, true },
    { "prompts", ".md", "prompt", load_prompt, true, false },
    { "resources", ".md", "resource", load_resource, true, false },
    { "tests", ".md", "test", test_file, true, true },
    { "tests", ".yaml", "test", test_file, true, true },
    { "tests", ".yml", "test", test_file, true, true },
    { "tests", ".star", NULL, NULL, true, true },
    { "tests", ".jsonl", NULL, NULL, true, true },
    { "skills", NULL, NULL, NULL, true, true },
    { "data", NULL, NULL, NULL, true, true },
};
enum { FORMATS = sizeof formats / sizeof *formats };

/* Records an unreadable file, so that references to it are not reported as well. References to a file that --lenient
 * skipped are reported. */
static void note_unread(Loader *l, const char *kind, Str path) {
    static const struct { const char *kind; LoaderReferenceKind reference; } kinds[] = {
        { "tool", REFERENCE_TOOL }, { "hook", REFERENCE_HOOK }, { "agent", REFERENCE_AGENT } };
    Str name = path;                                         /* the caller's storage: copied if kept */
    for (ptrdiff_t slash; (slash = str_find_char(name, '/')) >= 0;) name = str_sub(name, (size_t)slash + 1, name.n);
    name.n -= STR(".md").n;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].kind, kind) == 0) VEC_PUSH(&l->unread, ((LoaderReference){ .kind = kinds[i].reference, .name = arena_str(l->docs.arena, name) }));
}

/* A hook, or a restriction, in a place where nothing reads it. --lenient may skip what a file defines, but not what it forbids, so this is
 * reported before the file's loader can downgrade errors. */
static bool is_in_place(Loader *l, const Format *f, const Document *d) {
    bool ok = true;
    Entry *e;
    Str event = { 0 };
    misplaced_in_body(&l->docs, d);
    if (!f->forgivable || !value_is_dict(d->root)) return true;
    bool is_hook = misplaced_hook(d->root, true, &event);
    bool governed = strcmp(f->kind, "tool") == 0 || strcmp(f->kind, "agent") == 0;       /* their own loaders refuse restrictions */
    for (uint32_t i = 0; dict_next(value_dict(d->root), &i, &e);) {
        Str key = value_is_string(e->key) ? value_str(e->key) : STR("");
        if (str_eq(key, STR("guard")) && strcmp(f->kind, "test") == 0) continue;          /* a recorded envelope of another agent */
        const char *hint = is_hook && str_eq(key, event) ? "hooks belong in .harness/hooks/" : governed ? NULL : field_restriction(key);
        if (!hint) continue;
        document_report(&l->docs, d, PROBLEM_ERROR, document_place(d, d->root, key), str_from(hint),
            "\"" STR_FMT "\" has no effect in a %s", STR_ARG(key), f->kind);
        ok = false;
    }
    return ok;
}

static void load_file(Loader *l, size_t format, Str path, SourceKind source) {
    Problems before = *l->docs.problems;
    Document d;
    bool markdown = str_ends(path, STR(".md"));
    if ((markdown ? document_read_markdown : document_read_yaml)(&l->docs, formats[format].kind, path, &d)) {
        if (is_in_place(l, &formats[format], &d)) formats[format].load(l, &d, source);
        else note_unread(l, formats[format].kind, path);
        document_clear(&d);
    } else if (!formats[format].forgivable || !loader_forgive(l, &before)) {
        note_unread(l, formats[format].kind, path);
    }
}

/* Skips folders that only the project itself may have, and reports those that would have an effect. */
static bool skip(Loader *l, size_t format, Str folder, size_t n, SourceKind source) {
    if (source == SOURCE_PROJECT || !formats[format].project_only) return false;
    if (n && strcmp(formats[format].folder, "overrides") == 0)
        problems_add(l->docs.problems, PROBLEM_WARNING, str_from(arena_fmt(l->docs.arena, STR_FMT STR_FMT, STR_ARG(l->docs.shown), STR_ARG(folder))),
                     (Place){ 0 }, (Str){ 0 }, "overrides outside of the project's own .harness/ are ignored");
    return true;
}

/* ---- unread files ---- */

static bool is_read(const char *folder, Str name) {
    for (size_t f = 0; f < FORMATS; f++)
        if (strcmp(formats[f].folder, folder) == 0 && str_ends(name, str_from(formats[f].suffix))) return true;
    return false;
}

/* The files of a source cannot be renamed here, so only a file that looks like a guard stops the load. */
static void note_files(Loader *l, const Format *f, Str path, const DocumentEntry *entries, size_t n, SourceKind source) {
    if (f->forgivable && source == SOURCE_PULLED) return;
    StrayFolder in = { .path = path, .suffix = f->suffix, .guards = !f->forgivable };
    for (size_t i = 0; i < n; i++)
        if (entries[i].folder || !is_read(f->folder, entries[i].name)) stray_note(l, &in, &entries[i]);
}

/* A root other than .harness/ may contain anything except a folder whose name resembles one that holds guards. */
static bool is_stray(const DocumentEntry *e, SourceKind source) {
    bool near_guards = false;
    for (size_t f = 0; f < FORMATS; f++) {
        Str folder = str_from(formats[f].folder);
        if (e->folder && str_eq(e->name, folder)) return false;
        near_guards = near_guards || (!formats[f].forgivable && !formats[f].project_only && field_resembles(e->name, folder));
    }
    bool is_file = str_eq(e->name, STR("harness.md")) || str_ends(e->name, STR(".star"));         /* the script of a scripted model */
    if (source == SOURCE_PROJECT) return e->folder || !is_file;
    return e->folder && near_guards;
}

static void note_folders(Loader *l, Str folder, SourceKind source) {
    Str known[FORMATS + 1];
    DocumentEntry *entries;
    StrList readmes;
    size_t n = 0, count;
    for (size_t f = 0; f < FORMATS; f++)
        if (f == 0 || strcmp(formats[f].folder, formats[f - 1].folder) != 0) known[n++] = str_from(formats[f].folder);
    known[n++] = STR("harness.md");
    StrayFolder in = { .path = folder, .known = known, .n = n };
    if (!document_entries(&l->docs, folder, &entries, &count, &readmes)) return;
    for (size_t i = 0; i < count; i++)
        if (is_stray(&entries[i], source)) stray_note(l, &in, &entries[i]);
    stray_readmes(l, folder, readmes);
}

/* A skill is a folder; it may contain anything but a hook, which would never run. */
static void note_skills(Loader *l, Str folder) {
    DocumentEntry *entries;
    StrList readmes;
    size_t n;
    Str skills = str_from(arena_fmt(l->docs.arena, STR_FMT "%sskills", STR_ARG(folder), folder.n ? "/" : ""));
    StrayFolder in = { .path = skills, .hint = "a skill is a folder with a SKILL.md" };
    if (!document_entries(&l->docs, skills, &entries, &n, &readmes)) return;
    stray_readmes(l, skills, readmes);
    for (size_t i = 0; i < n; i++) {
        if (entries[i].folder) stray_hooks(l, str_from(arena_fmt(l->docs.arena, STR_FMT "/" STR_FMT, STR_ARG(skills), STR_ARG(entries[i].name))));
        else if (!stray_hook(l, skills, entries[i].name)) stray_note(l, &in, &entries[i]);
    }
}

void load_root(Loader *l, Str folder, SourceKind source) {
    for (size_t f = 0; f < FORMATS; f++) {
        if (!formats[f].load) continue;
        DocumentEntry *entries;
        StrList readmes;
        size_t n;
        Str sub = str_from(arena_fmt(l->docs.arena, STR_FMT "%s%s", STR_ARG(folder), folder.n ? "/" : "", formats[f].folder));
        if (!document_entries(&l->docs, sub, &entries, &n, &readmes) || skip(l, f, sub, n, source)) continue;
        bool first = f == 0 || strcmp(formats[f].folder, formats[f - 1].folder) != 0;
        if (first) note_files(l, &formats[f], sub, entries, n, source);
        if (first) stray_readmes(l, sub, readmes);
        Buf path = { 0 };
        for (size_t i = 0; i < n; i++) {
            if (entries[i].folder || !str_ends(entries[i].name, str_from(formats[f].suffix))) continue;
            buf_reset(&path);
            buf_add_fmt(&path, STR_FMT "/" STR_FMT, STR_ARG(sub), STR_ARG(entries[i].name));
            load_file(l, f, buf_str(&path), source);
        }
        buf_clear(&path);
    }
    note_folders(l, folder, source);
    if (source == SOURCE_PROJECT) note_skills(l, folder);
}
