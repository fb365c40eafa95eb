#include "base/error.h"
#include <stdio.h>
#include <string.h>

const char *error_kind_name(ErrorKind kind) {
    static const char *const names[] = {
#define X(kind, name) [kind] = name,
        ERROR_KINDS(X)
#undef X
    };
    return (size_t)kind < sizeof names / sizeof *names ? names[kind] : "unknown";
}

/* `text` of `size` bytes was filled by snprintf, which needed `wanted` characters. If they did not fit, ends it in "…"
 * after the last whole character that leaves room. */
static void cut_text(char *text, size_t size, int wanted) {
    static const char more[] = "…";
    if (wanted < 0) {                                  /* snprintf failed: a %s of gigabytes? */
        text[0] = 0;
        return;
    }
    if ((size_t)wanted < size)
        return;
    if (size < sizeof more) {
        text[0] = 0;
        return;
    }
    size_t end = size - sizeof more;
    for (int back = 0; back < 3 && end > 0 && ((unsigned char)text[end] & 0xC0) == 0x80; back++)
        end--;                                         /* inside a character */
    memcpy(text + end, more, sizeof more);
}

static void format_text(char *text, size_t size, const char *fmt, va_list ap) __attribute__((format(printf, 3, 0)));
static void format_text(char *text, size_t size, const char *fmt, va_list ap) {
    cut_text(text, size, vsnprintf(text, size, fmt, ap));
}

bool error_set_v(Error *err, ErrorKind kind, const char *fmt, va_list ap) {
    if (err == NULL)
        return false;
    char text[ERROR_MSG_MAX];                          /* not in place: an argument may be err->msg */
    format_text(text, sizeof text, fmt, ap);
    err->kind = kind;
    err->line = err->column = 0;
    err->file[0] = err->hint[0] = 0;
    memcpy(err->msg, text, strlen(text) + 1);
    return false;
}

bool error_set(Error *err, ErrorKind kind, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    error_set_v(err, kind, fmt, ap);
    va_end(ap);
    return false;
}

bool error_set_at(Error *err, ErrorKind kind, uint32_t line, uint32_t column, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    error_set_v(err, kind, fmt, ap);
    va_end(ap);
    return error_place(err, NULL, line, column);
}

bool error_wrap(Error *err, const char *fmt, ...) {
    if (err == NULL)
        return false;
    char prefix[ERROR_MSG_MAX], text[ERROR_MSG_MAX];
    va_list ap;
    va_start(ap, fmt);
    format_text(prefix, sizeof prefix, fmt, ap);
    va_end(ap);
    cut_text(text, sizeof text, snprintf(text, sizeof text, "%s: %s", prefix, err->msg));
    memcpy(err->msg, text, strlen(text) + 1);
    return false;
}

bool error_hint(Error *err, const char *fmt, ...) {
    if (err == NULL)
        return false;
    char text[ERROR_HINT_MAX];
    va_list ap;
    va_start(ap, fmt);
    format_text(text, sizeof text, fmt, ap);
    va_end(ap);
    memcpy(err->hint, text, strlen(text) + 1);
    return false;
}

bool error_place(Error *err, const char *file, uint32_t line, uint32_t column) {
    if (err == NULL)
        return false;
    if (file && file != err->file)
        cut_text(err->file, sizeof err->file, snprintf(err->file, sizeof err->file, "%s", file));
    if (line) {
        err->line = line;
        err->column = column;
    }
    return false;
}

void error_format(const Error *err, char *out, size_t size) {
    char place[2 * 12] = "";
    if (size == 0)
        return;
    if (err->line && err->column)
        snprintf(place, sizeof place, "%u:%u", err->line, err->column);
    else if (err->line)
        snprintf(place, sizeof place, "%u", err->line);
    int wanted = snprintf(out, size, "%s%s%s%s%s%s%s%s",
                          err->file, err->file[0] && place[0] ? ":" : "", place,
                          err->file[0] || place[0] ? ": " : "", err->msg,
                          err->hint[0] ? " (" : "", err->hint, err->hint[0] ? ")" : "");
    cut_text(out, size, wanted);
}
