#include <errno.h>
#include <unistd.h>
#include "base/file.h"
#include "base/utf8.h"
#include "cli/cli.h"
#include "cli/terminal/screen.h"

void cli_escape(Buf *out, Str text, bool keep_lines) {
    const unsigned char *at = (const unsigned char *)text.at;
    size_t plain = 0;                                    /* start of the pending text without escapes */
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

void cli_escape_all(Buf *out, Str text, bool keep_lines) { utf8_escape(text, keep_lines, out); }

/* The length of ESC [ … LETTER at the start of the text; 0 if it is something else. */
static size_t own_sequence(Str text) {
    size_t n = 2;
    if (text.n < 3 || text.at[0] != 033 || text.at[1] != '[') return 0;
    while (n < text.n && strchr("0123456789;?", text.at[n])) n++;
    return n < text.n && ((text.at[n] >= 'A' && text.at[n] <= 'Z') || (text.at[n] >= 'a' && text.at[n] <= 'z')) ? n + 1 : 0;
}

static void clean(Buf *out, Str text, bool effects) {
    for (size_t n; text.n; text = str_sub(text, n, text.n)) {
        uint32_t c = utf8_decode(text, &n);
        size_t own = effects && c == 033 ? own_sequence(text) : 0;
        if (own) n = own;
        if (own || c == '\n' || c == '\t' || (effects && c == '\r')) buf_add(out, str_sub(text, 0, n));
        else if (c == 0xfffd && n == 1) buf_add_fmt(out, "\\x%02x", (unsigned char)text.at[0]);
        else if (!utf8_is_deceptive(c)) buf_add(out, str_sub(text, 0, n));
        else if (c > 0xffff) buf_add_fmt(out, "\\u%04x\\u%04x", 0xd7c0 + (c >> 10), 0xdc00 | (c & 0x3ff));
        else buf_add_fmt(out, "\\u%04x", c);
    }
}

static bool write_as(int fd, Str text, bool effects, bool (*to_screen)(int fd, Str text)) {
    int kept = errno;
    if (text.n == 0) return true;
    bool terminal = isatty(fd);
    errno = kept;
    if (!terminal) return file_write(fd, text);
    Buf safe = { 0 };
    clean(&safe, text, effects);
    bool ok = to_screen(fd, buf_str(&safe));
    kept = errno;
    buf_clear(&safe);
    errno = kept;
    return ok;
}

bool cli_write(int fd, Str text, bool effects) { return write_as(fd, text, effects, screen_write); }
bool cli_stream(int fd, Str text) { return write_as(fd, text, true, screen_stream); }
