/* A batch of requests in one message: each response is sent separately; only the last one ends the link. */
#include <stdlib.h>
#include "base/mem.h"
#include "mcp/host/host_private.h"

typedef struct Batch { McpLink link; McpLink *to; _Atomic size_t left; } Batch;

static bool pass_on(McpLink *l, Str message, bool last) {
    Batch *b = (Batch *)l;
    return b->to->send(b->to, message, last && atomic_fetch_sub(&b->left, 1) == 1);
}

static void drop(McpLink *l) {
    mcp_link_release(((Batch *)l)->to);
    free(l);
}

McpLink *peer_batch_link(McpLink *to, size_t answers) {
    Batch *b = mem_zero(1, sizeof *b);
    *b = (Batch){ { .send = pass_on, .free = drop, .holders = 1 }, to, answers };
    mcp_link_keep(to);
    return &b->link;
}
