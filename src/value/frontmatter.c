#include "value/frontmatter.h"

/* True for three dashes followed only by blanks. */
static bool is_delimiter(Str line) {
    if (!str_starts(line, STR("---"))) return false;
    for (size_t i = 3; i < line.n; i++)
        if (line.at[i] != ' ' && line.at[i] != '\t') return false;
    return true;
}

static bool missing(Error *err, uint32_t line) {
    error_set_at(err, ERR_PARSE, line, 1, "missing frontmatter delimiter");
    return error_hint(err, "%s", line == 1 ? "the first line is ---, then comes YAML, then another line ---" : "after the YAML comes another line ---");
}

bool frontmatter_split(Str text, Frontmatter *out, Error *err) {
    Str rest = text, line;
    if (str_starts(rest, STR("\xef\xbb\xbf"))) rest = str_sub(rest, 3, rest.n);
    if (!str_next_line(&rest, &line) || !is_delimiter(line)) return missing(err, 1);

    Str yaml = rest;
    for (uint32_t number = 2;; number++) {
        size_t before = yaml.n - rest.n;
        if (!str_next_line(&rest, &line)) return missing(err, number);
        if (!is_delimiter(line)) continue;
        *out = (Frontmatter){ .yaml = str_sub(yaml, 0, before), .yaml_line = 2, .body = rest, .body_line = number + 1 };
        return true;
    }
}
