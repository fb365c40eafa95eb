/* Problems of a project: loading collects all of them before it fails. */
#pragma once
#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include "value/places.h"

typedef enum { PROBLEM_ERROR, PROBLEM_WARNING, PROBLEM_HINT } Severity;

/* hint may be empty. about_file: the problem concerns the whole file, not the text at its line. */
typedef struct Problem { Severity severity; Str file; uint32_t line, column; Str message, hint; bool about_file; } Problem;

/* Initialize with zeros; call problems_clear at the end. Beyond PROBLEMS_MAX, problems are only counted. */
enum { PROBLEMS_MAX = 10000 };
typedef struct Problems { Arena arena; Problem *at; size_t n, cap, errors, warnings, dropped; } Problems;

void problems_clear(Problems *p);
void problems_add(Problems *p, Severity severity, Str file, Place place, Str hint, const char *fmt, ...)
    __attribute__((format(printf, 6, 7)));
void problems_add_v(Problems *p, Severity severity, Str file, Place place, Str hint, const char *fmt, va_list ap)
    __attribute__((format(printf, 6, 0)));
void problems_add_error(Problems *p, Str file, const Error *err);       /* uses file, line and column of err if set */
void problems_add_about_file(Problems *p, Severity severity, Str file, Str hint, const char *message);    /* at its first line */
void problems_copy(Problems *to, const Problem *p);
void problems_sort(Problems *p);                                        /* by file, line, column; stable */
const char *problem_severity_name(Severity s);                          /* "error", "warning", "hint" */
void problem_format(const Problem *p, Buf *out);                        /* "FILE:LINE:COL: MESSAGE (HINT)" */
