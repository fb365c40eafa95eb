#include "base/utf8.h"

/* Length of the valid sequence at p (of n > 0 bytes), or 0. The second byte shows all special cases: overlong forms,
 * surrogates and the end of the code space. */
static size_t sequence_length(const unsigned char *p, size_t n) {
    unsigned char lead = p[0], low = 0x80, high = 0xBF;
    size_t length;
    if (lead < 0x80) return 1;
    if (lead < 0xC2) return 0;                         /* a continuation byte, or overlong */
    if (lead < 0xE0) length = 2;
    else if (lead < 0xF0) length = 3;
    else if (lead < 0xF5) length = 4;
    else return 0;
    if (lead == 0xE0) low = 0xA0;                      /* below: overlong */
    if (lead == 0xED) high = 0x9F;                     /* above: surrogates */
    if (lead == 0xF0) low = 0x90;                      /* below: overlong */
    if (lead == 0xF4) high = 0x8F;                     /* above: past U+10FFFF */
    if (n < length || p[1] < low || p[1] > high)
        return 0;
    for (size_t i = 2; i < length; i++)
        if ((p[i] & 0xC0) != 0x80)
            return 0;
    return length;
}

size_t utf8_valid_prefix(Str s) {
    const unsigned char *p = (const unsigned char *)s.at;
    size_t i = 0;
    while (i < s.n) {
        uint64_t word;
        while (s.n - i >= 8 && (memcpy(&word, p + i, 8), (word & 0x8080808080808080u) == 0))
            i += 8;
        if (i == s.n)
            break;
        size_t length = sequence_length(p + i, s.n - i);
        if (length == 0)
            break;
        i += length;
        while (i < s.n && p[i] >= 0x80) {              /* non-ASCII bytes come in runs */
            length = sequence_length(p + i, s.n - i);
            if (length == 0)
                return i;
            i += length;
        }
    }
    return i;
}

uint32_t utf8_decode(Str s, size_t *length) {
    const unsigned char *p = (const unsigned char *)s.at;
    size_t n = sequence_length(p, s.n);
    *length = n ? n : 1;
    switch (n) {
    case 1: return p[0];
    case 2: return (p[0] & 0x1Fu) << 6 | (p[1] & 0x3Fu);
    case 3: return (p[0] & 0x0Fu) << 12 | (p[1] & 0x3Fu) << 6 | (p[2] & 0x3Fu);
    case 4: return (p[0] & 0x07u) << 18 | (p[1] & 0x3Fu) << 12 | (p[2] & 0x3Fu) << 6 | (p[3] & 0x3Fu);
    default: return 0xFFFD;
    }
}

size_t utf8_encode(uint32_t c, char out[4]) {
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (char)(0xC0 | c >> 6);
        out[1] = (char)(0x80 | (c & 0x3F));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (char)(0xE0 | c >> 12);
        out[1] = (char)(0x80 | (c >> 6 & 0x3F));
        out[2] = (char)(0x80 | (c & 0x3F));
        return 3;
    }
    out[0] = (char)(0xF0 | c >> 18);
    out[1] = (char)(0x80 | (c >> 12 & 0x3F));
    out[2] = (char)(0x80 | (c >> 6 & 0x3F));
    out[3] = (char)(0x80 | (c & 0x3F));
    return 4;
}

size_t utf8_count(Str s) {
    const unsigned char *p = (const unsigned char *)s.at;
    size_t count = 0;
    for (size_t i = 0; i < s.n; count++) {
        size_t length = sequence_length(p + i, s.n - i);
        i += length ? length : 1;
    }
    return count;
}

bool utf8_is_deceptive(uint32_t c) {
    static const uint32_t ranges[][2] = {                  /* sorted; U+FE0E and U+FE0F only select an emoji's
                                                            * presentation */
        { 0x0, 0x1f }, { 0x7f, 0x9f }, { 0xad, 0xad }, { 0x34f, 0x34f }, { 0x61c, 0x61c }, { 0x115f, 0x1160 }, { 0x17b4, 0x17b5 }, { 0x180b, 0x180f },
        { 0x200b, 0x200f }, { 0x2028, 0x202e }, { 0x2060, 0x206f }, { 0x2800, 0x2800 }, { 0x3164, 0x3164 }, { 0xfe00, 0xfe0d },
            { 0xfeff, 0xfeff }, { 0xffa0, 0xffa0 },
        { 0xfff0, 0xfffb }, { 0x1bca0, 0x1bca3 }, { 0x1d173, 0x1d17a }, { 0xe0000, 0xe0fff },
    };
    if (c >= 0x20 && c < 0x7f) return false;
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges && c >= ranges[i][0]; i++)
        if (c <= ranges[i][1]) return true;
    return false;
}

void utf8_escape(Str text, bool keep_lines, Buf *out) {
    for (size_t length; text.n; text = str_sub(text, length, text.n)) {
        uint32_t c = utf8_decode(text, &length);
        if (c == 0xfffd && length == 1) buf_add_fmt(out, "\\x%02x", (unsigned char)text.at[0]);
        else if ((keep_lines && (c == '\n' || c == '\t')) || !utf8_is_deceptive(c)) buf_add(out, str_sub(text, 0, length));
        else buf_add_fmt(out, "\\u{%x}", c);
    }
}
