/* artifact_sources: folders with the layout of .harness/ from other places. They provide tools, hooks
 * and agents, never settings or overrides, and their hooks cannot fail open. */
#include <unistd.h>
#include "artifact/git.h"
#include "artifact/load.h"
#include "artifact/source.h"
#include "value/list.h"

#define COUNT(table) (sizeof(table) / sizeof *(table))

static const Field source_fields[] = {
    { KEY(source, type), .type = FIELD_STRING, .offset = offsetof(SourceDef, type), .flags = FIELD_REQUIRED },
    { KEY(source, url), .type = FIELD_STRING, .offset = offsetof(SourceDef, url) },
    { KEY(source, path), .type = FIELD_STRING, .offset = offsetof(SourceDef, path) },
    { KEY(source, ref), .type = FIELD_STRING, .offset = offsetof(SourceDef, ref) },
    { KEY(source, checksum), .type = FIELD_STRING, .offset = offsetof(SourceDef, checksum) },
};

/* ---- rules ---- */

static bool require_field(Loader *l, const LoaderPlace *at, const char *key, Str value) {
    Value *given = dict_find_str(value_dict(at->map), str_from(key));
    bool mistyped = given && !value_is_none(*given) && !value_is_string(*given);     /* reported already */
    if (value.n == 0 && !mistyped) loader_error(l, at, key, "%s.%s is required", at->path, key);
    return value.n > 0;
}

static bool check_pin(Loader *l, const LoaderPlace *at, const SourceDef *s) {
    if (git_pin_is_commit(s->ref) || (source_tag_ok(s->ref) && s->checksum.n)) return true;
    loader_error(l, at, "ref", "%s.ref \"" STR_FMT "\" is not pinned: it must be a 40-hex commit, or a tag together with checksum", at->path,
                 STR_ARG(s->ref));
    return false;
}

/* A folder inside the repository. */
static bool inner_path_ok(Str path) {
    if (str_starts(path, STR("/"))) return false;
    for (size_t i = 0; i < path.n; i++)
        if ((unsigned char)path.at[i] < 0x20 || path.at[i] == 0x7f || path.at[i] == '\\') return false;
    for (size_t from = 0; from <= path.n;) {
        ptrdiff_t slash = str_find_char(str_sub(path, from, path.n), '/');
        Str part = str_sub(path, from, slash < 0 ? path.n : from + (size_t)slash);
        if (str_eq(part, STR(".."))) return false;
        from += part.n + 1;
    }
    return true;
}

static Str clean_inner(Str path) {
    while (str_starts(path, STR("./"))) path = str_sub(path, 2, path.n);
    while (str_ends(path, STR("/"))) path.n--;
    return str_eq(path, STR(".")) ? STR("") : path;
}

static bool check_git(Loader *l, const LoaderPlace *at, SourceDef *s) {
    const char *why;
    bool ok = require_field(l, at, "url", s->url);
    if (ok && !source_url_ok(s->url, &why)) {
        loader_error(l, at, "url", "%s.url: %s", at->path, why);
        ok = false;
    }
    ok = require_field(l, at, "ref", s->ref) && check_pin(l, at, s) && ok;
    if (!inner_path_ok(s->path)) {
        loader_error(l, at, "path", "%s.path: must be a folder inside the repository", at->path);
        ok = false;
    }
    s->path = clean_inner(s->path);
    return ok;
}

static bool check_local(Loader *l, const LoaderPlace *at, const SourceDef *s) {
    if (!require_field(l, at, "path", s->path)) return false;
    if (!memchr(s->path.at, 0, s->path.n)) return true;
    loader_error(l, at, "path", "%s.path: must not contain NUL", at->path);
    return false;
}

static bool check_checksum(Loader *l, const LoaderPlace *at, const SourceDef *s) {
    if (!s->checksum.at || source_checksum_ok(s->checksum)) return true;
    loader_error(l, at, "checksum", "%s.checksum: must be sha256: and 64 lower-case hex digits", at->path);
    return false;
}

/* Without a list, any pinned source may be used; with one, only those listed. */
static bool check_trust(Loader *l, const LoaderPlace *at, const SourceDef *s) {
    const Settings *settings = &l->project->settings;
    bool local = s->local;
    if (!settings->trusted_sources.at) return true;
    Str where = local ? source_absolute(l->docs.arena, l->project->root, s->path) : s->url;
    if (source_is_trusted(l->docs.arena, where, local, &settings->trusted_sources, l->project->root)) return true;
    loader_error(l, at, local ? "path" : "url", "%s: \"" STR_FMT "\" is not in trusted_sources", at->path, STR_ARG(local ? s->path : s->url));
    return false;
}

static bool read_source(Loader *l, const LoaderPlace *at, SourceDef *s) {
    static const char *const types[] = { "git", "local", NULL };
    *s = (SourceDef){ .origin = at->origin };
    bool ok = loader_read(l, at, source_fields, COUNT(source_fields), s);
    if (!s->type.n || !loader_choice(l, at, "type", s->type, types)) return false;
    s->local = str_eq(s->type, STR("local"));
    ok = (s->local ? check_local(l, at, s) : check_git(l, at, s)) && ok;
    ok = check_checksum(l, at, s) && ok;
    return ((s->local ? s->path : s->url).n == 0 || check_trust(l, at, s)) && ok;
}

/* ---- content ---- */

/* A source must not let a call proceed when its guard failed. */
static void close_hooks(Loader *l, size_t from) {
    for (size_t i = from; i < l->hooks.n; i++) {
        HookDef *h = &l->hooks.at[i];
        if (!h->allow_on_error) continue;
        h->allow_on_error = false;
        problems_add(l->docs.problems, PROBLEM_WARNING, h->origin.file, (Place){ h->origin.line, h->origin.column }, (Str){ 0 },
                     "hook \"" STR_FMT "\": on_error: allow is ignored in an artifact source", STR_ARG(h->name));
    }
}

/* The recorded paths are relative to the source; paths of a source inside the project are protected like the project's
 * own. */
static void keep_looked_at(Loader *l, size_t from, const SourceDef *s) {
    Str root = l->project->root, folder = source_absolute(l->docs.arena, root, s->path);
    bool inside = s->local && str_starts(folder, root) && folder.n > root.n && folder.at[root.n] == '/';
    size_t n = from;
    for (size_t i = from; inside && i < l->looked_at.n; i++)
        l->looked_at.at[n++] = str_from(arena_fmt(l->docs.arena, STR_FMT "/" STR_FMT, STR_ARG(str_sub(folder, root.n + 1, folder.n)),
                                                  STR_ARG(l->looked_at.at[i])));
    l->looked_at.n = n;
}

static void load_files(Loader *l, const SourceDef *s, int fd, Str shown) {
    DocumentContext outside = l->docs;
    size_t hooks = l->hooks.n, looked_at = l->looked_at.n;
    l->docs.root_fd = fd;
    l->docs.base = source_absolute(l->docs.arena, l->project->root, s->path).at;
    if (!str_eq(s->type, STR("local"))) l->docs.view = NULL;           /* a pulled copy is in the state, where no tool can write */
    l->docs.shown = str_from(arena_fmt(l->docs.arena, STR_FMT "/", STR_ARG(shown)));
    load_root(l, STR(""), SOURCE_PULLED);
    l->docs.root_fd = outside.root_fd;
    l->docs.base = outside.base;
    l->docs.view = outside.view;
    l->docs.shown = outside.shown;
    close_hooks(l, hooks);
    keep_looked_at(l, looked_at, s);
}

static void load_one(Loader *l, const LoaderPlace *at) {
    SourceDef s;
    Str shown;
    Error err = { 0 };
    if (!read_source(l, at, &s)) return;
    VEC_PUSH(&l->sources, s);
    if (l->in->sources_only) return;
    Str state = source_state_dir(l->docs.arena, l->in->state_dir);
    int fd = source_open(l->docs.arena, state, l->project->root, &s, &shown, &err);
    if (fd < 0 || !source_verify(fd, s.checksum, &err)) {
        error_wrap(&err, "%s", at->path);
        err.line = at->origin.line;
        err.column = at->origin.column;
        problems_add_error(l->docs.problems, at->origin.file, &err);
    } else {
        load_files(l, &s, fd, shown);
    }
    if (fd >= 0) close(fd);
}

void load_source(Loader *l, const Document *d, Value list) {
    if (value_is_gone(list) || value_is_none(list)) return;
    LoaderPlace parent = { .document = d, .map = d->root, .path = "", .origin = { d->file, 1, 1, SOURCE_PROJECT } };
    if (!value_is_list(list)) {
        loader_error(l, &parent, "artifact_sources", "artifact_sources: expected list, got %s", field_type_name(list));
        return;
    }
    for (uint32_t i = 0; i < value_list(list)->n; i++) {
        LoaderPlace at = loader_item_place(l, &parent, "artifact_sources", list, i);
        load_one(l, &at);
    }
}
