/* An error: what went wrong, where, and what to do about it.
 *
 * A function that can fail returns bool (or a pointer) and takes an Error * last; the Error is written only on failure.
 * `err` may be NULL. Callers add context: error_wrap(err, "parse tool x.md") turns "yaml: line 4: ..." into "parse tool
 * x.md: yaml: line 4: ...". */
#pragma once
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/mem.h"

/* X(enumerator, name as printed) */
#define ERROR_KINDS(X) \
    X(ERR_NONE, "none") X(ERR_PARSE, "parse") X(ERR_CONFIG, "config") X(ERR_VALIDATION, "validation") \
    X(ERR_SCRIPT, "script") X(ERR_POLICY, "policy") X(ERR_SANDBOX, "sandbox") X(ERR_TIMEOUT, "timeout") \
    X(ERR_CANCELLED, "cancelled") X(ERR_LIMIT, "limit") X(ERR_PROVIDER, "provider") X(ERR_PROTOCOL, "protocol") \
    X(ERR_IO, "io") X(ERR_INTERNAL, "internal")

typedef enum {
#define X(kind, name) kind,
    ERROR_KINDS(X)
#undef X
} ErrorKind;

/* Fixed storage, so that failing never allocates and an Error can be copied and dropped. Longer messages are cut at a
 * character boundary and end in "…". */
enum { ERROR_MSG_MAX = 1024, ERROR_FILE_MAX = 256, ERROR_HINT_MAX = 160 };

typedef struct Error {
    ErrorKind kind;
    uint32_t line, column;              /* from 1; 0: unknown */
    char msg[ERROR_MSG_MAX];
    char file[ERROR_FILE_MAX];          /* "" when unknown */
    char hint[ERROR_HINT_MAX];          /* "" if none; e.g. did you mean "string"? */
} Error;

/* Instead of { 0 }, for a MEM_UNSET Error on the hot path. */
static inline void error_none(Error *err) {
    err->kind = ERR_NONE;
    err->line = err->column = 0;
    err->msg[0] = err->file[0] = err->hint[0] = 0;
}

const char *error_kind_name(ErrorKind kind);

/* All of these return false, so that a failure is one statement:
 *     return error_set(err, ERR_IO, "open %s: %m", path);
 * They are marked cold, so the compiler moves error paths out of the hot code. */
bool error_set(Error *err, ErrorKind kind, const char *fmt, ...) __attribute__((cold, format(printf, 3, 4)));
bool error_set_v(Error *err, ErrorKind kind, const char *fmt, va_list ap) __attribute__((cold, format(printf, 3, 0)));
bool error_set_at(Error *err, ErrorKind kind, uint32_t line, uint32_t column, const char *fmt, ...)
    __attribute__((cold, format(printf, 5, 6)));
bool error_wrap(Error *err, const char *fmt, ...) __attribute__((cold, format(printf, 2, 3)));
bool error_hint(Error *err, const char *fmt, ...) __attribute__((cold, format(printf, 2, 3)));

/* Sets the location: a file that is not NULL and a line that is not 0 replace earlier ones, so a loader can add the
 * file to a parser's line. */
bool error_place(Error *err, const char *file, uint32_t line, uint32_t column) __attribute__((cold));

/* "FILE:LINE:COL: MSG (HINT)", without unknown parts. */
void error_format(const Error *err, char *out, size_t size);
