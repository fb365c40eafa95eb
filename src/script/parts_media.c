/* Images and PDFs as parts of a message. */
#include "base/base64.h"
#include "base/digest.h"
#include "base/sha256.h"
#include "script/parts.h"
#include "value/json.h"

static bool has_magic(Str s, size_t at, Str magic) { return s.n >= at + magic.n && memcmp(s.at + at, magic.at, magic.n) == 0; }

const char *parts_media_type(Str bytes) {
    if (has_magic(bytes, 0, STR("\x89PNG\r\n\x1a\n"))) return "image/png";
    if (has_magic(bytes, 0, STR("\xff\xd8\xff"))) return "image/jpeg";
    if (has_magic(bytes, 0, STR("GIF87a")) || has_magic(bytes, 0, STR("GIF89a"))) return "image/gif";
    if (has_magic(bytes, 0, STR("RIFF")) && has_magic(bytes, 8, STR("WEBP"))) return "image/webp";
    return has_magic(bytes, 0, STR("%PDF-")) ? "application/pdf" : NULL;
}

static bool is_pdf(Str mime) { return str_eq(mime, STR("application/pdf")); }

static bool check(Str bytes, Str mime, Error *err) {
    static const char *const images[] = { "image/png", "image/jpeg", "image/gif", "image/webp" };
    bool known = is_pdf(mime);
    size_t most = is_pdf(mime) ? PARTS_FILE_MAX : PARTS_IMAGE_MAX;
    for (size_t i = 0; i < sizeof images / sizeof *images; i++) known = known || str_eq(mime, str_from(images[i]));
    if (!known) return error_set(err, ERR_VALIDATION, "models take PNG, JPEG, GIF and WebP images and PDFs, not " STR_FMT,
        STR_ARG(mime.n ? mime : STR("data without a type")));
    if (bytes.n == 0) return error_set(err, ERR_VALIDATION, "it is empty");
    const char *found = parts_media_type(bytes);
    if (!found || !str_eq(mime, str_from(found)))
        return error_set(err, ERR_VALIDATION, "the data is %s, not " STR_FMT, found ? found : "of another type", STR_ARG(mime));
    return bytes.n <= most || error_set(err, ERR_LIMIT, "it has %zu bytes; at most %zu are sent", bytes.n, most);
}

static bool make(Heap *heap, Str bytes, Str data, Str mime, Str name, Value *out, Error *err) {
    uint8_t sum[SHA256_BYTES];
    Buf hash = { 0 };
    if (!check(bytes, mime, err)) return false;
    sha256_of(bytes, sum);
    digest_hex(sum, sizeof sum, &hash);
    Dict *d = dict_new(heap, 6, err);
    bool ok = d && dict_put_text(heap, d, "type", is_pdf(mime) ? STR("file") : STR("image"), err) && dict_put_text(heap, d, "mime", mime, err)
           && (!is_pdf(mime) || dict_put_text(heap, d, "name", name.n ? name : STR("document.pdf"), err))
           && dict_put_str(heap, d, STR("bytes"), value_from_small((int64_t)bytes.n), err) && dict_put_text(heap, d, "sha256", buf_str(&hash), err)
           && dict_put_text(heap, d, "data", data, err);
    buf_clear(&hash);
    return ok && (*out = value_from_object(d), true);
}

bool parts_media(Heap *heap, Str bytes, Str mime, Str name, Value *out, Error *err) {
    Buf data = { 0 };
    base64_encode(bytes, &data);
    bool ok = make(heap, bytes, buf_str(&data), mime, name, out, err);
    buf_clear(&data);
    return ok;
}

/* ---- blocks ---- */

/* The data of a block, its type and name; false: it holds none. */
static bool data_of(Value block, Str *data, Str *mime, Str *name) {
    Value inner = parts_is(block, "resource") ? value_member(block, "resource") : block;
    Value v = value_member(inner, parts_is(block, "resource") ? "blob" : "data");
    Str uri = value_member_text(inner, "uri");
    if (!value_is_string(v)) return false;
    size_t at = uri.n;
    while (at > 0 && uri.at[at - 1] != '/') at--;
    *data = value_str(v);
    *mime = value_member_text(inner, "mimeType");
    *name = str_sub(uri, at, uri.n);
    return true;
}

/* Writes the base64 text again: some servers reject other alphabets and missing padding. */
static bool from_base64(Heap *heap, Str data, Str mime, Str name, Value *out, Error *err) {
    Buf bytes = { 0 };
    bool ok = base64_decode(data, &bytes, err) && (out ? parts_media(heap, buf_str(&bytes), mime, name, out, err) : check(buf_str(&bytes), mime, err));
    buf_clear(&bytes);
    return ok;
}

bool parts_from_blocks(Heap *heap, Value blocks, List **out, Error *err) {
    Str data, mime, name;
    *out = NULL;
    for (uint32_t i = 0; value_is_list(blocks) && i < value_list(blocks)->n; i++) {
        Value part;
        if (!data_of(value_list(blocks)->at[i], &data, &mime, &name) || !from_base64(heap, data, mime, name, &part, NULL)) continue;
        if (!*out && !(*out = list_new(heap, 2, err))) return false;
        if (!list_push(heap, *out, part, err)) return false;
    }
    return true;
}

bool parts_block_refused(Value block, Error *why) {
    Str data, mime, name;
    return data_of(block, &data, &mime, &name) && !from_base64(NULL, data, mime, name, NULL, why);
}

void parts_write_media(Buf *out, const List *media) {
    buf_add_char(out, '[');
    for (uint32_t i = 0; i < media->n; i++) {
        Value part = media->at[i], bytes = value_member(part, "bytes");
        buf_add(out, i ? STR(",{\"type\":") : STR("{\"type\":"));
        json_write_string(out, value_member_text(part, "type"), false);
        buf_add(out, STR(",\"mime\":"));
        json_write_string(out, value_member_text(part, "mime"), false);
        if (parts_is(part, "file")) {
            buf_add(out, STR(",\"name\":"));
            json_write_string(out, value_member_text(part, "name"), false);
        }
        buf_add_fmt(out, ",\"bytes\":%lld,\"sha256\":", value_is_small(bytes) ? (long long)value_small(bytes) : 0LL);
        json_write_string(out, value_member_text(part, "sha256"), false);
        buf_add_char(out, '}');
    }
    buf_add_char(out, ']');
}

/* ---- after a hook ---- */

static Value find_media(const List *messages, Str hash) {
    for (uint32_t i = 0; messages && i < messages->n; i++) {
        Value parts = value_member(messages->at[i], "parts");
        for (uint32_t k = 0; value_is_list(parts) && k < value_list(parts)->n; k++) {
            Value part = value_list(parts)->at[k];
            if (parts_is_media(part) && str_eq(value_member_text(part, "sha256"), hash)) return part;
        }
    }
    return VALUE_GONE;
}

static bool restore_media(Heap *heap, const List *before, Value part, Value *out, Error *err) {
    Value data = value_member(part, "data");
    Str hash = value_member_text(part, "sha256");
    if (value_is_string(data)) return from_base64(heap, value_str(data), value_member_text(part, "mime"), value_member_text(part, "name"), out, err);
    *out = hash.n ? find_media(before, hash) : VALUE_GONE;
    return !value_is_gone(*out) || error_set(err, ERR_SCRIPT, "no message has an image or file with this sha256, and it has no data");
}

static bool restore_parts(Heap *heap, const List *before, const List *parts, List **out, Error *err) {
    *out = list_new(heap, parts->n, err);
    for (uint32_t i = 0; *out && i < parts->n; i++) {
        Value part = parts->at[i];
        if (parts_is_media(part) && !restore_media(heap, before, part, &part, err)) return error_wrap(err, "part %u", i + 1);
        if (!list_push(heap, *out, part, err)) return false;
    }
    return *out != NULL;
}

static bool restore_one(Heap *heap, const List *before, Value message, Value *out, Error *err) {
    Value parts = value_member(message, "parts"), gone;
    List *list;
    Dict *d;
    *out = message;
    if (!value_is_list(parts)) return true;
    if (!restore_parts(heap, before, value_list(parts), &list, err) || !dict_copy(heap, value_dict(message), &d, err)) return false;
    *out = value_from_object(d);
    if (!parts_are_plain(list)) return dict_put_str(heap, d, STR("parts"), value_from_object(list), err);
    String *key = string_new(heap, STR("parts"), err);
    return key && dict_remove(d, value_from_object(key), &gone, err);
}

bool parts_restore(Heap *heap, const List *before, const List *after, List **out, Error *err) {
    *out = list_new(heap, after->n, err);
    for (uint32_t i = 0; *out && i < after->n; i++) {
        Value one;
        if (!restore_one(heap, before, after->at[i], &one, err)) return error_wrap(err, "message %u", i + 1);
        if (!list_push(heap, *out, one, err)) return false;
    }
    return *out != NULL;
}
