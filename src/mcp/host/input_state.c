#include "mcp/host/input_state.h"
#include "base/base64.h"
#include "base/digest.h"
#include "value/json.h"

static bool is_passing(Str key) { return str_eq(key, STR("_meta")) || str_eq(key, STR("inputResponses")) || str_eq(key, STR("requestState")); }

static bool add_params(Buf *out, Value params, Error *err) {
    Entry *e;
    Heap *h = heap_new(0);
    Dict *d = dict_new(h, 4, err);
    bool ok = d != NULL;
    for (uint32_t i = 0; ok && value_is_dict(params) && dict_next(value_dict(params), &i, &e);)
        if (!is_passing(value_str(e->key))) ok = dict_put(h, d, e->key, e->value, err);
    ok = ok && json_write(out, value_from_object(d), &(JsonWrite){ .sort_keys = true }, err);
    heap_free(h);
    return ok;
}

static bool seal(const uint8_t *key, const InputId *id, Str method, Value params, uint8_t out[DIGEST_BYTES_MAX], Error *err) {
    Buf text = { 0 };
    buf_add(&text, (Str){ (const char *)id->bytes, INPUT_ID_BYTES });
    buf_add(&text, method);
    buf_add_char(&text, 0);
    bool ok = add_params(&text, params, err) && digest_hmac(DIGEST_SHA256, (Str){ (const char *)key, INPUT_KEY_BYTES }, buf_str(&text), out, err);
    buf_clear(&text);
    return ok;
}

bool input_state_write(const uint8_t key[INPUT_KEY_BYTES], const InputId *id, Str method, Value params, Buf *out, Error *err) {
    uint8_t sealed[INPUT_ID_BYTES + DIGEST_BYTES_MAX];
    memcpy(sealed, id->bytes, INPUT_ID_BYTES);
    if (!seal(key, id, method, params, sealed + INPUT_ID_BYTES, err)) return false;
    base64_encode_url((Str){ (const char *)sealed, INPUT_ID_BYTES + DIGEST_SHA256_BYTES }, out);
    return true;
}

/* Constant-time comparison. */
static bool same(const uint8_t *a, const char *b, size_t n) {
    uint8_t differ = 0;
    for (size_t i = 0; i < n; i++) differ |= a[i] ^ (uint8_t)b[i];
    return differ == 0;
}

bool input_state_read(const uint8_t key[INPUT_KEY_BYTES], Str state, Str method, Value params, InputId *out, Error *err) {
    Buf raw = { 0 };
    Error bad;
    uint8_t right[DIGEST_BYTES_MAX];
    InputId id;
    bool shaped = state.n < 200 && base64_decode(state, &raw, &bad) && raw.n == INPUT_ID_BYTES + DIGEST_SHA256_BYTES, ok = shaped;
    if (ok) memcpy(id.bytes, raw.at, INPUT_ID_BYTES);
    ok = ok && seal(key, &id, method, params, right, err) && same(right, raw.at + INPUT_ID_BYTES, DIGEST_SHA256_BYTES);
    buf_clear(&raw);
    if (ok) *out = id;
    return ok;
}
