/* The parts of a message, in the order in which they came.
 *
 *   {"type": "text", "text"}                                      any role
 *   {"type": "reasoning", "text"}                                 assistant
 *   {"type": "call", "id", "name", "arguments": JSON TEXT}        assistant
 *   {"type": "result", "id", "text", "is_error"}                  tool: exactly one, first
 *   {"type": "image", "mime", "bytes", "sha256", "data"}          user, tool; data: base64
 *   {"type": "file", "mime", "name", "bytes", "sha256", "data"}   user, tool; a PDF
 *
 * `content`, `tool_calls` and `tool_call_id` of a message say the same in the shape that most code needs. A message keeps a list
 * `parts` only when those are not complete (reasoning, media, text between calls). Hooks and scripts see parts on every message;
 * they do not see `data`, which a part that has it already keeps by its hash. */
#pragma once
#include "value/dict.h"
#include "value/list.h"

enum { PARTS_HASH = 64, PARTS_IMAGE_MAX = 3840 << 10, PARTS_FILE_MAX = 20 << 20 };   /* bytes before base64 */

bool parts_is(Value part, const char *type);
bool parts_is_media(Value part);
bool parts_are_plain(const List *parts);                     /* true if content and tool_calls are complete without the parts */

/* The parts of a message: its own list, or a new one in `heap`. */
bool parts_of(Heap *heap, Value message, List **out, Error *err);
/* Reasoning, then text, then calls: the usual order of an answer. Empty texts have no part. */
bool parts_usual(Heap *heap, Str reasoning, Str text, Value calls, List **out, Error *err);

/* Messages as hooks and scripts see them. New dicts in `heap` that share the texts of `messages`. */
bool parts_show(Heap *heap, const List *messages, List **out, Error *err);
/* Makes content, calls and parts of each message agree after a hook has changed one of them. `before`: as it was shown.
 * ERR_SCRIPT names the message and the part that is wrong. *out may be `after` itself. */
bool parts_agree(Heap *heap, const List *before, const List *after, List **out, Error *err);
/* Converts messages that a hook or script returned to those that are sent: adds the data of media, and omits plain lists of parts. `before`: the
 * original messages; may be NULL. */
bool parts_restore(Heap *heap, const List *before, const List *after, List **out, Error *err);

/* The order of an answer's parts without its texts, for the journal: [{"type", "bytes"}, {"type": "call", "id"}]. */
void parts_write_order(Buf *out, const List *parts);
/* The parts from that. Falls back to the usual order when the sizes do not fit the texts. */
bool parts_read_order(Heap *heap, Value order, Str reasoning, Str text, Value calls, List **out, Error *err);

/* A media part from bytes. ERR_VALIDATION: models do not accept its type or size. */
bool parts_media(Heap *heap, Str bytes, Str mime, Str name, Value *out, Error *err);
const char *parts_media_type(Str bytes);                     /* by the first bytes; NULL: not an image or PDF that models take */
/* The media parts of a tool's content blocks, in order; *out NULL: none. Skips blocks that models do not accept. */
bool parts_from_blocks(Heap *heap, Value blocks, List **out, Error *err);
/* Why a block with data is not sent to models; false: it is sent, or has no data. */
bool parts_block_refused(Value block, Error *why);
/* Media parts without data as a JSON list, for events. */
void parts_write_media(Buf *out, const List *media);
