#include "base/utf8.h"
#include "cli/cli.h"

void cli_escape(Buf *out, Str text, bool keep_lines) {
    const unsigned char *at = (const unsigned char *)text.at;
    size_t plain = 0;                                    /* start of what needs no escape */
    for (size_t i = 0; i < text.n; i++) {
        bool c1 = at[i] == 0xc2 && i + 1 < text.n && at[i + 1] >= 0x80 && at[i + 1] < 0xa0;     /* U+0080…U+009F */
        bool control = at[i] < 0x20 || at[i] == 0x7f || c1;
        if (!control || (keep_lines && (at[i] == '\n' || at[i] == '\t'))) continue;
        buf_add(out, str_sub(text, plain, i));
        i += c1;
        buf_add_fmt(out, "\\x%02x", at[i]);
        plain = i + 1;
    }
    buf_add(out, str_sub(text, plain, text.n));
}

void cli_escape_all(Buf *out, Str text, bool keep_lines) {
    for (size_t length; text.n; text = str_sub(text, length, text.n)) {
        uint32_t c = utf8_decode(text, &length);
        if (c == 0xfffd && length == 1) buf_add_fmt(out, "\\x%02x", (unsigned char)text.at[0]);
        else if ((keep_lines && (c == '\n' || c == '\t')) || !utf8_is_deceptive(c)) buf_add(out, str_sub(text, 0, length));
        else buf_add_fmt(out, "\\u{%x}", c);
    }
}
