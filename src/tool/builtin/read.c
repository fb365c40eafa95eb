/* The tool read: text with line numbers, images and PDFs as typed content. */
#include <unistd.h>
#include "base/base64.h"
#include "base/utf8.h"
#include "script/content.h"
#include "script/parts.h"
#include "tool/builtin/builtin.h"
#include "value/list.h"

#ifdef HARNESS_HOSTILE
enum { PIECE = 7 };
#else
enum { PIECE = 64 << 10 };
#endif
enum { LINES = 2000, LOOK = 8192, REST_MAX = 1 << 20 };

/* An open file, of which a part is in memory. */
typedef struct { int fd; Str path; JailStat stat; Cancel *cancel; Buf piece; uint64_t taken; bool end; } File;

/* ---- file type ---- */

/* Appends to the piece until it has n bytes, or the file ends. A file that grows in the meantime is read only up to its maximum length. */
static bool read_more(File *f, size_t n, Error *err) {
    while (!f->end && f->piece.n < n) {
        if (!cancel_check(f->cancel, err) || !jail_read_piece(f->fd, f->path, n - f->piece.n, &f->piece, &f->end, err)) return false;
        if (f->taken + f->piece.n > JAIL_FILE_MAX) f->end = true;
    }
    return true;
}

/* Binary: contains a NUL, or at least a third of the start is neither UTF-8 nor printable. Text in a legacy encoding
 * passes. */
static bool is_binary(Str head) {
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

/* {path, mime, size} as the value; a sentence and the block as content. */
static bool give_media(ToolCallFrame *f, const JailPlace *place, File *file, const char *mime, Error *err) {
    Heap *h = f->heap;
    if (!read_more(file, (size_t)file->stat.size, err)) return false;
    Str bytes = buf_str(&file->piece);
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

/* `number` lines are complete or skipped; `within`: inside a line. */
typedef struct { uint64_t from, to, number; bool within; Buf out; } Lines;

/* Takes lines up to the end of the piece or number `to`; returns the bytes consumed. Keeps a "\r" before the "\n": an
 * edit must match the text exactly. */
static size_t take_lines(Lines *l, Str piece) {
    size_t i = 0;
    while (i < piece.n && l->number < l->to) {
        const char *nl = memchr(piece.at + i, '\n', piece.n - i);
        size_t next = nl ? (size_t)(nl - piece.at) + 1 : piece.n;
        if (l->number >= l->from) {
            if (!l->within) buf_add_fmt(&l->out, "%6llu\t", (unsigned long long)l->number + 1);
            buf_add(&l->out, str_sub(piece, i, next));
        }
        l->within = !nl;
        if (nl) l->number++;
        i = next;
    }
    return i;
}

static void end_lines(Lines *l) {
    if (!l->within) return;
    if (l->number++ >= l->from) buf_add_char(&l->out, '\n');
    l->within = false;
}

/* Takes lines from the file until `to` or end of file. */
static bool read_lines(File *f, Lines *l, Error *err) {
    for (;;) {
        size_t n = take_lines(l, buf_str(&f->piece));
        f->taken += n;
        memmove(f->piece.at, f->piece.at + n, f->piece.n - n);
        f->piece.n -= n;
        if (l->number == l->to) return true;
        if (f->end) return end_lines(l), true;
        if (!read_more(f, PIECE, err)) return false;
    }
}

static void add_rest(Buf *out, uint64_t n, const char *what, uint64_t to) {
    if (n) buf_add_fmt(out, "… %llu more %s%s: continue with offset %llu\n", (unsigned long long)n, what, n == 1 ? "" : "s", (unsigned long long)to);
}

/* Reports the number of remaining lines, unless counting takes long. */
static bool count_rest(File *f, Lines *l, Error *err) {
    uint64_t size = (uint64_t)f->stat.size, left = size > f->taken ? size - f->taken : 0;
    if (left > REST_MAX) return add_rest(&l->out, left, "byte", l->number), true;
    Lines rest = { .from = UINT64_MAX, .to = UINT64_MAX };
    if (!read_lines(f, &rest, err)) return false;
    return add_rest(&l->out, rest.number, "line", l->number), true;
}

static bool give_lines(ToolCallFrame *f, File *file, Error *err) {
    uint64_t skip = (uint64_t)builtin_arg_int(f, "offset", 0);
    Lines l = { .from = skip, .to = skip + (uint64_t)builtin_arg_int(f, "limit", LINES) };
    bool ok = read_lines(file, &l, err);
    if (ok && skip > 0 && skip >= l.number)
        ok = error_set(err, ERR_VALIDATION, STR_FMT ": offset %llu is beyond the end: the file has %llu line%s", STR_ARG(file->path),
                       (unsigned long long)skip, (unsigned long long)l.number, l.number == 1 ? "" : "s");
    ok = ok && count_rest(file, &l, err) && kind_text_value(f->heap, buf_str(&l.out), &f->value, err);
    buf_clear(&l.out);
    return ok;
}

static bool give_file(ToolCallFrame *f, const JailPlace *place, File *file, Error *err) {
    if (!read_more(file, LOOK, err)) return false;
    Str head = buf_str(&file->piece);
    const char *mime = parts_media_type(head);
    if (mime) return give_media(f, place, file, mime, err);
    if (!is_binary(head)) return give_lines(f, file, err);
    return error_set(err, ERR_VALIDATION, STR_FMT ": binary file of %lld bytes: only text, images (PNG, JPEG, GIF, WebP) and PDFs can be read",
                     STR_ARG(file->path), (long long)file->stat.size);
}

/* Records the file's state from before the first read, so a change during the read counts as a later change. */
static bool run_read(ToolCallFrame *f, Error *err) {
    File file = { .path = builtin_arg_text(f, "path", STR("")), .cancel = f->cancel };
    Arena arena = { 0 };
    JailPlace place;
    bool ok = jail_place(f->host->jail, file.path, false, &arena, &place, err);
    file.fd = ok ? jail_open_upto(f->host->jail, file.path, JAIL_FILE_MAX, &file.stat, err) : -1;
    ok = file.fd >= 0 && give_file(f, &place, &file, err);
    if (ok) run_read_put(f->run, place.absolute, &file.stat);
    if (file.fd >= 0) close(file.fd);
    buf_clear(&file.piece);
    arena_clear(&arena);
    return builtin_end(f, ok, err);
}

const BuiltinDef builtin_read[] = {
    { .name = "read", .title = "Read a file",
      .description = "Reads a file. Text comes as numbered lines, from 1; the number and the tab after it are not part of the file. Images (PNG, JPEG, GIF, "
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
