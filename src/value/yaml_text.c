#include "value/yaml_text.h"
#include "base/utf8.h"

static const uint32_t swapped[YAML_SWAPS] = { 0x85, 0x2028, 0x2029 };
enum { PRIVATE_FIRST = 0xe000, PRIVATE_LAST = 0xf8ff };

Place yaml_text_place(Str text, size_t offset) {
    Place p = { 1, 1 };
    for (size_t i = 0, length; i < offset; i += length) {
        length = 1;
        if (text.at[i] == '\n' || text.at[i] == '\r') {
            if (text.at[i] == '\r' && i + 1 < text.n && text.at[i + 1] == '\n') length = 2;
            p = (Place){ p.line + 1, 1 };
        } else {
            utf8_decode(str_sub(text, i, text.n), &length);
            p.column++;
        }
    }
    return p;
}

static bool is_allowed(uint32_t c) {
    if (c < 0x20) return c == '\t' || c == '\n' || c == '\r';
    return c < 0x7f || c == 0x85 || (c >= 0xa0 && c != 0xfffe && c != 0xffff);
}

static int swap_index(const uint32_t set[YAML_SWAPS], uint32_t c) {
    for (int i = 0; i < YAML_SWAPS; i++)
        if (set[i] == c) return i;
    return -1;
}

/* Finds the first forbidden character, and whether any character must be replaced. */
static bool check(Str text, bool *swap, Place *at, Error *err) {
    size_t valid = utf8_valid_prefix(text);
    for (size_t i = 0, length = 1; i < valid; i += length) {
        uint32_t c = (unsigned char)text.at[i];
        length = 1;
        if (c >= 0x80) c = utf8_decode(str_sub(text, i, valid), &length);
        if (!is_allowed(c)) {
            *at = yaml_text_place(text, i);
            return error_set(err, ERR_PARSE, "control character U+%04X is not allowed", (unsigned)c);
        }
        if (c >= 0x80 && swap_index(swapped, c) >= 0) *swap = true;
    }
    if (valid == text.n) return true;
    *at = yaml_text_place(text, valid);
    return error_set(err, ERR_PARSE, "invalid UTF-8");
}

static void copy_swapping(Buf *out, Str text, const uint32_t from[YAML_SWAPS], const uint32_t to[YAML_SWAPS]) {
    for (size_t i = 0, length; i < text.n; i += length) {
        int found = swap_index(from, utf8_decode(str_sub(text, i, text.n), &length));
        if (found >= 0) buf_add_utf8(out, to[found]);
        else buf_add(out, str_sub(text, i, i + length));
    }
}

/* Picks private-use characters that the text does not contain. */
static bool choose_stand_ins(YamlText *t) {
    bool used[PRIVATE_LAST - PRIVATE_FIRST + 1] = { 0 };
    for (size_t i = 0, length; i < t->text.n; i += length) {
        uint32_t c = utf8_decode(str_sub(t->text, i, t->text.n), &length);
        if (c >= PRIVATE_FIRST && c <= PRIVATE_LAST) used[c - PRIVATE_FIRST] = true;
    }
    int n = 0;
    for (uint32_t c = PRIVATE_FIRST; c <= PRIVATE_LAST && n < YAML_SWAPS; c++)
        if (!used[c - PRIVATE_FIRST]) t->stand_in[n++] = c;
    return n == YAML_SWAPS;
}

bool yaml_text_prepare(YamlText *t, Str raw, Place *at, Error *err) {
    if (str_starts(raw, STR("\xef\xbb\xbf"))) raw = str_sub(raw, 3, raw.n);
    t->text = raw;
    bool swap = false;
    if (!check(raw, &swap, at, err)) return false;
    if (!swap) return true;
    *at = (Place){ 1, 1 };
    if (!choose_stand_ins(t))
        return error_set(err, ERR_PARSE, "the text has Unicode line separators and uses every private-use character: no replacement is left for parsing");
    copy_swapping(&t->copy, raw, swapped, t->stand_in);
    t->text = buf_str(&t->copy);
    return true;
}

Str yaml_text_restore(YamlText *t, Str scalar) {
    if (!t->stand_in[0]) return scalar;
    buf_reset(&t->scratch);
    copy_swapping(&t->scratch, scalar, t->stand_in, swapped);
    return buf_str(&t->scratch);
}

void yaml_text_clear(YamlText *t) {
    buf_clear(&t->copy);
    buf_clear(&t->scratch);
    *t = (YamlText){ 0 };
}
