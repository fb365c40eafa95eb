/* The pattern of a search, with facts derived from it: text that every match contains, and whether a whole file may be
 * searched at once. Immutable, so thread-safe. */
#pragma once
#include "base/arena.h"
#include "base/cancel.h"
#include "base/error.h"
#include "base/regex.h"
#include "base/str.h"

typedef struct GrepPattern {
    Regex *regex;                       /* NULL: the pattern is the plain text `literal` */
    Regex *utf8;                        /* the same for valid UTF-8; NULL: `regex` is as fast */
    Str literal;                        /* every match contains it; may be "" */
    size_t rare;                        /* index of its least frequent byte */
    bool by_line;                       /* text around a line could change the result: search each line separately */
    bool line_end;                      /* depends on the end of a line: matters for files with \r\n */
} GrepPattern;

/* ERR_PARSE or ERR_LIMIT as regex_new; ERR_VALIDATION if it contains a line break. */
bool grep_pattern_init(GrepPattern *p, Str pattern, bool ignore_case, Arena *arena, Error *err);
void grep_pattern_clear(GrepPattern *p);

/* Offset of the first occurrence of the literal (not "") at or after `from`, or SIZE_MAX. */
size_t grep_pattern_literal(const GrepPattern *p, Str text, size_t from);
