#include "model/items.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "model/request.h"

static void hash_text(Sha256 *s, Str text) {
    uint64_t n = text.n;
    sha256_add(s, (Str){ (const char *)&n, sizeof n });      /* so that different lists of texts never give the same bytes */
    sha256_add(s, text);
}

void items_hash(Str text, Value calls, Value parts, char out[ITEMS_HASH + 1]) {
    static const char digits[] = "0123456789abcdef";
    uint8_t bytes[SHA256_BYTES];
    Sha256 s;
    sha256_init(&s);
    hash_text(&s, text);
    for (uint32_t i = 0; value_is_list(calls) && i < value_list(calls)->n; i++) {
        Value call = value_list(calls)->at[i];
        hash_text(&s, value_member_text(call, "id"));
        hash_text(&s, value_member_text(call, "name"));
        hash_text(&s, value_member_text(call, "arguments"));
    }
    for (uint32_t i = 0; value_is_list(parts) && i < value_list(parts)->n; i++) {
        hash_text(&s, value_member_text(value_list(parts)->at[i], "type"));
        hash_text(&s, value_member_text(value_list(parts)->at[i], "text"));
    }
    sha256_end(&s, bytes);
    for (size_t i = 0; i < sizeof bytes; i++) {
        out[2 * i] = digits[bytes[i] >> 4];
        out[2 * i + 1] = digits[bytes[i] & 15];
    }
    out[ITEMS_HASH] = 0;
}

/* ---- matching ---- */

static void add_ids(ItemsMatch *m, const Items *row, Value message) {
    const List *calls = request_list(message, "tool_calls");
    for (uint32_t i = 0; calls && i < calls->n && i < row->n_ids; i++) {
        Str id = value_member_text(calls->at[i], "id");
        if (!str_eq(id, row->ids[i])) VEC_PUSH(&m->ids, (ItemsId){ id, row->ids[i] });
    }
}

/* From the newest message back: old messages leave a context first, so equal messages keep their own items. */
void items_match(const ItemsTable *table, Str origin, const List *messages, ItemsMatch *out) {
    *out = (ItemsMatch){ .of = mem_zero(messages->n + 1, sizeof *out->of) };
    size_t left = table ? table->n : 0;
    for (uint32_t i = messages->n; i-- > 0 && left;) {
        char hash[ITEMS_HASH + 1];
        Value message = messages->at[i];
        if (request_role(message) != ROLE_ASSISTANT) continue;
        items_hash(value_member_text(message, "content"), value_member(message, "tool_calls"), value_member(message, "parts"), hash);
        size_t at = left;
        while (at > 0 && strcmp(table->at[at - 1].hash, hash) != 0) at--;
        if (at == 0) continue;
        left = at - 1;
        if (!str_eq(table->at[left].origin, origin)) continue;
        out->of[i] = &table->at[left];
        add_ids(out, out->of[i], message);
    }
}

Str items_own_id(const ItemsMatch *m, Str id) {
    for (size_t i = 0; i < m->ids.n; i++)
        if (str_eq(m->ids.at[i].neutral, id)) return m->ids.at[i].own;
    return id;
}

void items_match_none(ItemsMatch *m, size_t n) {
    for (size_t i = 0; i < n; i++) m->of[i] = NULL;
    m->ids.n = 0;
}

void items_match_clear(ItemsMatch *m) {
    free((void *)m->of);
    VEC_CLEAR(&m->ids);
    m->of = NULL;
}

/* ---- the journal's form ---- */

void items_write(const Items *row, Buf *out) {
    buf_add_char(out, '{');
    request_string(out, "hash", str_from(row->hash));
    request_string(out, "origin", row->origin);
    request_key(out, "ids");
    buf_add_char(out, '[');
    for (size_t i = 0; i < row->n_ids; i++) {
        if (i) buf_add_char(out, ',');
        json_write_string(out, row->ids[i], false);
    }
    buf_add_char(out, ']');
    request_key(out, "items");
    buf_add(out, row->list);
    buf_add_char(out, '}');
}

static bool read_row(Value root, Arena *arena, Items *out, Error *err) {
    const List *ids = request_list(root, "ids");
    Str hash = value_member_text(root, "hash");
    Value list = value_member(root, "items");
    if (hash.n != ITEMS_HASH || !value_is_list(list)) return error_set(err, ERR_PARSE, "the stored items of a reply are damaged");
    *out = (Items){ .origin = arena_str(arena, value_member_text(root, "origin")), .n_ids = ids ? ids->n : 0 };
    memcpy(out->hash, hash.at, ITEMS_HASH);
    out->ids = ARENA_ARRAY(arena, Str, out->n_ids + 1);
    for (size_t i = 0; i < out->n_ids; i++) out->ids[i] = value_is_string(ids->at[i]) ? arena_str(arena, value_str(ids->at[i])) : STR("");
    Buf text = { 0 };
    bool ok = json_write(&text, list, NULL, err);
    out->list = arena_str(arena, buf_str(&text));
    buf_clear(&text);
    return ok;
}

bool items_read(Str text, Arena *arena, Items *out, Error *err) {
    Heap *heap = heap_new(0);
    Value root;
    bool ok = json_read(heap, text, NULL, &root, err) && read_row(root, arena, out, err);
    heap_free(heap);
    return ok;
}
