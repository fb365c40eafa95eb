/* The pattern of a search, with what can be known about it beforehand: text that every match has, and whether a whole file
 * may be searched at once. Immutable; safe from any thread. */
#pragma once
#include "base/arena.h"
#include "base/cancel.h"
#include "base/error.h"
#include "base/regex.h"
#include "base/str.h"

typedef struct GrepPattern {
    Regex *regex;                       /* NULL: the pattern is plain text, `literal` */
    Regex *utf8;                        /* the same for text that is known to be UTF-8; NULL: `regex` is as fast */
    Str literal;                        /* every match contains it; may be "" */
    size_t rare;                        /* its byte that is least frequent in texts */
    bool by_line;                       /* what stands around a line could change the answer: each line must be searched alone */
    bool line_end;                      /* speaks of the line's end: so does a file with \r\n */
} GrepPattern;

/* ERR_PARSE or ERR_LIMIT as regex_new; ERR_VALIDATION for one that asks for a line break. */
bool grep_pattern_init(GrepPattern *p, Str pattern, bool ignore_case, Arena *arena, Error *err);
void grep_pattern_clear(GrepPattern *p);

/* The first place at or behind `from` where the literal (which is not "") stands, or SIZE_MAX. */
size_t grep_pattern_literal(const GrepPattern *p, Str text, size_t from);
