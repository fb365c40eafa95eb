#include "mcp/remote/skill.h"
#include "base/base64.h"
#include "base/digest.h"
#include "value/dict.h"
#include "value/frontmatter.h"
#include "value/list.h"
#include "value/yaml.h"

enum { PAGES_MAX = 50, FILES_MAX = 512, FILE_MAX = 16 << 20 };

static bool ask(const SkillServer *s, const char *method, const char *key, Str value, Heap *h, Value *out, Error *err) {
    Dict *params = dict_new(h, 1, err);
    if (!params || (value.n && !dict_put_text(h, params, key, value, err))) return false;
    return s->request(s->ctx, str_from(method), value_from_object(params), h, out, err);
}

/* ---- the entry ---- */

/* The file's record in an entry; GONE: not listed. */
static Value file_of(Value entry, Str uri) {
    Value files = value_member(entry, "resources");
    for (uint32_t i = 0; value_is_list(files) && i < value_list(files)->n && i < FILES_MAX; i++)
        if (str_eq(value_member_text(value_list(files)->at[i], "uri"), uri)) return value_list(files)->at[i];
    return VALUE_GONE;
}

static bool is_dynamic(Value entry) { return str_eq(value_member_text(entry, "resources"), STR("dynamic")); }

/* Below the folder of its SKILL.md. */
static bool is_inside(Value entry, Str uri) {
    Str own = value_member_text(entry, "uri");
    return str_ends(own, STR("/SKILL.md")) && str_starts(uri, str_sub(own, 0, own.n - (sizeof "SKILL.md" - 1)));
}

static bool find_entry(const SkillServer *s, Str uri, Heap *h, Value *out, Error *err) {
    Str cursor = { 0 };
    for (int page = 0; page < PAGES_MAX; page++) {
        Value result;
        if (!ask(s, "skills/list", "cursor", cursor, h, &result, err)) return false;
        Value skills = value_member(result, "skills");
        for (uint32_t i = 0; value_is_list(skills) && i < value_list(skills)->n; i++) {
            *out = value_list(skills)->at[i];
            if (is_inside(*out, uri) && (is_dynamic(*out) || !value_is_gone(file_of(*out, uri)))) return true;
        }
        cursor = value_member_text(result, "nextCursor");
        if (!cursor.n) break;
    }
    return error_set(err, ERR_VALIDATION, "the server lists no skill that contains " STR_FMT, STR_ARG(uri));
}

/* ---- files ---- */

static bool fetch(const SkillServer *s, Str uri, Heap *h, Buf *out, Error *err) {
    Value result;
    if (!ask(s, "resources/read", "uri", uri, h, &result, err)) return false;
    Value all = value_member(result, "contents"), one = value_is_list(all) && value_list(all)->n ? value_list(all)->at[0] : VALUE_GONE;
    if (value_is_string(value_member(one, "text"))) buf_add(out, value_member_text(one, "text"));
    else if (!value_is_string(value_member(one, "blob"))) return error_set(err, ERR_PROTOCOL, STR_FMT ": the server gave neither text nor blob", STR_ARG(uri));
    else if (!base64_decode(value_member_text(one, "blob"), out, err)) return error_wrap(err, STR_FMT, STR_ARG(uri));
    return buf_str(out).n <= FILE_MAX || error_set(err, ERR_LIMIT, STR_FMT ": more than %d bytes", STR_ARG(uri), FILE_MAX);
}

static bool is_vouched_for(Value file, Str uri, Str bytes, Error *err) {
    Value size = value_member(file, "size");
    uint8_t digest[DIGEST_SHA256_BYTES];
    Buf hex = { 0 };
    if (!value_is_small(size) || value_small(size) < 0 || (uint64_t)value_small(size) != bytes.n)
        return error_set(err, ERR_PROTOCOL, STR_FMT ": has %zu bytes, which is not the size in the skill's entry: rejected", STR_ARG(uri), bytes.n);
    if (!digest_sha256(bytes, digest, err)) return false;
    buf_add(&hex, STR("sha256:"));
    digest_hex(digest, sizeof digest, &hex);
    bool ok = str_eq(buf_str(&hex), value_member_text(file, "digest"));
    buf_clear(&hex);
    return ok || error_set(err, ERR_PROTOCOL, STR_FMT ": its digest is not the one in the skill's entry: rejected", STR_ARG(uri));
}

static bool has_frontmatter(Value entry, Str uri, Str bytes, Heap *h, Error *err) {
    Frontmatter parts;
    Value given;
    bool same = false;
    if (!frontmatter_split(bytes, &parts, err) || !yaml_read(h, parts.yaml, &(YamlRead){ 0 }, &given, err)) return error_wrap(err, STR_FMT, STR_ARG(uri));
    if (!value_is_dict(value_member(entry, "frontmatter")) || !value_equal(given, value_member(entry, "frontmatter"), &same, err) || !same)
        return error_set(err, ERR_PROTOCOL, STR_FMT ": its frontmatter is not the one in the skill's entry: rejected", STR_ARG(uri));
    return true;
}

static bool read_file(const SkillServer *s, Value entry, Str uri, Heap *h, Buf *out, Error *err) {
    return fetch(s, uri, h, out, err) && (is_dynamic(entry) || is_vouched_for(file_of(entry, uri), uri, buf_str(out), err));
}

bool skill_read(const SkillServer *server, Str uri, Heap *heap, Buf *out, Error *err) {
    Value entry;
    Buf manifest = { 0 };
    if (!find_entry(server, uri, heap, &entry, err)) return false;
    Str own = value_member_text(entry, "uri");
    bool ok = read_file(server, entry, own, heap, &manifest, err) && has_frontmatter(entry, own, buf_str(&manifest), heap, err);
    if (ok && str_eq(own, uri)) buf_add(out, buf_str(&manifest));
    else if (ok) ok = read_file(server, entry, uri, heap, out, err);
    buf_clear(&manifest);
    return ok;
}
