/* What came of feeding some bytes to a reader of a stream. */
#pragma once

typedef enum { FEED_MORE, FEED_READY, FEED_BAD } Feed;
