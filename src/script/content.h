/* Typed content blocks: the results of content.text(), content.image() …, which a tool may return alone or in a list.
 *
 * A block is a frozen dict in MCP's format: {type: "text", text}, {type: "image" or "audio", data (base64), mimeType},
 * {type: "resource", resource: {uri, text or blob, mimeType}}, {type: "resource_link", uri, name}. A block carries a
 * mark that scripts cannot set, DICT_BLOCK in the object's header, so that a tool's own dict with a "type" is never
 * mistaken for one. Copies keep the mark (value_copy_into, cache.set and cache.get); dict(b) and {**} do not. */
#pragma once
#include "value/dict.h"

bool content_is_block(Value v);          /* a marked dict of a known type and structure */
bool content_is_blocks(Value v);         /* a block, or a nonempty list or tuple of blocks only */
/* Marks and freezes a dict that another room built in that format (a response of an MCP server, a file read as an
 * image). */
void content_mark(Dict *block);
