#include "artifact/environment.h"
#include <stdlib.h>

static bool add_variable(Str name, Buf *out, void (*secret)(void *ctx, Str value), void *ctx, Error *err) {
    char *key = str_dup(name);
    const char *value = getenv(key);
    free(key);
    if (!value) return error_set(err, ERR_CONFIG, "${" STR_FMT "} is not set in the environment", STR_ARG(name));
    buf_add(out, str_from(value));
    if (secret) secret(ctx, str_from(value));
    return true;
}

bool environment_expand(Str text, Buf *out, void (*secret)(void *ctx, Str value), void *ctx, Error *err) {
    for (size_t i = 0; i < text.n;) {
        Str rest = str_sub(text, i, text.n);
        if (str_starts(rest, STR("$${"))) {
            buf_add(out, STR("${"));
            i += 3;
        } else if (str_starts(rest, STR("${")) && str_find_char(rest, '}') > 0) {
            size_t close = (size_t)str_find_char(rest, '}');
            if (!add_variable(str_sub(rest, 2, close), out, secret, ctx, err)) return false;
            i += close + 1;
        } else {
            buf_add_char(out, text.at[i++]);
        }
    }
    return true;
}

void environment_values(Str text, void (*secret)(void *ctx, Str value), void *ctx) {
    for (size_t i = 0; i < text.n;) {
        Str rest = str_sub(text, i, text.n);
        ptrdiff_t close = str_find_char(rest, '}');
        if (str_starts(rest, STR("$${"))) {
            i += 3;
        } else if (str_starts(rest, STR("${")) && close > 0) {
            char *name = str_dup(str_sub(rest, 2, (size_t)close));
            const char *value = getenv(name);
            free(name);
            if (value) secret(ctx, str_from(value));
            i += (size_t)close + 1;
        } else {
            i++;
        }
    }
}
