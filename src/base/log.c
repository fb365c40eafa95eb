#include "base/log.h"
#include <errno.h>
#include <poll.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/utf8.h"

static const char *const level_names[] = { "debug", "info", "warn", "error" };
static const char *const format_names[] = { "text", "json" };

static bool parse_name(Str name, const char *const *names, int n, int *out) {
    for (int i = 0; i < n; i++)
        if (str_eq(name, str_from(names[i])))
            return *out = i, true;
    return false;
}

bool log_level_parse(Str name, LogLevel *out) {
    int i;
    return parse_name(name, level_names, 4, &i) && (*out = (LogLevel)i, true);
}

bool log_format_parse(Str name, LogFormat *out) {
    int i;
    return parse_name(name, format_names, 2, &i) && (*out = (LogFormat)i, true);
}

static void add_short_or_code(Buf *b, uint32_t c) {
    switch (c) {
    case '\n': buf_add(b, STR("\\n")); break;
    case '\r': buf_add(b, STR("\\r")); break;
    case '\t': buf_add(b, STR("\\t")); break;
    default:
        if (c > 0xFFFF) buf_add_fmt(b, "\\u%04x\\u%04x", 0xD7C0 + (c >> 10), 0xDC00 | (c & 0x3FF));   /* as a JSON surrogate pair */
        else buf_add_fmt(b, "\\u%04x", c);
    }
}

/* Appends s with unsafe characters escaped; `quoted`: also those that would end or confuse a quoted string. JSON cannot
 * represent invalid UTF-8, so such a byte becomes U+FFFD there. */
static void add_escaped(Buf *b, Str s, LogFormat format, bool quoted) {
    for (size_t length; s.n; s = str_sub(s, length, s.n)) {
        uint32_t c = utf8_decode(s, &length);
        if (c == 0xFFFD && length == 1 && format == LOG_TEXT)
            buf_add_fmt(b, "\\x%02x", (unsigned)(unsigned char)s.at[0]);
        else if (c == 0xFFFD)
            buf_add_utf8(b, c);
        else if (utf8_is_deceptive(c))
            add_short_or_code(b, c);
        else if (quoted && (c == '"' || c == '\\'))
            buf_add_char(b, '\\'), buf_add_char(b, (char)c);
        else
            buf_add(b, (Str){ s.at, length });
    }
}

static void add_quoted(Buf *b, Str s, LogFormat format) {
    buf_add_char(b, '"');
    add_escaped(b, s, format, true);
    buf_add_char(b, '"');
}

/* A bare value must not look like several fields or a quoted one. */
static bool needs_quotes(Str s) {
    for (size_t i = 0; i < s.n; i++)
        if (s.at[i] == ' ' || s.at[i] == '"' || s.at[i] == '=' || s.at[i] == '\\')
            return true;
    return s.n == 0;
}

static void add_text_line(Buf *b, LogLevel level, Str msg, const LogField *fields, size_t n) {
    buf_add_fmt(b, "harness: %s: ", level_names[level]);
    add_escaped(b, msg, LOG_TEXT, false);
    for (size_t i = 0; i < n; i++) {
        buf_add_char(b, ' ');
        add_escaped(b, str_from(fields[i].key), LOG_TEXT, false);
        buf_add_char(b, '=');
        if (needs_quotes(fields[i].value))
            add_quoted(b, fields[i].value, LOG_TEXT);
        else
            add_escaped(b, fields[i].value, LOG_TEXT, false);
    }
    buf_add_char(b, '\n');
}

static void add_json_line(Buf *b, LogLevel level, Str msg, const LogField *fields, size_t n) {
    char time[CLOCK_TEXT_SIZE];
    clock_format(clock_wall_ns(), time);
    buf_add_fmt(b, "{\"time\":\"%s\",\"level\":\"%s\",\"msg\":", time, level_names[level]);
    add_quoted(b, msg, LOG_JSON);
    for (size_t i = 0; i < n; i++) {
        buf_add_char(b, ',');
        add_quoted(b, str_from(fields[i].key), LOG_JSON);
        buf_add_char(b, ':');
        add_quoted(b, fields[i].value, LOG_JSON);
    }
    buf_add(b, STR("}\n"));
}

/* Failure to write the log cannot be reported, so a failing or blocked log loses lines. */
static void write_line(int fd, Str line) {
    while (line.n) {
        ssize_t n = write(fd, line.at, line.n);
        if (n > 0)
            line = str_sub(line, (size_t)n, line.n);
        else if (n < 0 && errno == EAGAIN && poll(&(struct pollfd){ .fd = fd, .events = POLLOUT }, 1, 1000) > 0)
            continue;
        else if (n == 0 || errno != EINTR)
            return;
    }
}

void log_write(const Log *log, LogLevel level, const LogField *fields, size_t n, const char *fmt, ...) {
    if (!log_on(log, level) || level >= LOG_OFF)
        return;
    int saved = errno;
    Buf msg = { 0 }, line = { 0 };
    va_list ap;
    va_start(ap, fmt);
    buf_add_vfmt(&msg, fmt, ap);
    va_end(ap);
    if (log->format == LOG_JSON)
        add_json_line(&line, level, buf_str(&msg), fields, n);
    else
        add_text_line(&line, level, buf_str(&msg), fields, n);
    if (log->clean)
        log->clean(&line);
    if (log->write)
        log->write(log->fd, buf_str(&line));
    else
        write_line(log->fd, buf_str(&line));
    buf_clear(&msg);
    buf_clear(&line);
    errno = saved;                                     /* preserve the caller's errno */
}
