/* Regular expressions: the first line is the pattern, the rest the text. Searching must end. For JavaScript's dialect,
 * checking accepts exactly what translating accepts. */
#include <stdlib.h>
#include "base/regex.h"
#include "base/regex_ecma.h"
#include "base/utf8.h"

static void search(Str pattern, unsigned flags, Str text) {
    Error err = { 0 };
    RegexSpan at[3];
    bool found;
    Regex *re = regex_new(pattern, flags, &err);
    if (!re) {
        if (!err.msg[0]) abort();
        return;
    }
    if (regex_find(re, text, 0, at, 3, NULL, &found, &err) && found && (at[0].from > text.n || at[0].to > text.n)) abort();
    regex_free(re);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Str rest = { (const char *)data, size }, pattern;
    if (size > 2000 || !str_next_line(&rest, &pattern)) return 0;
    search(pattern, 0, rest);
    search(pattern, REGEX_ECMA, rest);
    search(pattern, REGEX_ECMA | REGEX_IGNORE_CASE | REGEX_MULTILINE | REGEX_DOTALL, rest);
    if (utf8_valid(pattern)) {
        Buf out = { 0 };
        if (regex_ecma_translate(pattern, &out, NULL) != regex_ecma_translate(pattern, NULL, NULL)) abort();
        buf_clear(&out);
    }
    return 0;
}
