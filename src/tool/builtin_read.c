/* The tool read: text with line numbers, images and PDFs as typed content. */
#include "base/base64.h"
#include "base/utf8.h"
#include "script/content.h"
#include "tool/builtin.h"
#include "value/list.h"

enum { LINES = 2000, LOOK = 8192 };

/* ---- what it is ---- */

static bool has_magic(Str s, size_t at, Str magic) { return s.n >= at + magic.n && memcmp(s.at + at, magic.at, magic.n) == 0; }

static const char *media_type(Str s) {
    if (has_magic(s, 0, STR("\x89PNG\r\n\x1a\n"))) return "image/png";
    if (has_magic(s, 0, STR("\xff\xd8\xff"))) return "image/jpeg";
    if (has_magic(s, 0, STR("GIF87a")) || has_magic(s, 0, STR("GIF89a"))) return "image/gif";
    if (has_magic(s, 0, STR("RIFF")) && has_magic(s, 8, STR("WEBP"))) return "image/webp";
    return has_magic(s, 0, STR("%PDF-")) ? "application/pdf" : NULL;
}

/* A NUL, or a beginning of which a third is neither UTF-8 nor anything that is printed. Text in an old encoding passes. */
static bool is_binary(Str s) {
    Str head = str_sub(s, 0, LOOK);
    size_t odd = 0;
    if (memchr(head.at, 0, head.n)) return true;
    for (size_t i = 0, n; i < head.n; i += n) {
        uint32_t c = utf8_decode(str_sub(head, i, head.n), &n);
        odd += (c == 0xfffd && n == 1) || c == 0x7f || (c < 0x20 && !strchr("\t\n\r\f\b\x1b", (int)c));
    }
    return odd * 3 > head.n;
}

/* ---- typed content ---- */

static void add_uri(Buf *out, Str path) {
    buf_add(out, STR("file://"));
    for (size_t i = 0; i < path.n; i++) {
        unsigned char c = (unsigned char)path.at[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || (c && strchr("/-._~", c));
        if (plain) buf_add_char(out, (char)c);
        else buf_add_fmt(out, "%%%02X", c);
    }
}

static bool make_image(Heap *h, Str data, const char *mime, Value *out, Error *err) {
    Dict *d = dict_new(h, 3, err);
    if (!d || !builtin_put_text(h, d, "type", STR("image"), err) || !builtin_put_text(h, d, "data", data, err) ||
        !builtin_put_text(h, d, "mimeType", str_from(mime), err)) return false;
    content_mark(d);
    return *out = value_from_object(d), true;
}

static bool make_resource(Heap *h, Str data, const char *mime, Str absolute, Value *out, Error *err) {
    Dict *d = dict_new(h, 2, err), *inner = dict_new(h, 3, err);
    Buf uri = { 0 };
    add_uri(&uri, absolute);
    bool ok = d && inner && builtin_put_text(h, inner, "uri", buf_str(&uri), err) && builtin_put_text(h, inner, "blob", data, err) &&
              builtin_put_text(h, inner, "mimeType", str_from(mime), err) && builtin_put_text(h, d, "type", STR("resource"), err) &&
              dict_put_str(h, d, STR("resource"), value_from_object(inner), err);
    buf_clear(&uri);
    if (!ok) return false;
    content_mark(d);
    return *out = value_from_object(d), true;
}

/* {path, mime, size} as the value; a sentence and the block itself as content. */
static bool give_media(ToolCallFrame *f, const JailPlace *place, Str bytes, const char *mime, Error *err) {
    Heap *h = f->heap;
    Buf data = { 0 }, said = { 0 };
    Value block;
    Str name = builtin_name(f, place->absolute);
    base64_encode(bytes, &data);
    buf_add_fmt(&said, STR_FMT ": %s, %zu bytes", STR_ARG(name), mime, bytes.n);
    Dict *value = dict_new(h, 3, err), *text = dict_new(h, 2, err);
    List *content = list_new(h, 2, err);
    bool ok = value && text && content && builtin_put_text(h, value, "path", name, err) && builtin_put_text(h, value, "mime", str_from(mime), err) &&
              dict_put_str(h, value, STR("size"), value_from_small((int64_t)bytes.n), err) && builtin_put_text(h, text, "type", STR("text"), err) &&
              builtin_put_text(h, text, "text", buf_str(&said), err) &&
              (strncmp(mime, "image/", 6) == 0 ? make_image(h, buf_str(&data), mime, &block, err)
                                               : make_resource(h, buf_str(&data), mime, place->absolute, &block, err));
    buf_clear(&data);
    buf_clear(&said);
    if (!ok) return false;
    content_mark(text);
    f->value = value_from_object(value);
    f->content = value_from_object(content);
    return list_push(h, content, value_from_object(text), err) && list_push(h, content, block, err);
}

/* ---- lines ---- */

static size_t count_lines(Str s) {
    size_t n = 0;
    for (const char *at = s.at, *end = s.at + s.n; at < end; n++) {
        const char *nl = memchr(at, '\n', (size_t)(end - at));
        at = nl ? nl + 1 : end;
    }
    return n;
}

/* Lines keep what stands before their "\n", a "\r" too: an edit must find the text as it is. */
static bool give_lines(ToolCallFrame *f, Str text, Str path, Error *err) {
    int64_t skip = builtin_arg_int(f, "offset", 0), limit = builtin_arg_int(f, "limit", LINES);
    size_t all = count_lines(text), from = (size_t)skip, to = (size_t)limit > all || from > all - (size_t)limit ? all : from + (size_t)limit, number = 0;
    if (from > 0 && from >= all)
        return error_set(err, ERR_VALIDATION, STR_FMT ": offset %zu is beyond the end: the file has %zu line%s", STR_ARG(path), from, all, all == 1 ? "" : "s");
    Buf out = { 0 };
    for (const char *at = text.at, *end = text.at + text.n; at < end && number < to; number++) {
        const char *nl = memchr(at, '\n', (size_t)(end - at));
        if (number >= from) {
            buf_add_fmt(&out, "%6zu\t", number + 1);
            buf_add(&out, (Str){ at, (size_t)((nl ? nl : end) - at) });
            buf_add_char(&out, '\n');
        }
        at = nl ? nl + 1 : end;
    }
    if (to < all) buf_add_fmt(&out, "… %zu more line%s: offset %zu goes on\n", all - to, all - to == 1 ? "" : "s", to);
    bool ok = kind_text_value(f->heap, buf_str(&out), &f->value, err);
    buf_clear(&out);
    return ok;
}

static bool run_read(ToolCallFrame *f, Error *err) {
    Str path = builtin_arg_text(f, "path", STR(""));
    Arena arena = { 0 };
    Buf bytes = { 0 };
    JailPlace place;
    JailStat st;
    bool ok = jail_place(f->host->jail, path, false, &arena, &place, err) && jail_read(f->host->jail, path, JAIL_FILE_MAX, &bytes, &st, err) &&
              cancel_check(f->cancel, err);
    if (ok) {
        Str all = buf_str(&bytes);
        const char *mime = media_type(all);
        if (mime) ok = give_media(f, &place, all, mime, err);
        else if (is_binary(all))
            ok = error_set(err, ERR_VALIDATION, STR_FMT ": binary file of %zu bytes: only text, images (PNG, JPEG, GIF, WebP) and PDFs can be read",
                           STR_ARG(path), all.n);
        else ok = give_lines(f, all, path, err);
        if (ok) run_read_put(f->run, place.absolute, &st);
    }
    buf_clear(&bytes);
    arena_clear(&arena);
    return builtin_end(f, ok, err);
}

const BuiltinDef builtin_read[] = {
    { .name = "read", .title = "Read a file",
      .description = "Reads a file. Text comes as numbered lines, from 1; the number and the tab behind it are not part of the file. Images (PNG, JPEG, GIF, "
                     "WebP) and PDFs come as they are. Other binary files, and files over 50 MB, are refused. A file must have been read before write may "
                     "replace it.",
      .parameters = "{\"type\":\"object\",\"properties\":{"
                    "\"path\":{\"type\":\"string\",\"minLength\":1,\"description\":\"The file, relative to the workspace.\"},"
                    "\"limit\":{\"type\":\"integer\",\"minimum\":1,\"default\":2000,\"description\":\"How many lines at most.\"},"
                    "\"offset\":{\"type\":\"integer\",\"minimum\":0,\"default\":0,\"description\":\"How many lines to skip at the start of the file.\"}},"
                    "\"required\":[\"path\"],\"additionalProperties\":false}",
      .timeout_ms = 10000, .execute = run_read },
    { 0 },
};
