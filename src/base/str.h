/* Str is a borrowed slice of bytes: never owned, not NUL-terminated, usually UTF-8.
 * Buf is a growing byte buffer that owns its memory. */
#pragma once
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct { const char *at; size_t n; } Str;

#define STR(literal) ((Str){ (literal), sizeof(literal) - 1 })
#define STR_FMT "%.*s"
#define STR_ARG(s) (int)((s).n > 0x7fffffff ? 0x7fffffff : (s).n), (s).at

static inline Str str_from(const char *s) { return (Str){ s, s ? strlen(s) : 0 }; }
static inline bool str_eq(Str a, Str b) { return a.n == b.n && (a.n == 0 || memcmp(a.at, b.at, a.n) == 0); }
int str_cmp(Str a, Str b);                        /* by bytes: <0, 0, >0 */
bool str_starts(Str s, Str prefix);
bool str_ends(Str s, Str suffix);
bool str_among(Str s, const Str *list, size_t n); /* equal to one of them */
Str str_sub(Str s, size_t from, size_t to);       /* clamps the bounds */
Str str_trim(Str s);                              /* removes ASCII white space at both ends */
ptrdiff_t str_find(Str s, Str needle);            /* byte offset of the first match, or -1 */
ptrdiff_t str_find_char(Str s, char c);
bool str_next_line(Str *rest, Str *line);         /* splits off one line, without its "\n" or "\r\n" */
char *str_dup(Str s);                             /* NUL-terminated copy; free() it */

/* The candidate closest to `word` by edit distance, if close enough to suggest (at most a third of the length, at least
 * 1); else an empty Str. */
Str str_nearest(Str word, const Str *candidates, size_t n);
bool str_within(Str a, Str b, unsigned edits);       /* true if they are at most that many edits apart. Always false for more than 96 bytes */

/* `at` is NULL or a NUL-terminated string of length n. Zero-initialise to start:
 * Buf b = {0}. Growing past `limit` (0: none) sets `full` and drops the bytes, so a
 * writer can check once at the end. */
typedef struct { char *at; size_t n, cap, limit; bool full; } Buf;

void buf_clear(Buf *b);                           /* frees the memory; then empty */
void buf_reset(Buf *b);                           /* empties it, keeps the memory */
char *buf_room(Buf *b, size_t n);                 /* n writable bytes at the end, or NULL past the limit; then buf_commit */
static inline void buf_commit(Buf *b, size_t n) { b->n += n; b->at[b->n] = 0; }
static inline char *buf_room_quick(Buf *b, size_t n) { return b->full || b->limit || n >= b->cap - b->n ? buf_room(b, n) : b->at + b->n; }
static inline void buf_add(Buf *b, Str s) {
    char *room = buf_room_quick(b, s.n);
    if (!room) return;
    if (s.n) memcpy(room, s.at, s.n);
    buf_commit(b, s.n);
}
static inline void buf_add_char(Buf *b, char c) {
    char *room = buf_room_quick(b, 1);
    if (!room) return;
    *room = c;
    buf_commit(b, 1);
}
void buf_add_fmt(Buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void buf_add_vfmt(Buf *b, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));
void buf_add_utf8(Buf *b, uint32_t codepoint);    /* must be a scalar value */
static inline Str buf_str(const Buf *b) { return (Str){ b->at ? b->at : "", b->n }; }
char *buf_take(Buf *b);                           /* the string, owned by the caller; b is then empty */
