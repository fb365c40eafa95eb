/* Typed blocks of content: what content.text(), content.image() … give, and a tool may return, alone or in a list.
 *
 * A block is a frozen dict in the shape MCP gives it: {type: "text", text}, {type: "image" or "audio", data (base64), mimeType},
 * {type: "resource", resource: {uri, text or blob, mimeType}}, {type: "resource_link", uri, name}. So that a tool's own dict that
 * happens to have a "type" is never taken for one, a block carries a mark that no script can make by hand: DICT_BLOCK in the
 * object's header. Copies keep the mark (value_copy_into, cache.set and cache.get); dict(b) and {**} do not. */
#pragma once
#include "value/dict.h"

bool content_is_block(Value v);          /* a marked dict of a known type and shape */
bool content_is_blocks(Value v);         /* a block, or a list or tuple of at least one and nothing else */
/* Marks a dict that another room made in that shape (an MCP server's answer, a file read as an image), and freezes it. */
void content_mark(Dict *block);
