/* Edits of other programs' JSON files. Every byte outside of the edited place stays: comments, indentation, line ends, order and repeated
 * keys. Comments and trailing commas are accepted, because some of those programs accept them. */
#pragma once
#include "base/arena.h"
#include "base/error.h"

typedef enum JsoncKind { JSONC_OBJECT, JSONC_ARRAY, JSONC_STRING, JSONC_PLAIN } JsoncKind;     /* PLAIN: a number, true, false or null */

/* A value of the text. from and to are offsets. */
typedef struct JsoncNode JsoncNode;
struct JsoncNode {
    JsoncKind kind;
    size_t from, to;
    Str key;                             /* of a member of an object, decoded */
    size_t key_from;                     /* where the member begins */
    JsoncNode *first, *last, *next;      /* values of an object or array; the next one of the same container */
    size_t comma;                        /* offset of the comma after it; 0: none */
};

/* The tree of a text, in `arena`. An empty text, or one with only white space and comments, is NULL. Errors have line and column. */
bool jsonc_read(Str text, Arena *arena, const JsoncNode **out, Error *err);
const JsoncNode *jsonc_member(const JsoncNode *object, Str key);       /* the last one of that name, as JSON readers take it; NULL: none */
Str jsonc_string(Str text, const JsoncNode *n, Arena *arena);          /* decoded; "" if it is not a string */

/* Adds `value` (JSON on one line) at the end of an array, or of an object as member `key`. */
void jsonc_add(Str text, const JsoncNode *to, Str key, Str value, Buf *out);
/* Removes a value, and its key, from its container. */
void jsonc_remove(Str text, const JsoncNode *from, const JsoncNode *n, Buf *out);
