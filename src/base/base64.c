#include "base/base64.h"

static const char standard[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static const char for_urls[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

static void encode(Str s, const char *alphabet, bool pad, Buf *out) {
    size_t rest = s.n % 3, n = s.n / 3 * 4 + (rest ? (pad ? 4 : rest + 1) : 0);
    char *to = buf_room(out, n);
    if (!to) return;
    const unsigned char *at = (const unsigned char *)s.at, *end = at + (s.n - rest);
    for (; at < end; at += 3) {
        *to++ = alphabet[at[0] >> 2];
        *to++ = alphabet[(at[0] & 3) << 4 | at[1] >> 4];
        *to++ = alphabet[(at[1] & 15) << 2 | at[2] >> 6];
        *to++ = alphabet[at[2] & 63];
    }
    if (rest) {
        *to++ = alphabet[at[0] >> 2];
        *to++ = alphabet[(at[0] & 3) << 4 | (rest == 2 ? at[1] >> 4 : 0)];
        if (rest == 2) *to++ = alphabet[(at[1] & 15) << 2];
        for (; pad && rest < 3; rest++) *to++ = '=';
    }
    buf_commit(out, n);
}

void base64_encode(Str bytes, Buf *out) { encode(bytes, standard, true, out); }
void base64_encode_url(Str bytes, Buf *out) { encode(bytes, for_urls, false, out); }

static int digit(char c) {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    if (c == '+' || c == '-') return 62;
    return c == '/' || c == '_' ? 63 : -1;
}

static bool unexpected(Str text, size_t i, Error *err) {
    unsigned char c = (unsigned char)text.at[i];
    if (c > 32 && c < 127) return error_set(err, ERR_PARSE, "not base64: unexpected '%c' at %zu", c, i + 1);
    return error_set(err, ERR_PARSE, "not base64: unexpected byte 0x%02x at %zu", c, i + 1);
}

/* Removes the padding, which must make the length a multiple of four if present. */
static bool cut_padding(Str *text, Error *err) {
    size_t n = text->n;
    while (n && text->n - n < 2 && text->at[n - 1] == '=') n--;
    if (n < text->n && text->n % 4) return error_set(err, ERR_PARSE, "not base64: wrong padding");
    if (n % 4 == 1) return error_set(err, ERR_PARSE, "not base64: incomplete last group");
    return text->n = n, true;
}

static bool all_digits(Str text, Error *err) {
    for (size_t i = 0; i < text.n; i++)
        if (digit(text.at[i]) < 0) return unexpected(text, i, err);
    int unused = text.n % 4 == 2 ? 15 : text.n % 4 == 3 ? 3 : 0;      /* unused bits of the last digit must be zero */
    if (unused && digit(text.at[text.n - 1]) & unused) return error_set(err, ERR_PARSE, "not base64: stray bits at the end");
    return true;
}

bool base64_decode(Str text, Buf *out, Error *err) {
    if (!cut_padding(&text, err) || !all_digits(text, err)) return false;
    size_t n = text.n / 4 * 3 + (text.n % 4 ? text.n % 4 - 1 : 0);
    char *to = buf_room(out, n);
    if (!to) return error_set(err, ERR_LIMIT, "base64: too long");
    uint32_t bits = 0;
    int have = 0;
    for (size_t i = 0; i < text.n; i++) {
        bits = bits << 6 | (uint32_t)digit(text.at[i]);
        have += 6;
        if (have < 8) continue;
        have -= 8;
        *to++ = (char)(bits >> have);
        bits &= (1u << have) - 1;
    }
    buf_commit(out, n);
    return true;
}
