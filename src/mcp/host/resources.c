/* resources/list, templates/list and read: the project's resources (.harness/resources), files listed in harness.md,
 * skills, and large results of calls of this run. */
#include "base/base64.h"
#include "base/path.h"
#include "base/utf8.h"
#include "mcp/host/host_private.h"
#include "mcp/host/resources.h"
#include "mcp/host/skills.h"
#include "mcp/wire/uri_template.h"
#include "tool/resource.h"
#include "value/json.h"
#include "value/list.h"

/* ---- listing ---- */

Str serve_resources_type(Str name) {
    static const struct { const char *end, *type; } types[] = {
        { ".md", "text/markdown" }, { ".txt", "text/plain" }, { ".json", "application/json" }, { ".html", "text/html" }, { ".css", "text/css" },
        { ".js", "text/javascript" }, { ".csv", "text/csv" }, { ".xml", "application/xml" }, { ".yaml", "application/yaml" }, { ".yml", "application/yaml" },
        { ".png", "image/png" }, { ".jpg", "image/jpeg" }, { ".jpeg", "image/jpeg" }, { ".gif", "image/gif" }, { ".svg", "image/svg+xml" },
        { ".webp", "image/webp" }, { ".pdf", "application/pdf" }, { ".wav", "audio/wav" }, { ".mp3", "audio/mpeg" },
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (str_ends(name, str_from(types[i].end))) return str_from(types[i].type);
    return (Str){ 0 };
}

static bool put_more(Heap *h, Dict *d, const char *key, Str text, Error *err) { return text.n == 0 || dict_put_text(h, d, key, text, err); }

static bool describe(McpRequest *q, List *out, const char *address, Str uri, const ResourceDef *r, Str type, Error *err) {
    Heap *h = q->heap;
    Dict *d = dict_new(h, 6, err);
    return d && dict_put_text(h, d, address, uri, err) && dict_put_text(h, d, "name", r->name, err) &&
           (!mcp_structured(q->version) || put_more(h, d, "title", r->title, err)) && put_more(h, d, "description", r->description, err) &&
           put_more(h, d, "mimeType", type, err) && list_push(h, out, value_from_object(d), err);
}

static void file_uri(Runtime *rt, Str path, Buf *out) {
    Arena arena = { 0 };
    Str root = runtime_project(rt)->root;
    uri_template_file(out, path_normal(&arena, str_from(arena_fmt(&arena, STR_FMT "/" STR_FMT, STR_ARG(root), STR_ARG(path)))));
    arena_clear(&arena);
}

static bool list_file(McpRequest *q, List *out, Str path, Error *err) {
    Runtime *rt = run_runtime(q->run);
    int64_t size;
    if (!tool_resource_stat(rt, path, true, &size, NULL)) return true;       /* missing, or not for clients */
    Buf uri = { 0 };
    file_uri(rt, path, &uri);
    bool ok = describe(q, out, "uri", buf_str(&uri), &(ResourceDef){ .name = path }, serve_resources_type(path), err);
    if (ok) ok = dict_put_str(q->heap, value_dict(out->at[out->n - 1]), STR("size"), value_from_small(size), err);
    buf_clear(&uri);
    return ok;
}

static bool give_page(McpRequest *q, const char *name, const List *all, Error *err) {
    size_t from, to;
    Value next;
    Heap *h = q->heap;
    if (!serve_page(q, all->n, &from, &to, &next, err)) return false;
    Dict *d = dict_new(h, 2, err);
    List *page = d ? list_from(h, all->at + from, to - from, err) : NULL;
    if (!page || !dict_put_str(h, d, str_from(name), value_from_object(page), err)) return false;
    if (!value_is_gone(next) && !dict_put_str(h, d, STR("nextCursor"), next, err)) return false;
    q->ttl_ms = SERVE_TTL_MS;
    return q->result = value_from_object(d), true;
}

typedef struct Listing { McpRequest *q; List *all; } Listing;

static bool list_skill(void *ctx, Str uri, Str name, Str description, Error *err) {
    Listing *l = ctx;
    return describe(l->q, l->all, "uri", uri, &(ResourceDef){ .name = name, .description = description }, STR("text/markdown"), err);
}

bool serve_resources_list(McpRequest *q, Error *err) {
    const Project *p = runtime_project(run_runtime(q->run));
    List *all = list_new(q->heap, p->n_resources, err);
    bool ok = all != NULL;
    for (size_t i = 0; ok && i < p->n_resources; i++)
        if (p->resources[i].uri.n) ok = describe(q, all, "uri", p->resources[i].uri, &p->resources[i], p->resources[i].mime_type, err);
    for (size_t i = 0; ok && i < p->settings.resources.n; i++) ok = list_file(q, all, p->settings.resources.at[i], err);
    Listing listing = { q, all };
    ok = ok && serve_skills_each(q, list_skill, &listing, err);
    return ok && give_page(q, "resources", all, err);
}

/* Stored results are found by links in results, or by this template: a list would change with each call. */
static const ResourceDef artifacts = { .name = { "artifact", sizeof "artifact" - 1 }, .title = { "Artifact", sizeof "Artifact" - 1 },
                                       .description = { "The whole of a result that was too large to send at once",
                                           sizeof "The whole of a result that was too large to send at once" - 1 } };

bool serve_resources_templates(McpRequest *q, Error *err) {
    const Project *p = runtime_project(run_runtime(q->run));
    List *all = list_new(q->heap, p->n_resources + 1, err);
    bool ok = all != NULL;
    for (size_t i = 0; ok && i < p->n_resources; i++)
        if (p->resources[i].uri_template.n) ok = describe(q, all, "uriTemplate", p->resources[i].uri_template, &p->resources[i],
            p->resources[i].mime_type, err);
    return ok && describe(q, all, "uriTemplate", STR(SERVE_ARTIFACTS), &artifacts, (Str){ 0 }, err) && give_page(q, "resourceTemplates", all, err);
}

/* ---- lookup ---- */

/* The resource with that URI, or whose template matches it, with the template's variables; *out NULL: none. `h` holds
 * the variables. */
static bool find_resource(Runtime *rt, Str uri, Heap *h, const ResourceDef **out, Value *params, Error *err) {
    const Project *p = runtime_project(rt);
    Error why = { 0 };
    *out = NULL;
    for (size_t i = 0; i < p->n_resources; i++) {
        const ResourceDef *r = &p->resources[i];
        if (!r->uri.n || !str_eq(r->uri, uri)) continue;
        Dict *none = dict_new(h, 0, err);
        if (none) *params = value_from_object(none), *out = r;
        return none != NULL;
    }
    for (size_t i = 0; i < p->n_resources; i++) {
        if (!p->resources[i].uri_template.n) continue;
        if (uri_template_match(p->resources[i].uri_template, uri, h, params, &why)) return *out = &p->resources[i], true;
        if (why.kind != ERR_NONE) return *err = why, false;
    }
    return true;
}

static Str listed_file(Runtime *rt, Str uri) {
    const Settings *s = &runtime_project(rt)->settings;
    Buf own = { 0 };
    Str found = { 0 };
    for (size_t i = 0; i < s->resources.n && !found.n; i++) {
        buf_reset(&own);
        file_uri(rt, s->resources.at[i], &own);
        if (str_eq(buf_str(&own), uri)) found = s->resources.at[i];
    }
    buf_clear(&own);
    return found;
}

bool serve_resources_known(Runtime *rt, Str uri) {
    Heap *h = heap_new(0);
    const ResourceDef *r;
    Value params;
    bool known = (find_resource(rt, uri, h, &r, &params, NULL) && r) || listed_file(rt, uri).n;
    heap_free(h);
    return known;
}

/* ---- contents ---- */

typedef struct Reading { McpRequest *q; Str uri; List *contents; Error *err; } Reading;

static bool add(Reading *r, Str uri, Str type, const char *form, Str data) {
    Heap *h = r->q->heap;
    Dict *d = dict_new(h, 3, r->err);
    return d && dict_put_text(h, d, "uri", uri, r->err) && put_more(h, d, "mimeType", type, r->err) && dict_put_text(h, d, form, data, r->err) &&
           list_push(h, r->contents, value_from_object(d), r->err);
}

static bool add_bytes(Reading *r, Str type, Str bytes) {
    if (utf8_valid(bytes) && !memchr(bytes.at, 0, bytes.n)) return add(r, r->uri, type.n ? type : STR("text/plain"), "text", bytes);
    Buf blob = { 0 };
    base64_encode(bytes, &blob);
    bool ok = add(r, r->uri, type.n ? type : STR("application/octet-stream"), "blob", buf_str(&blob));
    buf_clear(&blob);
    return ok;
}

static bool add_blob(Reading *r, Str type, Str blob) {
    Buf tight = { 0 };                                    /* YAML may have wrapped it */
    for (size_t i = 0; i < blob.n; i++)
        if (blob.at[i] != '\n' && blob.at[i] != '\r' && blob.at[i] != ' ') buf_add_char(&tight, blob.at[i]);
    bool ok = add(r, r->uri, type, "blob", buf_str(&tight));
    buf_clear(&tight);
    return ok;
}

static bool add_file(Reading *r, Str path, Str type, bool listed) {
    Buf bytes = { 0 };
    bool ok = tool_resource_file(run_runtime(r->q->run), path, listed, &bytes, r->err)
        && add_bytes(r, type.n ? type : serve_resources_type(path), buf_str(&bytes));
    buf_clear(&bytes);
    return ok;
}

static Str text_in(Value dict, const char *key) {
    Value *v = value_is_dict(dict) ? dict_find_str(value_dict(dict), str_from(key)) : NULL;
    return v && value_is_string(*v) ? value_str(*v) : (Str){ 0 };
}

/* A script returns a string, {text or blob, mime_type?, uri?}, content.resource(…), a list of those, or anything else
 * as JSON. */
static bool add_given(Reading *r, Value v, Str type, int depth) {
    Value *inner = value_is_dict(v) ? dict_find_str(value_dict(v), STR("resource")) : NULL;
    if (inner && value_is_dict(*inner)) v = *inner;
    if (value_is_string(v)) return add(r, r->uri, type.n ? type : STR("text/plain"), "text", value_str(v));
    if (value_is_list(v) && depth == 0 && value_list(v)->n && value_is_dict(value_list(v)->at[0])) {
        for (uint32_t i = 0; i < value_list(v)->n; i++)
            if (!add_given(r, value_list(v)->at[i], type, 1)) return false;
        return true;
    }
    Str uri = text_in(v, "uri"), own = text_in(v, "mime_type"), blob = text_in(v, "blob"), text = text_in(v, "text");
    if (!own.n) own = text_in(v, "mimeType");
    if (blob.n || text.at) return add(r, uri.n ? uri : r->uri, own.n ? own : type, blob.n ? "blob" : "text", blob.n ? blob : text);
    Buf json = { 0 };
    bool ok = json_write(&json, v, &(JsonWrite){ 0 }, r->err) && add(r, r->uri, type.n ? type : STR("application/json"), "text", buf_str(&json));
    buf_clear(&json);
    return ok;
}

static bool add_script(Reading *r, const ResourceDef *def, Value params) {
    McpRequest *q = r->q;
    Person person = serve_person(q);
    Buf text = { 0 }, name = { 0 };
    Result result = { 0 };
    Call call;
    bool ok = tool_resource_call(def, r->uri, params, &text, &name, &call, r->err);
    call.person = &person;
    ok = ok && tool_call(q->run, &call, q->cancel, &result, r->err);
    if (ok && result.is_error) ok = error_set(r->err, ERR_SCRIPT, STR_FMT, STR_ARG(result.error));
    ok = ok && add_given(r, result.value, def->mime_type, 0);
    result_clear(&result);
    buf_clear(&text);
    buf_clear(&name);
    return ok;
}

static bool add_resource(Reading *r, const ResourceDef *def, Value params) {
    if (def->script) return add_script(r, def, params);
    if (def->file.n) return add_file(r, def->file, def->mime_type, false);
    if (def->blob.n) return add_blob(r, def->mime_type, def->blob);
    return add(r, r->uri, def->mime_type.n ? def->mime_type : STR("text/plain"), "text", def->text);
}

static bool add_skill(Reading *r) {
    Buf bytes = { 0 };
    Str path;
    bool ok = serve_skills_read(r->q, r->uri, &bytes, &path, r->err) && add_bytes(r, serve_resources_type(path), buf_str(&bytes));
    buf_clear(&bytes);
    return ok;
}

/* artifact://RUN/KEY, of this run or an earlier one of the peer: each reload of the project starts another. */
static PeerRun *run_of(McpPeer *p, Str id) {
    PeerRun *found = NULL;
    pthread_mutex_lock(&p->lock);
    for (size_t i = 0; i < PEER_RUNS_MAX && p->runs[i] && !found; i++)
        if (str_eq(run_id(p->runs[i]->run), id)) found = p->runs[i];
    if (found) found->users++;
    pthread_mutex_unlock(&p->lock);
    return found;
}

static bool add_artifact(Reading *r) {
    Str rest = str_sub(r->uri, sizeof SERVE_ARTIFACT - 1, r->uri.n);
    ptrdiff_t slash = str_find_char(rest, '/');
    PeerRun *run = slash < 0 ? NULL : run_of(r->q->peer, str_sub(rest, 0, (size_t)slash));
    Buf bytes = { 0 };
    uint64_t total;
    if (!run) return error_set(r->err, ERR_VALIDATION, "no such run");
    bool ok = run_artifact_get(run->run, str_sub(rest, (size_t)slash + 1, rest.n), 0, RPC_MESSAGE_MAX, &bytes, &total, r->err)
        && add_bytes(r, (Str){ 0 }, buf_str(&bytes));
    peer_leave_run(r->q->peer, run);
    buf_clear(&bytes);
    return ok;
}

bool serve_resources_missing(McpRequest *q, Str uri, Error *err) {
    Dict *d = dict_new(q->heap, 1, err);
    if (!d || !dict_put_text(q->heap, d, "uri", uri, err)) return false;
    q->data = value_from_object(d);
    q->code = mcp_stateless(q->version) ? RPC_INVALID_PARAMS : MCP_RESOURCE_NOT_FOUND;
    return error_set(err, ERR_VALIDATION, "Resource not found: " STR_FMT, STR_ARG(uri));
}

/* Appends the contents of one resource. */
bool serve_resources_contents(McpRequest *q, Str uri, List *out, Error *err) {
    Runtime *rt = run_runtime(q->run);
    Reading r = { q, uri, out, err };
    const ResourceDef *def;
    Value params;
    Error why = { 0 };
    if (!find_resource(rt, uri, q->heap, &def, &params, err)) return false;
    if (def) return add_resource(&r, def, params);
    Str file = listed_file(rt, uri);
    r.err = &why;
    bool artifact = str_starts(uri, STR(SERVE_ARTIFACT)), skill = str_starts(uri, STR(SERVE_SKILLS));
    if (!file.n && !artifact && !skill) return serve_resources_missing(q, uri, err);
    if (file.n ? add_file(&r, file, (Str){ 0 }, true) : skill ? add_skill(&r) : add_artifact(&r)) return true;
    /* Same error for a missing file, one not for clients, and another client's artifact. */
    if (why.kind == ERR_IO || why.kind == ERR_POLICY || why.kind == ERR_VALIDATION) return serve_resources_missing(q, uri, err);
    return *err = why, false;
}

bool serve_resources_read(McpRequest *q, Error *err) {
    Str uri;
    if (!serve_text(q, "uri", &uri, err)) return false;
    Dict *d = dict_new(q->heap, 1, err);
    List *contents = d ? list_new(q->heap, 1, err) : NULL;
    if (!contents || !serve_resources_contents(q, uri, contents, err)) return false;
    if (!dict_put_str(q->heap, d, STR("contents"), value_from_object(contents), err)) return false;
    q->ttl_ms = 0;                       /* not cacheable: files change, and scripts compute */
    return q->result = value_from_object(d), true;
}
