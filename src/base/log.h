/* Leveled log for people, one line per entry, on a file descriptor (stderr).
 * Text:  harness: warn: MESSAGE key=value
 * JSON:  {"time":"…","level":"warn","msg":"MESSAGE","key":"value"}
 * Each line is one write(), so lines from several threads do not mix. Escapes control and other deceptive characters in
 * messages and values, so that a tool's output cannot forge a line. */
#pragma once
#include <stdbool.h>
#include "base/str.h"

typedef enum { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR, LOG_OFF } LogLevel;
typedef enum { LOG_TEXT, LOG_JSON } LogFormat;
typedef struct Log {
    int fd;
    LogLevel level;
    LogFormat format;
    void (*clean)(Buf *line);                            /* takes credentials out of a line; NULL: nothing does */
    bool (*write)(int fd, Str line);                     /* writes a line to fd; NULL: log_write does */
} Log;
typedef struct { const char *key; Str value; } LogField;

bool log_level_parse(Str name, LogLevel *out);         /* debug, info, warn, error */
bool log_format_parse(Str name, LogFormat *out);       /* text, json */

static inline bool log_on(const Log *log, LogLevel level) { return log && level >= log->level; }
void log_write(const Log *log, LogLevel level, const LogField *fields, size_t n, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
#define LOG_WRITE(log, level, ...) (log_on((log), (level)) ? log_write((log), (level), NULL, 0, __VA_ARGS__) : (void)0)
