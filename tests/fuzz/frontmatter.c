/* The slices are inside the text, in order; only the two delimiter lines and a byte-order mark are omitted. */
#include <stdlib.h>
#include "value/frontmatter.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void require(bool ok) { if (!ok) abort(); }

static size_t count_lines(const char *from, const char *to) {
    size_t n = 0;
    for (; from < to; from++) n += *from == '\n';
    return n;
}

static bool is_delimiter(Str s) {
    bool ended = s.n && s.at[s.n - 1] == '\n';
    if (ended) s.n--;
    if (ended && s.n && s.at[s.n - 1] == '\r') s.n--;
    while (s.n > 3 && (s.at[s.n - 1] == ' ' || s.at[s.n - 1] == '\t')) s.n--;
    return str_eq(s, STR("---"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    Str text = { (const char *)data, n }, line;
    Frontmatter f;
    Error err = { 0 };
    if (!frontmatter_split(text, &f, &err)) {
        require(err.kind == ERR_PARSE && err.line >= 1 && err.msg[0]);
        return 0;
    }
    const char *end = text.at + n;
    require(f.yaml.at >= text.at && f.yaml.at + f.yaml.n <= f.body.at && f.body.at + f.body.n == end);
    Str opening = { text.at, (size_t)(f.yaml.at - text.at) };
    if (str_starts(opening, STR("\xef\xbb\xbf"))) opening = str_sub(opening, 3, opening.n);
    require(is_delimiter(opening));
    require(is_delimiter((Str){ f.yaml.at + f.yaml.n, (size_t)(f.body.at - f.yaml.at) - f.yaml.n }));
    require(f.yaml_line == 2 && f.body_line >= 3);
    require(f.body_line - 1 == count_lines(text.at, f.body.at) + (f.body.at[-1] != '\n'));
    for (Str rest = f.yaml; str_next_line(&rest, &line);) require(!is_delimiter(line));

    /* Splitting the recombined parts again gives the same parts. */
    Buf again = { 0 };
    buf_add(&again, STR("---\n"));
    buf_add(&again, f.yaml);
    buf_add(&again, STR("---\n"));
    buf_add(&again, f.body);
    Frontmatter g;
    require(frontmatter_split(buf_str(&again), &g, &err));
    require(str_eq(f.yaml, g.yaml) && str_eq(f.body, g.body));
    require(f.body_line == g.body_line);
    buf_clear(&again);
    return 0;
}
