/* A Construct space: agent/tools/NAME.md, space.manifest.json, agent/config.md and
 * agent/hooks/NAME.json below one folder. */
#include "artifact/space.h"
#include "artifact/misplaced.h"
#include "artifact/stray.h"
#include "value/list.h"

Str space_path(const Space *s, const char *inside) {
    if (str_eq(s->folder, STR("."))) return str_from(inside);
    return str_from(arena_fmt(s->l->docs.arena, STR_FMT "/%s", STR_ARG(s->folder), inside));
}

/* ---- tools ---- */

static void load_tool_file(Space *s, Str name) {
    Problems before = *s->l->docs.problems;
    Document d;
    Str path = space_path(s, arena_fmt(s->l->docs.arena, "agent/tools/" STR_FMT, STR_ARG(name)));
    if (!document_read_markdown(&s->l->docs, "tool", path, &d)) {
        /* The unreadable file may have restricted a server's tool or an entry of the manifest, which must
         * not become available without it. */
        if (s->l->servers.n == 0 && loader_forgive(s->l, &before)) table_put(&s->ids, str_sub(name, 0, name.n - STR(".md").n), s);
        return;
    }
    Place at = document_place(&d, d.root, STR("id"));
    misplaced_in_body(&s->l->docs, &d);
    space_load_tool(s, &(LoaderPlace){ .document = &d, .map = d.root, .path = "",
                                       .origin = { d.file, at.line, at.column, SOURCE_SPACE } }, true);
    document_clear(&d);
}

static void load_manifest_tools(Space *s, const Document *d, Value list) {
    const List *tools = value_list(list);
    for (uint32_t i = 0; i < tools->n; i++) {
        Place item = document_item_place(d, list, i);
        const char *path = arena_fmt(s->l->docs.arena, "tools[%u]", i);
        FieldInput in = { .context = &s->l->docs, .document = d, .map = tools->at[i], .path = path, .at = item };
        if (!field_is_map(&in)) continue;
        Place at = field_given(&in, "id") ? document_place(d, tools->at[i], STR("id")) : item;
        space_load_tool(s, &(LoaderPlace){ .document = d, .map = tools->at[i], .path = path,
                                           .origin = { d->file, at.line, at.column, SOURCE_SPACE } }, false);
    }
}

/* The manifest also describes the space. A restriction in it would have no effect, so it stops the load. */
static void check_manifest_keys(Space *s, const Document *d, Place root) {
    enum { ABOUT = FIELD_IGNORED | FIELD_DESCRIPTIVE };
    static const Field fields[] = {
        { .name = "tools", .flags = FIELD_IGNORED }, { .name = "$schema", .flags = ABOUT }, { .name = "id", .flags = ABOUT },
        { .name = "name", .flags = ABOUT }, { .name = "title", .flags = ABOUT }, { .name = "description", .flags = ABOUT },
        { .name = "version", .flags = ABOUT }, { .name = "author", .flags = ABOUT }, { .name = "license", .flags = ABOUT },
        { .name = "homepage", .flags = ABOUT }, { .name = "icon", .flags = ABOUT }, { .name = "category", .flags = ABOUT },
        { .name = "tags", .flags = ABOUT },
    };
    FieldInput in = { .context = &s->l->docs, .document = d, .map = d->root, .path = "", .at = root, .unknown = UNKNOWN_KEYS_GUARD };
    field_read(&in, fields, sizeof fields / sizeof *fields, NULL);
}

void space_load_manifest(Space *s, const Document *d) {
    Place root = document_item_place(d, VALUE_GONE, 0);
    Value *tools = value_is_dict(d->root) ? dict_find_str(value_dict(d->root), STR("tools")) : NULL;
    if (!value_is_dict(d->root))
        document_report(&s->l->docs, d, PROBLEM_ERROR, root, (Str){ 0 }, "parse space space.manifest.json: json: line %u: expected a map", root.line);
    else
        check_manifest_keys(s, d, root);
    if (tools && value_is_list(*tools))
        load_manifest_tools(s, d, *tools);
    else if (tools && !value_is_none(*tools))
        document_error(&s->l->docs, d, d->root, STR("tools"), "tools: expected list, got %s", field_type_name(*tools));
}

static void load_manifest_file(Space *s) {
    Document d;
    Str path = space_path(s, "space.manifest.json");
    loader_look_at(s->l, path);
    if (!document_exists(&s->l->docs, path) || !document_read_json(&s->l->docs, "space", path, &d)) return;
    space_load_manifest(s, &d);
    document_clear(&d);
}

/* ---- other files ---- */

static void load_hook_file(Space *s, Str name) {
    Document d;
    Str path = space_path(s, arena_fmt(s->l->docs.arena, "agent/hooks/" STR_FMT, STR_ARG(name)));
    if (!document_read_json(&s->l->docs, "hook", path, &d)) return;
    space_load_hooks(s, &d);
    document_clear(&d);
}

static void load_config(Space *s) {
    Document d;
    Str path = space_path(s, "agent/config.md");
    if (!document_exists(&s->l->docs, path) || !document_read_markdown(&s->l->docs, "agent", path, &d)) return;
    misplaced_in_body(&s->l->docs, &d);
    space_load_agent(s, &d);
    document_clear(&d);
}

static Str clean_folder(Arena *arena, Str folder) {
    while (str_starts(folder, STR("./"))) folder = str_sub(folder, 2, folder.n);
    while (folder.n > 1 && folder.at[folder.n - 1] == '/') folder.n--;
    return folder.n ? arena_str(arena, folder) : STR(".");
}

static void load_folder(Space *s, const char *folder, const char *suffix, void (*load)(Space *, Str)) {
    DocumentEntry *entries;
    size_t n;
    StrayFolder in = { .path = space_path(s, folder), .suffix = suffix, .guards = true };
    if (!document_entries(&s->l->docs, in.path, &entries, &n, NULL)) return;
    for (size_t i = 0; i < n; i++) {
        if (!entries[i].folder && str_ends(entries[i].name, str_from(suffix))) load(s, entries[i].name);
        else if (stray_is_definition(s->l, &in, &entries[i])) stray_note(s->l, &in, &entries[i]);
    }
}

/* agent/ may contain other files, but none whose name resembles one that harness reads: agent/hook/, agent/hooks.json,
 * agent/Config.md. */
static void note_strays(Space *s) {
    static const Str known[] = { STR("tools"), STR("hooks"), STR("config.md") };
    DocumentEntry *entries;
    size_t n;
    StrayFolder in = { .path = space_path(s, "agent"), .known = known, .n = 3, .guards = true };
    if (!document_entries(&s->l->docs, in.path, &entries, &n, NULL)) return;
    for (size_t i = 0; i < n; i++) {
        Str name = entries[i].name;
        ptrdiff_t dot = str_find_char(name, '.');
        Str stem = dot > 0 ? str_sub(name, 0, (size_t)dot) : name;
        bool is_known = entries[i].folder ? str_eq(name, known[0]) || str_eq(name, known[1]) : str_eq(name, known[2]);
        bool near = field_resembles(stem, known[0]) || field_resembles(stem, known[1]) || (!entries[i].folder && field_resembles(stem, STR("config")));
        if (!is_known && near) stray_note(s->l, &in, &entries[i]);
    }
}

void load_space(Loader *l, Str folder) {
    Space s = { .l = l, .folder = clean_folder(l->docs.arena, folder) };
    l->project->has_space = true;
    loader_look_at(l, space_path(&s, "agent"));
    if (!document_exists(&l->docs, space_path(&s, "agent")) && !document_exists(&l->docs, space_path(&s, "space.manifest.json"))) {
        problems_add(l->docs.problems, PROBLEM_ERROR, s.folder, (Place){ 0 }, (Str){ 0 },
                     "parse space " STR_FMT ": there is no agent/ and no space.manifest.json", STR_ARG(s.folder));
        return;
    }
    load_folder(&s, "agent/tools", ".md", load_tool_file);
    load_manifest_file(&s);
    load_config(&s);
    load_folder(&s, "agent/hooks", ".json", load_hook_file);
    note_strays(&s);
    table_clear(&s.ids);
}
