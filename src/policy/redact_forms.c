#include "policy/redact_forms.h"
#include "base/utf8.h"
#include "value/json.h"

enum { LINE_MIN = 16 };

typedef struct { void (*each)(void *ctx, Str form); void *ctx; Buf text; } Forms;

static void give(Forms *f) {
    f->each(f->ctx, buf_str(&f->text));
    buf_reset(&f->text);
}

static void give_json(Forms *f, Str s) {
    Buf quoted = { 0 };
    json_write_string(&quoted, s, false);
    f->each(f->ctx, str_sub(buf_str(&quoted), 1, quoted.n - 1));
    buf_clear(&quoted);
}

static void add_hex(Buf *b, uint32_t byte, bool upper) {
    const char *digits = upper ? "0123456789ABCDEF" : "0123456789abcdef";
    buf_add_char(b, digits[byte >> 4 & 15]);
    buf_add_char(b, digits[byte & 15]);
}

static void add_unit(Buf *b, uint32_t unit, bool upper) {
    buf_add(b, STR("\\u"));
    add_hex(b, unit >> 8, upper);
    add_hex(b, unit, upper);
}

/* Encodes like writers that escape all non-ASCII characters, and those that also escape the slash. */
static void give_json_ascii(Forms *f, Str s, bool upper, bool slash) {
    for (size_t at = 0, n; at < s.n; at += n) {
        uint32_t c = utf8_decode(str_sub(s, at, s.n), &n);
        const char *names = "\"\"\\\\\bb\ff\nn\rr\tt", *name = NULL;
        for (const char *p = names; *p; p += 2)
            if ((uint32_t)*p == c) name = p + 1;
        if (name || (slash && c == '/')) buf_add_char(&f->text, '\\'), buf_add_char(&f->text, name ? *name : '/');
        else if (c >= 0x20 && c < 0x7f) buf_add_char(&f->text, (char)c);
        else if (c < 0x10000) add_unit(&f->text, c, upper);
        else add_unit(&f->text, 0xd800 + ((c - 0x10000) >> 10), upper), add_unit(&f->text, 0xdc00 + ((c - 0x10000) & 0x3ff), upper);
    }
    give(f);
}

static bool is_word(char c) { return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); }

static void give_percent(Forms *f, Str s, const char *kept, bool upper, bool plus) {
    for (size_t i = 0; i < s.n; i++) {
        char c = s.at[i];
        if (is_word(c) || (c && strchr(kept, c))) buf_add_char(&f->text, c);
        else if (plus && c == ' ') buf_add_char(&f->text, '+');
        else buf_add_char(&f->text, '%'), add_hex(&f->text, (unsigned char)c, upper);
    }
    give(f);
}

static void give_hex(Forms *f, Str s, bool upper) {
    for (size_t i = 0; i < s.n; i++) add_hex(&f->text, (unsigned char)s.at[i], upper);
    give(f);
}

/* The base64 characters that depend on s only, if s begins `shift` bytes after a multiple of three. */
static void give_base64(Forms *f, Str s, size_t shift, const char *alphabet) {
    size_t from = (8 * shift + 5) / 6, to = 8 * (shift + s.n) / 6;
    for (size_t i = from; i < to; i++) {
        size_t bit = 6 * i - 8 * shift, byte = bit / 8;
        unsigned two = (unsigned)(unsigned char)s.at[byte] << 8 | (byte + 1 < s.n ? (unsigned char)s.at[byte + 1] : 0u);
        buf_add_char(&f->text, alphabet[two >> (10 - bit % 8) & 63]);
    }
    give(f);
}

static void give_all(Forms *f, Str s) {
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    static const char web[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    f->each(f->ctx, s);
    give_json(f, s);
    give_json_ascii(f, s, false, false);
    give_json_ascii(f, s, true, true);
    give_percent(f, s, "-_.~", true, false);         /* RFC 3986 */
    give_percent(f, s, "-_.~", false, false);
    give_percent(f, s, "-_.!~*'()", true, false);    /* encodeURIComponent */
    give_percent(f, s, "-_.~/", true, false);        /* a path */
    give_percent(f, s, "-_.*", true, true);          /* a form */
    give_hex(f, s, false);
    give_hex(f, s, true);
    for (size_t shift = 0; shift < 3; shift++) {
        give_base64(f, s, shift, letters);
        give_base64(f, s, shift, web);
    }
}

void redact_forms(Str secret, void (*each)(void *ctx, Str form), void *ctx) {
    Forms f = { .each = each, .ctx = ctx };
    Str trimmed = str_trim(secret), rest = trimmed, line;
    give_all(&f, secret);
    if (trimmed.n != secret.n) give_all(&f, trimmed);
    while (str_next_line(&rest, &line))
        if (line.n >= LINE_MIN && line.n < trimmed.n) give_all(&f, line);
    if (f.text.at) explicit_bzero(f.text.at, f.text.cap);
    buf_clear(&f.text);
}
