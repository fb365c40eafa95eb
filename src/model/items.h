/* The provider's own form of earlier replies: items.
 *
 * A reply consists of items: reasoning, text and calls, as JSON in the provider's terms, often with encrypted content or signatures.
 * The provider expects them back unchanged and in order. They are kept beside the conversation, under the hash of the neutral
 * message, so a message that a hook, the redactor or an edit has changed no longer finds its items and is written from its neutral
 * form. Only the model family that made them gets them back. */
#pragma once
#include "base/arena.h"
#include "base/vec.h"
#include "value/list.h"

enum { ITEMS_HASH = 64 };                /* hexadecimal digits */

typedef struct Items {
    char hash[ITEMS_HASH + 1];           /* of the neutral message, see items_hash */
    Str origin;                          /* the model_origin that produced them */
    Str list;                            /* a JSON array, verbatim */
    Str *ids; size_t n_ids;              /* the provider's ids of the calls, in the order of the neutral calls */
} Items;

typedef struct ItemsTable { Items *at; size_t n, cap; } ItemsTable;    /* oldest first; strings are borrowed. Zero-initialise */

/* The hash of a reply: its text, the id, name and arguments of each call, and its parts (GONE: text and calls are complete). */
void items_hash(Str text, Value calls, Value parts, char out[ITEMS_HASH + 1]);

typedef struct ItemsId { Str neutral, own; } ItemsId;

/* Finds the items of each message of a conversation. `table` and `messages` must outlive the match. */
typedef struct ItemsMatch {
    const Items **of;                    /* for each message; NULL: write the neutral form */
    VEC(ItemsId) ids;
} ItemsMatch;
void items_match(const ItemsTable *table, Str origin, const List *messages, ItemsMatch *out);   /* table may be NULL */
Str items_own_id(const ItemsMatch *m, Str id);           /* the provider's id of a call; `id` itself when it has no other */
void items_match_none(ItemsMatch *m, size_t n);           /* forgets the items of all n messages */
void items_match_clear(ItemsMatch *m);

/* A row as JSON, for the journal, and back. Strings of the row are in `arena`. */
void items_write(const Items *row, Buf *out);
bool items_read(Str text, Arena *arena, Items *out, Error *err);
