/* Patterns over words: `*` and `?`. A word may have parts that are unknown before the command runs. */
#include <stdlib.h>
#include "base/mem.h"
#include "base/utf8.h"
#include "policy/rules_private.h"

enum { UNKNOWN_WORD_MAX = 4096 };       /* longer words with unknown parts match every pattern */

/* True if the byte of the word represents any text. A class [...] counts as any text followed by its own bytes. */
static bool is_open(char c, bool glob) { return c == SHELL_UNKNOWN || (glob && (c == '*' || c == '?' || c == '[')); }

/* True if some text matches both patterns. row[p]: the first p elements of the pattern can match the word so far. */
bool rules_word_may(Str pattern, Str text, bool glob) {
    bool open = false;
    for (size_t i = 0; i < text.n && !open; i++) open = is_open(text.at[i], glob);
    if (!open) return glob_word(pattern, text);
    if (text.n > UNKNOWN_WORD_MAX) return true;
    bool *row = mem_zero(pattern.n + 1, sizeof *row);
    row[0] = true;
    for (size_t p = 0; p < pattern.n && pattern.at[p] == '*'; p++) row[p + 1] = true;
    bool class = false;
    for (size_t t = 0; t < text.n; t++) {
        char c = text.at[t];
        if (class) {                     /* inside [...]: already covered by the open part */
            class = c != ']';
            continue;
        }
        if (is_open(c, glob)) {
            class = glob && c == '[' && str_find_char(str_sub(text, t + 1, text.n), ']') >= 0;
            for (size_t p = 0; p < pattern.n; p++) row[p + 1] |= row[p];
            continue;
        }
        bool diagonal = row[0];
        row[0] = false;
        for (size_t p = 0; p < pattern.n; p++) {
            bool above = row[p + 1], star = pattern.at[p] == '*';
            row[p + 1] = star ? above || row[p] : diagonal && (pattern.at[p] == '?' || pattern.at[p] == c);
            diagonal = above;
        }
    }
    bool match = row[pattern.n];
    free(row);
    return match;
}
