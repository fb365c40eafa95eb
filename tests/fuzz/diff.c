/* Two texts; two bytes give the length of the first. The diff must consist of whole lines, name every changed line of
 * both, and be empty only for equal texts. */
#include <stdlib.h>
#include "base/diff.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void require(bool ok) { if (!ok) abort(); }

/* Rebuilds both texts from a diff with all lines as context. */
static void rebuild(Str diff, Buf *a, Buf *b) {
    while (diff.n) {
        const char *end = memchr(diff.at, '\n', diff.n);
        require(end != NULL);
        Str line = str_sub(diff, 0, (size_t)(end - diff.at) + 1);
        diff = str_sub(diff, line.n, diff.n);
        bool cut = str_starts(diff, STR("\\"));
        if (line.at[0] == '@' || line.at[0] == '\\') continue;
        Str text = str_sub(line, 1, line.n - cut);
        require(line.at[0] == ' ' || line.at[0] == '+' || line.at[0] == '-');
        if (line.at[0] != '+') buf_add(a, text);
        if (line.at[0] != '-') buf_add(b, text);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    if (n < 2) return 0;
    Str all = { (const char *)data + 2, n - 2 };
    size_t cut = (data[0] | (size_t)data[1] << 8) % (all.n + 1);
    Str a = str_sub(all, 0, cut), b = str_sub(all, cut, all.n);
    Buf out = { 0 }, x = { 0 }, y = { 0 };
    diff_unified(a, b, &(DiffStyle){ .context = SIZE_MAX / 4 }, &out);
    require((out.n == 0) == str_eq(a, b));
    rebuild(buf_str(&out), &x, &y);
    if (out.n) require(str_eq(buf_str(&x), a) && str_eq(buf_str(&y), b));
    buf_reset(&out);
    diff_unified(a, b, NULL, &out);
    buf_clear(&out);
    buf_clear(&x);
    buf_clear(&y);
    return 0;
}
