/* A folder laid out like .harness/: one subfolder per format. */
#include "artifact/load.h"

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

/* A file that cannot even be read is forgiven under --lenient where what it would define may be. */
static const struct { const char *folder, *suffix, *kind; LoadFile *load; bool forgivable, project_only; } formats[] = {
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
};

/* Its own error has been told: who refers to it need not hear another. What --lenient leaves out is missed, though. */
static void note_unread(Loader *l, const char *kind, Str path) {
    static const struct { const char *kind; LoaderReferenceKind reference; } kinds[] = {
        { "tool", REFERENCE_TOOL }, { "hook", REFERENCE_HOOK }, { "agent", REFERENCE_AGENT } };
    Str name = path;
    for (ptrdiff_t slash; (slash = str_find_char(name, '/')) >= 0;) name = str_sub(name, (size_t)slash + 1, name.n);
    name.n -= STR(".md").n;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].kind, kind) == 0) VEC_PUSH(&l->unread, ((LoaderReference){ .kind = kinds[i].reference, .name = name }));
}

static void load_file(Loader *l, size_t format, Str path, SourceKind source) {
    Problems before = *l->docs.problems;
    Document d;
    bool markdown = str_ends(path, STR(".md"));
    if ((markdown ? document_read_markdown : document_read_yaml)(&l->docs, formats[format].kind, path, &d)) {
        formats[format].load(l, &d, source);
        document_clear(&d);
    } else if (!formats[format].forgivable || !loader_forgive(l, &before)) {
        note_unread(l, formats[format].kind, path);
    }
}

/* What only the project itself may have is left alone elsewhere, and said so where it would change something. */
static bool skip(Loader *l, size_t format, Str folder, size_t n, SourceKind source) {
    if (source == SOURCE_PROJECT || !formats[format].project_only) return false;
    if (n && strcmp(formats[format].folder, "overrides") == 0)
        problems_add(l->docs.problems, PROBLEM_WARNING, str_from(arena_fmt(l->docs.arena, STR_FMT STR_FMT, STR_ARG(l->docs.shown), STR_ARG(folder))),
                     (Place){ 0 }, (Str){ 0 }, "overrides outside of the project's own .harness/ are ignored");
    return true;
}

void load_root(Loader *l, Str folder, SourceKind source) {
    for (size_t f = 0; f < sizeof formats / sizeof *formats; f++) {
        Str *names;
        size_t n;
        Str sub = str_from(arena_fmt(l->docs.arena, STR_FMT "%s%s", STR_ARG(folder), folder.n ? "/" : "", formats[f].folder));
        if (!document_list(&l->docs, sub, formats[f].suffix, &names, &n) || skip(l, f, sub, n, source)) continue;
        for (size_t i = 0; i < n; i++)
            load_file(l, f, str_from(arena_fmt(l->docs.arena, STR_FMT "/" STR_FMT, STR_ARG(sub), STR_ARG(names[i]))), source);
    }
}
