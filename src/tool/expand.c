#include "tool/expand.h"
#include <stdlib.h>
#include "value/dict.h"

static bool add_variable(Str name, Redactor *redactor, Buf *out, Error *err) {
    char *text = str_dup(name);
    const char *value = getenv(text);
    free(text);
    if (!value) return error_set(err, ERR_CONFIG, "${" STR_FMT "} is not set in the environment", STR_ARG(name));
    redact_add_value(redactor, str_from(value));
    buf_add(out, str_from(value));
    return true;
}

bool expand_text(Str text, Redactor *redactor, Buf *out, Error *err) {
    for (size_t i = 0; i < text.n;) {
        Str rest = str_sub(text, i, text.n);
        ptrdiff_t end = str_starts(rest, STR("${")) ? str_find_char(rest, '}') : -1;
        if (str_starts(rest, STR("$${"))) {
            buf_add(out, STR("${"));
            i += 3;
        } else if (end >= 0) {
            if (!add_variable(str_sub(rest, 2, (size_t)end), redactor, out, err)) return false;
            i += (size_t)end + 1;
        } else {
            buf_add_char(out, text.at[i++]);
        }
    }
    return true;
}

bool expand_environment(Value map, Redactor *redactor, Arena *arena, const char **env, size_t *n, Error *err) {
    Entry *e;
    bool ok = true;
    for (uint32_t i = 0; ok && value_is_dict(map) && dict_next(value_dict(map), &i, &e);) {
        Buf line = { 0 };
        buf_add_fmt(&line, STR_FMT "=", STR_ARG(value_str(e->key)));
        ok = expand_text(value_str(e->value), redactor, &line, err);
        if (ok) env[(*n)++] = arena_str(arena, buf_str(&line)).at;
        else error_wrap(err, "environment." STR_FMT, STR_ARG(value_str(e->key)));
        buf_clear(&line);
    }
    return ok;
}
