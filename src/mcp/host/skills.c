#include "mcp/host/skills.h"
#include "base/digest.h"
#include "base/utf8.h"
#include "mcp/host/host_private.h"
#include "mcp/host/resources.h"
#include "tool/resource.h"
#include "value/frontmatter.h"
#include "value/yaml.h"

#define FOLDER ".harness/skills"
enum { FILES_MAX = 512, BYTES_MAX = 16 << 20, DEPTH_MAX = 8, MANIFEST_MAX = 1 << 20 };

/* ---- names ---- */

/* [a-z0-9] and single hyphens between them, at most 64. */
static bool name_ok(Str s) {
    for (size_t i = 0; i < s.n; i++) {
        char c = s.at[i];
        bool hyphen = c == '-';
        if (!hyphen && !(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9')) return false;
        if (hyphen && (i == 0 || i + 1 == s.n || s.at[i - 1] == '-')) return false;
    }
    return s.n > 0 && s.n <= 64;
}

static void add_uri(Buf *out, Str skill, Str path) {
    buf_add_fmt(out, SERVE_SKILLS STR_FMT "/", STR_ARG(skill));
    for (size_t i = 0; i < path.n; i++) {
        unsigned char c = (unsigned char)path.at[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || (c && strchr("/-._~", c));
        if (plain) buf_add_char(out, (char)c);
        else buf_add_fmt(out, "%%%02X", c);
    }
}

static int hex(char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1; }

/* No part of the path is empty or hidden; ".." is both. */
static bool parts_ok(Str path) {
    for (size_t i = 0; i < path.n; i++)
        if ((i == 0 || path.at[i - 1] == '/') && (path.at[i] == '.' || path.at[i] == '/')) return false;
    return !str_ends(path, STR("/")) && !memchr(path.at, 0, path.n) && utf8_valid(path);
}

/* skill://NAME/PATH; the path may be empty. */
static bool split(Str uri, Str *skill, Buf *path) {
    if (!str_starts(uri, STR(SERVE_SKILLS)) || uri.n > 4096) return false;
    Str rest = str_sub(uri, sizeof SERVE_SKILLS - 1, uri.n);
    ptrdiff_t slash = str_find_char(rest, '/');
    *skill = slash < 0 ? rest : str_sub(rest, 0, (size_t)slash);
    rest = slash < 0 ? STR("") : str_sub(rest, (size_t)slash + 1, rest.n);
    for (size_t i = 0; i < rest.n; i++) {
        int high = rest.at[i] == '%' && i + 2 < rest.n ? hex(rest.at[i + 1]) : -1, low = high >= 0 ? hex(rest.at[i + 2]) : -1;
        if (rest.at[i] == '%' && low < 0) return false;
        buf_add_char(path, rest.at[i] == '%' ? (char)(high * 16 + low) : rest.at[i]);
        if (rest.at[i] == '%') i += 2;
    }
    return name_ok(*skill) && parts_ok(buf_str(path));
}

/* ---- one skill ---- */

static bool manifest(McpRequest *q, Str skill, Value *out, Error *err) {
    Buf text = { 0 }, folder = { 0 };
    Frontmatter parts;
    buf_add_fmt(&folder, FOLDER "/" STR_FMT, STR_ARG(skill));
    bool ok = tool_resource_below(run_runtime(q->run), buf_str(&folder), STR("SKILL.md"), &text, err) && frontmatter_split(buf_str(&text), &parts, err) &&
              yaml_read(q->heap, parts.yaml, &(YamlRead){ .first_line = parts.yaml_line, .max_bytes = MANIFEST_MAX, .expect_map = true }, out, err);
    buf_clear(&text);
    buf_clear(&folder);
    Value *name = ok ? dict_find_str(value_dict(*out), STR("name")) : NULL, *about = ok ? dict_find_str(value_dict(*out), STR("description")) : NULL;
    if (ok && !(name && value_is_string(*name) && str_eq(value_str(*name), skill))) ok = error_set(err, ERR_CONFIG, "name must be that of its folder");
    if (ok && !(about && value_is_string(*about) && value_str(*about).n)) ok = error_set(err, ERR_CONFIG, "description is required");
    return ok || error_wrap(err, FOLDER "/" STR_FMT "/SKILL.md", STR_ARG(skill));
}

typedef struct Files { McpRequest *q; Str skill; List *out; int64_t bytes; Arena arena; Error *err; } Files;

static bool add_file(Files *f, Str path) {
    Heap *h = f->q->heap;
    Buf bytes = { 0 }, folder = { 0 }, uri = { 0 }, text = { 0 };
    uint8_t digest[DIGEST_SHA256_BYTES];
    buf_add_fmt(&folder, FOLDER "/" STR_FMT, STR_ARG(f->skill));
    add_uri(&uri, f->skill, path);
    buf_add(&text, STR("sha256:"));
    Dict *d = dict_new(h, 3, f->err);
    bool ok = d && tool_resource_below(run_runtime(f->q->run), buf_str(&folder), path, &bytes, f->err) && digest_sha256(buf_str(&bytes), digest, f->err);
    f->bytes += (int64_t)bytes.n;
    if (ok && (f->bytes > BYTES_MAX || f->out->n >= FILES_MAX))
        ok = error_set(f->err, ERR_LIMIT, "skill \"" STR_FMT "\" has more than %d files or %d MiB", STR_ARG(f->skill), FILES_MAX, BYTES_MAX >> 20);
    if (ok) digest_hex(digest, sizeof digest, &text);
    ok = ok && dict_put_text(h, d, "uri", buf_str(&uri), f->err) && dict_put_text(h, d, "digest", buf_str(&text), f->err) &&
         dict_put_str(h, d, STR("size"), value_from_small((int64_t)bytes.n), f->err) && list_push(h, f->out, value_from_object(d), f->err);
    buf_clear(&bytes);
    buf_clear(&folder);
    buf_clear(&uri);
    buf_clear(&text);
    return ok;
}

static bool add_files(Files *f, Str path, int depth) {
    ResourceEntry *all;
    size_t n;
    char *folder = arena_fmt(&f->arena, FOLDER "/" STR_FMT "%s" STR_FMT, STR_ARG(f->skill), path.n ? "/" : "", STR_ARG(path));
    if (depth > DEPTH_MAX) return error_set(f->err, ERR_LIMIT, "skill \"" STR_FMT "\" has folders deeper than %d", STR_ARG(f->skill), DEPTH_MAX);
    if (!tool_resource_list(run_runtime(f->q->run), str_from(folder), &f->arena, &all, &n, f->err)) return false;
    for (size_t i = 0; i < n; i++) {
        Str below = str_from(arena_fmt(&f->arena, STR_FMT "%s" STR_FMT, STR_ARG(path), path.n ? "/" : "", STR_ARG(all[i].name)));
        if (all[i].folder ? !add_files(f, below, depth + 1) : !add_file(f, below)) return false;
    }
    return true;
}

/* {uri, frontmatter, resources: [{uri, digest, size}]} */
static bool entry(McpRequest *q, Str skill, Value *out, Error *err) {
    Heap *h = q->heap;
    Value about;
    Buf uri = { 0 };
    Dict *d = dict_new(h, 3, err);
    List *files = d ? list_new(h, 4, err) : NULL;
    Files f = { .q = q, .skill = skill, .out = files, .err = err };
    add_uri(&uri, skill, STR("SKILL.md"));
    bool ok = files && manifest(q, skill, &about, err) && add_files(&f, (Str){ 0 }, 0) && dict_put_text(h, d, "uri", buf_str(&uri), err) &&
              dict_put_str(h, d, STR("frontmatter"), about, err) && dict_put_str(h, d, STR("resources"), value_from_object(files), err);
    arena_clear(&f.arena);
    buf_clear(&uri);
    if (ok) *out = value_from_object(d);
    return ok;
}

/* ---- all of them ---- */

/* Folders that might be skills; an invalid one is logged when it is read. */
static size_t folders(McpRequest *q, Arena *arena, ResourceEntry **out) {
    size_t n = 0, kept = 0;
    if (!tool_resource_list(run_runtime(q->run), STR(FOLDER), arena, out, &n, NULL)) return 0;
    for (size_t i = 0; i < n; i++)
        if ((*out)[i].folder && name_ok((*out)[i].name)) (*out)[kept++] = (*out)[i];
    return kept;
}

static void complain(McpRequest *q, const Error *why) { LOG_WRITE(q->server->config.log, LOG_WARN, "%s: it is not offered", why->msg); }

bool serve_skills_each(McpRequest *q, bool (*each)(void *ctx, Str uri, Str name, Str description, Error *err), void *ctx, Error *err) {
    Arena arena = { 0 };
    ResourceEntry *all;
    size_t n = folders(q, &arena, &all);
    bool ok = true;
    for (size_t i = 0; ok && i < n; i++) {
        Value about;
        Buf uri = { 0 };
        Error why = { 0 };
        add_uri(&uri, all[i].name, STR("SKILL.md"));
        if (manifest(q, all[i].name, &about, &why)) ok = each(ctx, buf_str(&uri), all[i].name,
            value_str(*dict_find_str(value_dict(about), STR("description"))), err);
        else complain(q, &why);
        buf_clear(&uri);
    }
    arena_clear(&arena);
    return ok;
}

bool serve_skills_list(McpRequest *q, Error *err) {
    Arena arena = { 0 };
    ResourceEntry *all;
    size_t n = folders(q, &arena, &all), from, to;
    Value next, one;
    Dict *d = dict_new(q->heap, 2, err);
    List *skills = d ? list_new(q->heap, n, err) : NULL;
    bool ok = skills && serve_page(q, n, &from, &to, &next, err);
    for (size_t i = ok ? from : 0; ok && i < to; i++) {
        Error why = { 0 };
        if (entry(q, all[i].name, &one, &why)) ok = list_push(q->heap, skills, one, err);
        else complain(q, &why);
    }
    ok = ok && dict_put_str(q->heap, d, STR("skills"), value_from_object(skills), err) &&
         (value_is_gone(next) || dict_put_str(q->heap, d, STR("nextCursor"), next, err));
    arena_clear(&arena);
    q->result = value_from_object(d);
    q->ttl_ms = SERVE_TTL_MS;
    return ok;
}

bool serve_skills_get(McpRequest *q, Error *err) {
    Str uri, skill;
    Buf path = { 0 };
    Value one;
    Error why = { 0 };
    if (!serve_text(q, "uri", &uri, err)) return false;
    bool known = split(uri, &skill, &path) && str_eq(buf_str(&path), STR("SKILL.md")) && entry(q, skill, &one, &why);
    buf_clear(&path);
    if (!known) return serve_resources_missing(q, uri, err);
    Dict *d = dict_new(q->heap, 1, err);
    q->ttl_ms = SERVE_TTL_MS;
    return d && dict_put_str(q->heap, d, STR("skill"), one, err) && (q->result = value_from_object(d), true);
}

bool serve_skills_read(McpRequest *q, Str uri, Buf *out, Str *path, Error *err) {
    Str skill;
    Buf below = { 0 }, folder = { 0 };
    Value about;
    Error why = { 0 };
    bool ok = split(uri, &skill, &below) && below.n && manifest(q, skill, &about, &why);
    if (ok) buf_add_fmt(&folder, FOLDER "/" STR_FMT, STR_ARG(skill));
    ok = ok && tool_resource_below(run_runtime(q->run), buf_str(&folder), buf_str(&below), out, &why);
    buf_clear(&below);
    buf_clear(&folder);
    *path = uri;
    return ok || error_set(err, ERR_VALIDATION, "no skill contains " STR_FMT, STR_ARG(uri));
}

/* ---- folders of skills ---- */

static bool add_child(McpRequest *q, List *out, Str skill, Str path, const ResourceEntry *e, Error *err) {
    Heap *h = q->heap;
    Buf uri = { 0 }, below = { 0 };
    buf_add_fmt(&below, STR_FMT "%s" STR_FMT, STR_ARG(path), path.n ? "/" : "", STR_ARG(e->name));
    add_uri(&uri, skill, buf_str(&below));
    Str type = e->folder ? STR("inode/directory") : serve_resources_type(e->name);
    Dict *d = dict_new(h, 3, err);
    bool ok = d && dict_put_text(h, d, "uri", buf_str(&uri), err) && dict_put_text(h, d, "name", e->name, err) &&
              (!type.n || dict_put_text(h, d, "mimeType", type, err)) && list_push(h, out, value_from_object(d), err);
    buf_clear(&uri);
    buf_clear(&below);
    return ok;
}

static bool list_children(McpRequest *q, Str skill, Str path, const ResourceEntry *all, size_t n, Error *err) {
    size_t from, to;
    Value next;
    Dict *d = dict_new(q->heap, 2, err);
    List *list = d ? list_new(q->heap, n, err) : NULL;
    bool ok = list && serve_page(q, n, &from, &to, &next, err);
    for (size_t i = ok ? from : 0; ok && i < to; i++) ok = add_child(q, list, skill, path, &all[i], err);
    q->result = value_from_object(d);
    q->ttl_ms = SERVE_TTL_MS;
    return ok && dict_put_str(q->heap, d, STR("resources"), value_from_object(list), err) &&
           (value_is_gone(next) || dict_put_str(q->heap, d, STR("nextCursor"), next, err));
}

bool serve_skills_directory(McpRequest *q, Error *err) {
    Str uri, skill;
    Buf path = { 0 }, folder = { 0 };
    Arena arena = { 0 };
    ResourceEntry *all;
    size_t n;
    Value about;
    Error why = { 0 };
    if (!serve_text(q, "uri", &uri, err)) return false;
    bool known = split(uri, &skill, &path) && manifest(q, skill, &about, &why);
    if (known) buf_add_fmt(&folder, FOLDER "/" STR_FMT "%s" STR_FMT, STR_ARG(skill), path.n ? "/" : "", STR_ARG(buf_str(&path)));
    known = known && tool_resource_list(run_runtime(q->run), buf_str(&folder), &arena, &all, &n, &why);
    bool ok = known ? list_children(q, skill, buf_str(&path), all, n, err) : serve_resources_missing(q, uri, err);
    arena_clear(&arena);
    buf_clear(&path);
    buf_clear(&folder);
    return ok;
}
