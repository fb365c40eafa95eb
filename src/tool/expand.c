#include "tool/expand.h"
#include "artifact/environment.h"
#include "value/dict.h"

static void add_secret(void *ctx, Str value) { redact_add_value(ctx, value); }

/* Appends the text with its references expanded; `$${` is a literal `${`. An unset variable is ERR_CONFIG. */
static bool expand_one(Str text, Redactor *redactor, Buf *out, Error *err) { return environment_expand(text, out, add_secret, redactor, err); }

bool expand_environment(Value map, Redactor *redactor, Arena *arena, const char **env, size_t *n, Error *err) {
    Entry *e;
    bool ok = true;
    for (uint32_t i = 0; ok && value_is_dict(map) && dict_next(value_dict(map), &i, &e);) {
        Buf line = { 0 };
        buf_add_fmt(&line, STR_FMT "=", STR_ARG(value_str(e->key)));
        ok = expand_one(value_str(e->value), redactor, &line, err);
        if (ok) env[(*n)++] = arena_str(arena, buf_str(&line)).at;
        else error_wrap(err, "environment." STR_FMT, STR_ARG(value_str(e->key)));
        buf_clear(&line);
    }
    return ok;
}
