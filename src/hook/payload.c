/* The payload of a hook, and the changes that a hook may make to it. */
#include "hook/ask.h"
#include "script/parts.h"
#include "value/json.h"
#include "value/list.h"

enum { COPY_DEPTH_MAX = JSON_DEPTH_MAX + 8 };  /* arguments may be as deep as JSON allows, and are nested in the payload */
#define CHANGE_BYTES_MAX ((size_t)64 << 20)   /* size of one changed key as JSON */

/* ---- copies ---- */

typedef struct { Heap *heap; bool own; } Copying;

static bool copy(const Copying *c, Value v, unsigned depth, Value *out, Error *err);

static bool copy_each(const Copying *c, Value *at, size_t n, unsigned depth, Error *err) {
    for (size_t i = 0; i < n; i++)
        if (!copy(c, at[i], depth, &at[i], err)) return false;
    return true;
}

static bool copy_dict(const Copying *c, const Dict *from, unsigned depth, Value *out, Error *err) {
    Dict *d;
    Entry *e;
    if (!dict_copy(c->heap, from, &d, err)) return false;
    for (uint32_t i = 0; dict_next(d, &i, &e);) {              /* a copied key has the same hash, so its slot is valid */
        if (!c->own && !copy(c, e->key, depth, &e->key, err)) return false;
        if (value_is_object(e->value) && !copy(c, e->value, depth, &e->value, err)) return false;
    }
    return *out = value_from_object(d), true;
}

static bool copy_list(const Copying *c, const List *from, unsigned depth, Value *out, Error *err) {
    List *l = list_from(c->heap, from->at, from->n, err);
    return l && copy_each(c, l->at, l->n, depth, err) && (*out = value_from_object(l), true);
}

static bool copy_tuple(const Copying *c, const Tuple *from, unsigned depth, Value *out, Error *err) {
    Tuple *t = tuple_from(c->heap, from->at, from->n, err);
    return t && copy_each(c, t->at, t->n, depth, err) && (*out = value_from_object(t), true);
}

static bool copy_string(const Copying *c, String *from, Value *out, Error *err) {
    String *s = string_new(c->heap, string_str(from), err);
    return s && (*out = value_from_object(s), true);
}

static bool copy(const Copying *c, Value v, unsigned depth, Value *out, Error *err) {
    if (!value_is_object(v)) return *out = v, true;
    const Object *o = value_object(v);
    bool stays = c->own || (o->flags & OBJECT_SHARED);         /* immutable, and outlives the copy */
    if (depth > COPY_DEPTH_MAX) return error_set(err, ERR_LIMIT, "payload is nested too deep");
    switch ((ObjectType)o->type) {
    case OBJECT_STRING: return stays ? (*out = v, true) : copy_string(c, value_string(v), out, err);
    case OBJECT_DICT: return copy_dict(c, value_dict(v), depth + 1, out, err);
    case OBJECT_LIST: return copy_list(c, value_list(v), depth + 1, out, err);
    case OBJECT_TUPLE: return copy_tuple(c, value_tuple(v), depth + 1, out, err);
    case OBJECT_INT: case OBJECT_BYTES: case OBJECT_RANGE: return stays ? (*out = v, true) : value_copy_into(c->heap, v, out, err);
    default: return error_set(err, ERR_INTERNAL, "payload holds a %s", value_type_name(v));
    }
}

bool hook_payload_copy(Heap *h, Value v, HookCopy how, Value *out, Error *err) {
    return copy(&(Copying){ h, how == HOOK_COPY_OWN }, v, 0, out, err);
}

Str hook_payload_text(Value payload, Str key) {
    Value *v = value_is_dict(payload) ? dict_find_str(value_dict(payload), key) : NULL;
    return v && value_is_string(*v) ? value_str(*v) : (Str){ 0 };
}

/* ---- changes ---- */

typedef struct Change { Heap *heap; const HookEventInfo *info; Cancel *cancel; const Dict *old, *now; Dict *next; Buf text; } Change;
typedef enum { RULE_FIXED, RULE_FREE, RULE_NARROW } Rule;      /* may not change; may change; may only lose entries */

/* `changes` is a list of words: "messages -tools". */
static Rule rule_of(const HookEventInfo *info, Str key) {
    for (const char *at = info->changes; *at;) {
        Str word = { at, strcspn(at, " ") };
        at += word.n + (at[word.n] == ' ');
        bool narrow = word.at[0] == '-';
        if (str_eq(str_sub(word, narrow, word.n), key)) return narrow ? RULE_NARROW : RULE_FREE;
    }
    return RULE_FIXED;
}

static const char *wanted_type(Str key) {
    static const struct { const char *key, *type; } types[] = {
        { "args", "dict" }, { "content", "string" }, { "is_error", "bool" }, { "messages", "list" }, { "text", "string" },
            { "task", "string" }, { "parts", "list" },
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (str_eq(key, str_from(types[i].key))) return types[i].type;
    return NULL;                                               /* any JSON value */
}

static bool refuse(const Change *c, const char *verb, Str key, Error *err) {
    const char *only = c->info->changes[0] ? c->info->changes : "nothing";
    return error_set(err, ERR_SCRIPT, "modify may not %s payload[\"" STR_FMT "\"] (%s lets it change: %s)", verb, STR_ARG(key), c->info->name, only);
}

/* Converts to text and back, which ensures that v has a JSON form and shares nothing with the hook. c->text keeps the
 * text. */
static bool settle(Change *c, Str key, Value v, Value *out, Error *err) {
    buf_reset(&c->text);
    if (!json_write(&c->text, v, &(JsonWrite){ .max_bytes = CHANGE_BYTES_MAX, .cancel = c->cancel }, err) ||
        !json_read(c->heap, buf_str(&c->text), &(JsonRead){ .cancel = c->cancel }, out, err))
        return error_wrap(err, "payload[\"" STR_FMT "\"] has no JSON form", STR_ARG(key));
    return true;
}

/* Checks that the new list is a subset of the old entries, in their order. Takes the old entries, because equal values
 * may differ in type. */
static bool narrow(Change *c, Str key, Value old, Value now, Value *out, Error *err) {
    if (!value_is_list(old) || !value_is_list(now)) return refuse(c, "replace", key, err);
    const List *from = value_list(old), *kept = value_list(now);
    List *l = list_new(c->heap, kept->n, err);
    if (!l) return false;
    uint32_t k = 0;
    for (uint32_t i = 0; i < from->n && k < kept->n; i++) {
        bool same;
        if (!value_equal(from->at[i], kept->at[k], &same, err) || (same && !list_push(c->heap, l, from->at[i], err))) return false;
        k += same;
    }
    if (k < kept->n) return refuse(c, "add to, reorder or alter", key, err);
    return *out = value_from_object(l), true;
}

static bool change_key(Change *c, Str key, const Value *old, Value now, Error *err) {
    bool same = false;
    Value v = now;
    if (old && !value_equal(*old, now, &same, err)) return error_wrap(err, "payload[\"" STR_FMT "\"]", STR_ARG(key));
    if (same) return true;
    switch (rule_of(c->info, key)) {
    case RULE_FIXED: return refuse(c, old ? "change" : "add", key, err);
    case RULE_NARROW:
        if (!narrow(c, key, old ? *old : VALUE_NONE, now, &v, err)) return false;
        break;
    case RULE_FREE: {
        const char *type = wanted_type(key);
        if (type && strcmp(type, value_type_name(now)) != 0)
            return error_set(err, ERR_SCRIPT, "payload[\"" STR_FMT "\"] must be a %s, not %s", STR_ARG(key), type, value_type_name(now));
        if (!settle(c, key, now, &v, err)) return false;
    }
    }
    return dict_put_str(c->heap, c->next, key, v, err);
}

static bool change_keys(Change *c, Error *err) {
    Entry *e;
    for (uint32_t i = 0; dict_next(c->old, &i, &e);)
        if (!dict_find_str(c->now, value_str(e->key))) return refuse(c, "remove", value_str(e->key), err);
    for (uint32_t i = 0; dict_next(c->now, &i, &e);) {
        if (!value_is_string(e->key)) return error_set(err, ERR_SCRIPT, "modify: payload has a key that is a %s", value_type_name(e->key));
        if (!change_key(c, value_str(e->key), dict_find_str(c->old, value_str(e->key)), e->value, err)) return false;
    }
    return true;
}

static bool changed(const Change *c, Str key) {
    const Value *a = dict_find_str(c->old, key), *b = dict_find_str(c->next, key);
    return a && b && !value_same(*a, *b);                      /* an unchanged value is the same object */
}

/* next[name] = the JSON text of next[of] */
static bool put_text(Change *c, Str name, Str of, Error *err) {
    buf_reset(&c->text);
    if (!json_write(&c->text, *dict_find_str(c->next, of), &(JsonWrite){ .cancel = c->cancel }, err)) return false;
    String *s = string_new(c->heap, buf_str(&c->text), err);
    return s && dict_put_str(c->heap, c->next, name, value_from_object(s), err);
}

/* `result` is authoritative and `content` is its text. A hook may change either; both only if they agree. */
static bool agree(Change *c, Error *err) {
    bool text = changed(c, STR("content")), value = changed(c, STR("result")), same = true;
    Value v, *result = dict_find_str(c->next, STR("result"));
    if (!text && !value) return true;
    if (text && !json_read(c->heap, hook_payload_text(value_from_object(c->next), STR("content")),
        &(JsonRead){ .reject_duplicates = true, .cancel = c->cancel }, &v, err))
        return error_wrap(err, "payload[\"content\"] is not JSON text");
    if (text && value && result && !value_equal(v, *result, &same, err)) return false;
    if (!same) return error_set(err, ERR_SCRIPT, "modify changed both payload[\"content\"] and payload[\"result\"], and they disagree");
    if (text && !value && !dict_put_str(c->heap, c->next, STR("result"), v, err)) return false;
    return put_text(c, STR("content"), STR("result"), err);
}

/* completion.pre: content, calls and parts of each message. */
static bool agree_messages(Change *c, Error *err) {
    const Value *now = dict_find_str(c->next, STR("messages")), *old = dict_find_str(c->old, STR("messages"));
    List *list;
    if (!changed(c, STR("messages")) || !value_is_list(*now)) return true;
    if (!parts_agree(c->heap, value_is_list(*old) ? value_list(*old) : NULL, value_list(*now), &list, err)) return error_wrap(err, "payload[\"messages\"]");
    return dict_put_str(c->heap, c->next, STR("messages"), value_from_object(list), err);
}

/* A reply as a list of one message. */
static bool reply_message(Heap *h, const Dict *payload, List **out, Error *err) {
    static const char *const keys[][2] = { { "content", "text" }, { "tool_calls", "tool_calls" }, { "parts", "parts" } };
    Dict *d = dict_new(h, 4, err);
    bool ok = d && dict_put_text(h, d, "role", STR("assistant"), err);
    for (size_t i = 0; ok && i < sizeof keys / sizeof *keys; i++) {
        const Value *v = dict_find_str(payload, str_from(keys[i][1]));
        ok = !v || dict_put_str(h, d, str_from(keys[i][0]), *v, err);
    }
    *out = ok ? list_new(h, 1, err) : NULL;
    return *out && list_push(h, *out, value_from_object(d), err);
}

/* completion.post: text, calls and parts of the reply. Parts may not bring a call that the model did not make. */
static bool agree_reply(Change *c, Error *err) {
    List *before, *after, *agreed;
    Value calls, kept;
    const Value *old = dict_find_str(c->old, STR("tool_calls"));
    if (!dict_find_str(c->old, STR("parts")) || (!changed(c, STR("text")) && !changed(c, STR("tool_calls")) && !changed(c, STR("parts")))) return true;
    if (!reply_message(c->heap, c->old, &before, err) || !reply_message(c->heap, c->next, &after, err)) return false;
    if (!parts_agree(c->heap, before, after, &agreed, err)) return error_wrap(err, "payload[\"parts\"]");
    Value message = agreed->at[0];
    calls = value_member(message, "tool_calls");
    List *none = value_is_gone(calls) ? list_new(c->heap, 0, err) : NULL;
    if (value_is_gone(calls) && !none) return false;
    if (none) calls = value_from_object(none);
    if (old && !narrow(c, STR("tool_calls"), *old, calls, &kept, err)) return false;
    return dict_put_str(c->heap, c->next, STR("text"), value_member(message, "content"), err)
        && (!old || dict_put_str(c->heap, c->next, STR("tool_calls"), kept, err))
        && dict_put_str(c->heap, c->next, STR("parts"), value_member(message, "parts"), err);
}

static bool derive(Change *c, Error *err) {
    if (rule_of(c->info, STR("messages")) == RULE_FREE) return agree_messages(c, err);
    if (rule_of(c->info, STR("parts")) == RULE_FREE) return agree_reply(c, err);
    if (dict_find_str(c->next, STR("content")) && rule_of(c->info, STR("content")) == RULE_FREE) return agree(c, err);
    if (changed(c, STR("args")) && dict_find_str(c->next, STR("arguments"))) return put_text(c, STR("arguments"), STR("args"), err);
    return true;
}

static bool any_change(const Change *c) {
    Entry *e;
    if (c->next->n != c->old->n) return true;
    for (uint32_t i = 0; dict_next(c->next, &i, &e);)
        if (changed(c, value_str(e->key))) return true;
    return false;
}

bool hook_payload_change(Heap *h, const HookEventInfo *info, Value old, Value now, Cancel *cancel, Value *next, Error *err) {
    Change c = { .heap = h, .info = info, .cancel = cancel, .old = value_dict(old), .now = value_dict(now) };
    bool ok = dict_copy(h, c.old, &c.next, err) && change_keys(&c, err) && derive(&c, err);
    if (ok) {
        *next = any_change(&c) ? value_from_object(c.next) : old;
        value_freeze(*next);
    }
    buf_clear(&c.text);
    return ok;
}
