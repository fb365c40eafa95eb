#include "cli/terminal/width.h"
#include <pthread.h>
#include <sys/ioctl.h>
#include "base/library.h"
#include "base/utf8.h"

static struct { int (*charwidth)(int32_t codepoint); } utf8proc;
static Library library = { .what = "libutf8proc", .file = "libutf8proc.so.2" };
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void) {
    library_load(&library, (const LibraryFunction[]){ { "utf8proc_charwidth", (void **)&utf8proc.charwidth } }, 1);
}

static size_t width_of_char(uint32_t c) {
    if (c < 0x300) return c >= ' ' && c != 0x7f;
    if (c == 0xfe0f) return 1;                               /* makes the symbol before it an emoji: two columns */
    pthread_once(&once, load);
    if (!library.ok) return 1;
    int n = utf8proc.charwidth((int32_t)c);
    return n > 0 ? (size_t)n : 0;
}

size_t width_of(Str text) {
    size_t columns = 0, n;
    for (size_t i = 0; i < text.n; i += n) columns += width_of_char(utf8_decode(str_sub(text, i, text.n), &n));
    return columns;
}

size_t width_if_known(int fd) {
    struct winsize size = { 0 };
    return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 3 ? size.ws_col : 0;
}

size_t width_of_terminal(int fd) {
    size_t known = width_if_known(fd);
    return known ? known : 80;
}

void width_add_spaces(Buf *out, size_t n) {
    while (n--) buf_add_char(out, ' ');
}

void width_add_cut(Buf *out, Str text, size_t columns) {
    size_t at = 0, word = 0, taken = 0, n;
    if (width_of(text) <= columns) {
        buf_add(out, text);
        return;
    }
    for (; at < text.n; at += n) {
        size_t wide = width_of_char(utf8_decode(str_sub(text, at, text.n), &n));
        if (taken + wide + 1 > columns) break;
        taken += wide;
        if (text.at[at] == ' ') word = at;
    }
    size_t end = word > at / 2 ? word : at;                  /* a long word at the end is cut rather than half of the line left empty */
    buf_add(out, str_sub(text, 0, end));
    if (columns) buf_add(out, STR("…"));
}
