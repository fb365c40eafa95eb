/* Result of feeding bytes to an incremental parser. */
#pragma once

typedef enum { FEED_MORE, FEED_READY, FEED_BAD } Feed;
