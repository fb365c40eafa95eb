#include "schema/builder.h"

#include "base/mem.h"
#include "schema/meta.h"
#include "schema/uri.h"
#include "value/json.h"
#include "value/list.h"

#define DRAFT_2020 "https://json-schema.org/draft/2020-12/"

/* ---- locations ---- */

static void add_escaped(Buf *out, Str s) {
    for (size_t i = 0; i < s.n; i++) {
        if (s.at[i] == '~') buf_add(out, STR("~0"));
        else if (s.at[i] == '/') buf_add(out, STR("~1"));
        else buf_add_char(out, s.at[i]);
    }
}

static void add_step(const Node *n, Buf *out) {
    if (!n->keyword) { buf_add(out, n->name); return; }
    buf_add_fmt(out, "/%s", n->keyword);
    if (n->listed) buf_add_fmt(out, "/%u", n->index);
    else if (n->name.at) {
        buf_add_char(out, '/');
        add_escaped(out, n->name);
    }
}

void node_where(const Node *n, const char *keyword, Buf *out) {
    VEC(const Node *) way = { 0 };
    for (const Node *at = n; at->up; at = at->up) VEC_PUSH(&way, at);
    const Resource *document = n->resource->document;
    if (document->foreign) buf_add_fmt(out, STR_FMT "#", STR_ARG(document->uri));
    while (way.n) add_step(VEC_POP(&way), out);
    if (keyword) buf_add_fmt(out, "/%s", keyword);
    VEC_CLEAR(&way);
}

bool builder_fail(Builder *c, const Node *n, const char *keyword, const char *fmt, ...) {
    Buf where = { 0 };
    va_list ap;
    node_where(n, keyword, &where);
    va_start(ap, fmt);
    error_set_v(c->err, ERR_VALIDATION, fmt, ap);
    va_end(ap);
    if (where.n) error_wrap(c->err, "%s", where.at);
    buf_clear(&where);
    return false;
}

/* ---- schema objects and their nodes ---- */

static BuilderSlot *slot_of(const Builder *c, const Dict *d) {
    uint64_t key = (uint64_t)(uintptr_t)d;
    size_t mask = c->n_slots - 1, at = (size_t)((key >> 4) * 0x9E3779B97F4A7C15u >> 20) & mask;
    while (c->slot[at].key && c->slot[at].key != key) at = (at + 1) & mask;
    return &c->slot[at];
}

static Node *node_of(const Builder *c, const Dict *d) { return c->n_slots ? slot_of(c, d)->node : NULL; }

static void remember(Builder *c, const Dict *d, Node *n) {
    if (c->used * 2 >= c->n_slots) {
        BuilderSlot *old = c->slot;
        size_t n_old = c->n_slots;
        c->n_slots = n_old ? n_old * 4 : 64;
        c->slot = mem_zero(c->n_slots, sizeof *c->slot);
        for (size_t i = 0; i < n_old; i++)
            if (old[i].key) *slot_of(c, (const Dict *)(uintptr_t)old[i].key) = old[i];
        free(old);
    }
    BuilderSlot *slot = slot_of(c, d);
    if (!slot->key) c->used++;
    *slot = (BuilderSlot){ (uint64_t)(uintptr_t)d, n };
}

static Node *node_new(Builder *c, BuilderPlace place, const Resource *r) {
    Node *n = ARENA_NEW(c->s->arena, Node);
    *n = (Node){ .types = TYPE_ALL, .resource = r, .up = place.up, .keyword = place.keyword, .name = place.name,
                 .index = place.index, .listed = place.listed };
    return n;
}

/* ---- dialects ---- */

static bool load(Builder *c, Str uri, Value *out);

typedef struct { const char *name; unsigned bit; } Vocabulary;
static const Vocabulary vocabularies[] = {
    { "core", VOCAB_CORE }, { "applicator", VOCAB_APPLICATOR }, { "unevaluated", VOCAB_UNEVALUATED },
    { "validation", VOCAB_VALIDATION }, { "meta-data", VOCAB_META }, { "format-annotation", VOCAB_FORMAT },
    { "format-assertion", VOCAB_FORMAT_ASSERTION }, { "content", VOCAB_CONTENT },
};

static unsigned vocabulary_bit(Str uri) {
    Str prefix = STR(DRAFT_2020 "vocab/");
    if (!str_starts(uri, prefix)) return 0;
    for (size_t i = 0; i < sizeof vocabularies / sizeof *vocabularies; i++)
        if (str_eq(str_sub(uri, prefix.n, uri.n), str_from(vocabularies[i].name))) return vocabularies[i].bit;
    return 0;
}

static bool read_vocabularies(Builder *c, const Node *n, Str uri, const Dict *d, unsigned *out) {
    unsigned bits = VOCAB_CORE;
    Entry *e;
    for (uint32_t i = 0; dict_next(d, &i, &e);) {
        if (!value_is_string(e->key) || !value_is_bool(e->value))
            return builder_fail(c, n, "$schema", "\"" STR_FMT "\": $vocabulary must map URIs to booleans", STR_ARG(uri));
        unsigned bit = vocabulary_bit(value_str(e->key));
        if (!bit && value_bool(e->value))
            return builder_fail(c, n, "$schema", "\"" STR_FMT "\" requires the unknown vocabulary \"" STR_FMT "\"",
                                STR_ARG(uri), STR_ARG(value_str(e->key)));
        bits |= bit;
    }
    return *out = bits, true;
}

/* Sets the dialect of a resource from its $schema. */
static bool read_dialect(Builder *c, const Node *n, Str uri, Resource *r) {
    static const struct { const char *uri; int draft; } known[] = {
        { DRAFT_2020 "schema", 2020 }, { "https://json-schema.org/schema", 2020 }, { "http://json-schema.org/schema", 2020 },
        { "https://json-schema.org/draft/2019-09/schema", 2019 }, { "http://json-schema.org/draft-07/schema", 7 },
        { "https://json-schema.org/draft-07/schema", 7 }, { "http://json-schema.org/draft-06/schema", 6 },
    };
    if (str_ends(uri, STR("#"))) uri = str_sub(uri, 0, uri.n - 1);
    r->vocabularies = VOCAB_DEFAULT;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (str_eq(uri, str_from(known[i].uri))) return r->draft = known[i].draft, true;
    r->draft = 2020;
    if (!uri_is_absolute(uri)) return builder_fail(c, n, "$schema", "must be an absolute URI");
    Value document;
    if (!load(c, uri, &document)) return false;
    if (!value_is_dict(document))
        return builder_fail(c, n, "$schema", "unknown meta-schema \"" STR_FMT "\"", STR_ARG(uri));
    Value *list = dict_find_str(value_dict(document), STR("$vocabulary"));
    return !list || !value_is_dict(*list) || read_vocabularies(c, n, uri, value_dict(*list), &r->vocabularies);
}

/* ---- resources ---- */

static Resource *resource_new(Builder *c, Str uri, Value root, Resource *outer) {
    Resource *r = ARENA_NEW(c->s->arena, Resource);
    *r = (Resource){ .uri = uri, .root = root, .document = outer ? outer->document : r, .draft = outer ? outer->draft : 2020,
                     .vocabularies = outer ? outer->vocabularies : VOCAB_DEFAULT };
    VEC_PUSH(&c->s->resources, r);
    return r;
}

static bool text_of(Builder *c, const Node *n, const Dict *d, const char *keyword, Str *out) {
    Value *v = dict_find_str(d, str_from(keyword));
    *out = (Str){ NULL, 0 };
    if (!v) return true;
    if (!value_is_string(*v)) return builder_fail(c, n, keyword, "must be a string");
    return *out = value_str(*v), true;
}

/* Reads $schema and $id, which determine how the rest of the object is interpreted. */
static bool enter_resource(Builder *c, Node *n, const Dict *d, Resource **r) {
    Str dialect, id, document, fragment;
    Resource *outer = *r;
    if (!text_of(c, n, d, "$schema", &dialect) || !text_of(c, n, d, "$id", &id)) return false;
    bool root = outer->node == NULL;
    if (root) outer->node = n;
    if (!root && !id.at) return true;
    if (root && dialect.at && !read_dialect(c, n, dialect, outer)) return false;
    if (!id.at) return true;
    if (outer->draft <= 7 && dict_find_str(d, STR("$ref"))) return true;      /* in these drafts $ref ignores its siblings */
    Str uri = uri_resolve(outer->uri, id, c->s->arena);
    uri_split(uri, &document, &fragment);
    if (fragment.n && outer->draft <= 7 && id.at[0] == '#') return builder_anchor(c, n, outer, fragment, false);
    if (fragment.n) return builder_fail(c, n, "$id", "must not have a fragment");
    const Resource *taken = table_get(&c->resources, document);
    if (taken && taken->node && taken->node != n)
        return builder_fail(c, n, "$id", "\"" STR_FMT "\" is used more than once", STR_ARG(document));
    Resource *own = outer;
    if (root) outer->uri = document;
    else {
        own = resource_new(c, document, value_from_object(d), outer);
        own->node = n;
        if (dialect.at && !read_dialect(c, n, dialect, own)) return false;
    }
    table_put(&c->resources, document, own);
    n->resource = own;
    return *r = own, true;
}

bool builder_anchor(Builder *c, Node *n, Resource *r, Str name, bool dynamic) {
    Node *other = table_get(&r->anchors, name);
    if (other && other != n)
        return builder_fail(c, n, dynamic ? "$dynamicAnchor" : "$anchor", "\"" STR_FMT "\" is used more than once", STR_ARG(name));
    table_put(&r->anchors, name, n);
    if (dynamic) table_put(&r->dynamic_anchors, name, n);
    return true;
}

bool builder_schema(Builder *c, Value v, BuilderPlace place, Resource *outer, const Node **out) {
    if (++c->nodes > c->max_nodes)
        return error_set(c->err, ERR_LIMIT, "the schema has too many subschemas (limit %zu)", c->max_nodes);
    if (value_is_dict(v)) {
        Node *known = node_of(c, value_dict(v));
        if (known && known->resource == outer) return *out = known, true;
    }
    Node *n = node_new(c, place, outer);
    *out = n;
    if (value_is_bool(v)) {
        n->never = !value_bool(v);
        if (n->never) n->types = 0;
        if (!outer->node) outer->node = n;
        return true;
    }
    if (!value_is_dict(v)) return builder_fail(c, n, NULL, "a schema must be an object or a boolean, not %s", value_type_name(v));
    if (c->depth >= SCHEMA_DEPTH_MAX) return error_set(c->err, ERR_LIMIT, "the schema is nested too deep (limit %d)", SCHEMA_DEPTH_MAX);
    c->depth++;
    const Dict *d = value_dict(v);
    Resource *r = outer;
    remember(c, d, n);
    bool ok = enter_resource(c, n, d, &r) && builder_keywords(c, n, d, r);
    c->depth--;
    return ok;
}

/* ---- documents ---- */

/* Loads the document at `uri`; GONE if it does not exist. */
static bool load(Builder *c, Str uri, Value *out) {
    *out = VALUE_GONE;
    const Resource *known = table_get(&c->resources, uri);
    if (known) return *out = known->root, true;
    Str text = meta_document(uri);
    if (text.at) {
        if (!c->s->heap) c->s->heap = heap_new(0);
        return json_read(c->s->heap, text, NULL, out, c->err);
    }
    if (!c->in->resolve) return true;
    return c->in->resolve(c->in->resolve_ctx, uri, out, c->err) || error_wrap(c->err, STR_FMT, STR_ARG(uri));
}

static bool compile_document(Builder *c, Str uri, Value root, bool foreign, Resource **out) {
    const Node *node;
    Resource *r = resource_new(c, uri, root, NULL);
    r->foreign = foreign;
    if (uri.n) table_put(&c->resources, uri, r);
    *out = r;
    unsigned depth = c->depth;
    c->depth = 0;
    bool ok = builder_schema(c, root, (BuilderPlace){ 0 }, r, &node);
    c->depth = depth;
    return ok;
}

static bool find_resource(Builder *c, const BuilderRef *ref, const char *keyword, Str uri, Resource **out) {
    const Resource *own = ref->node->resource;
    if (uri.n == 0 || str_eq(uri, own->uri)) return *out = (Resource *)(uintptr_t)own, true;
    *out = table_get(&c->resources, uri);
    if (*out) return true;
    Value document;
    if (!load(c, uri, &document)) return false;
    if (value_is_gone(document)) {
        builder_fail(c, ref->node, keyword, "cannot resolve \"" STR_FMT "\"", STR_ARG(ref->reference));
        return error_hint(c->err, "no document " STR_FMT " was given", STR_ARG(uri));
    }
    return compile_document(c, uri, document, true, out);
}

/* ---- references ---- */

static bool list_item(Value list, Str token, Value *out) {
    const List *l = value_list(list);
    size_t i = 0;
    if (token.n == 0 || token.n > 9 || (token.n > 1 && token.at[0] == '0')) return false;
    for (size_t k = 0; k < token.n; k++) {
        if (token.at[k] < '0' || token.at[k] > '9') return false;
        i = i * 10 + (size_t)(token.at[k] - '0');
    }
    return i < l->n ? (*out = l->at[i], true) : false;
}

static Str unescape(Str token, Arena *arena) {
    char *out = arena_alloc(arena, token.n + 1);
    size_t n = 0;
    for (size_t i = 0; i < token.n; i++) {
        bool code = token.at[i] == '~' && i + 1 < token.n && (token.at[i + 1] == '0' || token.at[i + 1] == '1');
        out[n++] = code ? (token.at[++i] == '0' ? '~' : '/') : token.at[i];
    }
    return (Str){ out, n };
}

/* Follows a JSON pointer from the root of *r; sets *r to the resource that contains the target. */
static bool follow(Builder *c, Str pointer, Resource **r, Value *out) {
    Value v = (*r)->root;
    for (size_t at = 0; at < pointer.n;) {
        size_t end = at + 1;
        while (end < pointer.n && pointer.at[end] != '/') end++;
        Str token = unescape(str_sub(pointer, at + 1, end), c->s->arena);
        at = end;
        if (value_is_dict(v)) {
            const Value *next = dict_find_str(value_dict(v), token);
            if (!next) return false;
            v = *next;
        } else if (!value_is_list(v) || !list_item(v, token, &v)) {
            return false;
        }
        const Node *n = value_is_dict(v) ? node_of(c, value_dict(v)) : NULL;
        if (n) *r = (Resource *)(uintptr_t)n->resource;
    }
    return *out = v, true;
}

static bool find_target(Builder *c, const BuilderRef *ref, const char *keyword, Resource *r, Str fragment, const Node **out) {
    Str name = uri_decode(fragment, c->s->arena);
    if (name.n == 0) return *out = r->node, true;
    if (name.at[0] != '/') {
        *out = table_get(&r->anchors, name);
        return *out || builder_fail(c, ref->node, keyword, "\"" STR_FMT "\": there is no such anchor", STR_ARG(ref->reference));
    }
    Value v;
    Resource *inner = r;
    if (!follow(c, name, &inner, &v))
        return builder_fail(c, ref->node, keyword, "\"" STR_FMT "\" does not exist", STR_ARG(ref->reference));
    Node *known = value_is_dict(v) ? node_of(c, value_dict(v)) : NULL;
    if (known) return *out = known, true;
    return builder_schema(c, v, (BuilderPlace){ .up = r->node, .name = name }, inner, out);
}

static bool has_only_ref(const Node *n) {
    const InPlaceRules *k = n->in_place;
    bool own = n->types != TYPE_ALL || n->never || n->tracks || n->values || n->numbers || n->strings || n->arrays || n->objects;
    return !own && !k->dynamic_ref && !k->all_of.n && !k->any_of.n && !k->one_of.n && !k->not_ && !k->if_;
}

static bool resolve_ref(Builder *c, const BuilderRef *ref) {
    const char *keyword = ref->dynamic ? "$dynamicRef" : "$ref";
    Str uri, fragment;
    Resource *r;
    const Node *target;
    uri_split(uri_resolve(ref->node->resource->uri, ref->reference, c->s->arena), &uri, &fragment);
    if (!find_resource(c, ref, keyword, uri, &r) || !find_target(c, ref, keyword, r, fragment, &target)) return false;
    if (!ref->dynamic) {
        ref->rules->ref = target;
        if (has_only_ref(ref->node) && target->resource == ref->node->resource) ref->node->alias = target;
        return true;
    }
    ref->rules->dynamic_ref = target;
    ref->node->alias = NULL;
    Str name = fragment.n ? uri_decode(fragment, c->s->arena) : (Str){ NULL, 0 };
    if (name.n && name.at[0] != '/' && table_get(&target->resource->dynamic_anchors, name) == target) {
        ref->rules->dynamic_anchor = name;
        c->s->dynamic = true;
    }
    return true;
}

bool builder_later(Builder *c, Node *n, InPlaceRules *rules, Str reference, bool dynamic) {
    VEC_PUSH(&c->refs, (BuilderRef){ n, rules, reference, dynamic });
    return true;
}

static bool resolve_refs(Builder *c) {
    while (c->refs.n) {
        BuilderRef ref = VEC_POP(&c->refs);
        if (!resolve_ref(c, &ref)) return false;
    }
    return true;
}

/* ---- in and out ---- */

bool schema_compile(const SchemaInput *in, Schema **out, Error *err) {
    Error dropped;
    Schema *s = mem_zero(1, sizeof *s);
    s->arena = in->arena ? in->arena : &s->own;
    s->max_steps = in->max_steps ? in->max_steps : SCHEMA_STEPS_MAX;
    Builder c = { .s = s, .in = in, .max_nodes = in->max_nodes ? in->max_nodes : SCHEMA_NODES_MAX, .err = err ? err : &dropped };
    Resource *root;
    Str base, fragment;
    uri_split(in->base_uri.at ? in->base_uri : STR(""), &base, &fragment);
    bool ok = compile_document(&c, arena_str(s->arena, base), in->root, false, &root) && resolve_refs(&c);
    table_clear(&c.resources);
    VEC_CLEAR(&c.refs);
    free(c.slot);
    if (!ok) return schema_free(s), false;
    s->root = root->node;
    return *out = s, true;
}

void schema_free(Schema *s) {
    if (!s) return;
    for (size_t i = 0; i < s->regexes.n; i++) regex_free(s->regexes.at[i]);
    VEC_CLEAR(&s->regexes);
    for (size_t i = 0; i < s->resources.n; i++) {
        table_clear(&s->resources.at[i]->anchors);
        table_clear(&s->resources.at[i]->dynamic_anchors);
    }
    VEC_CLEAR(&s->resources);
    if (s->heap) heap_free(s->heap);
    arena_clear(&s->own);
    free(s);
}
