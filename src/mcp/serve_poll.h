/* Waiting for a client that asks again as soon as it is answered. To fall asleep and be woken takes longer than most calls do: so while such a
 * client is at work, its next request is looked for a little while before. Where that does not help (it cannot run meanwhile, or has gone away) it
 * is given up, and tried again less and less often. */
#pragma once
#include <poll.h>
#include <stdint.h>

typedef struct ServePoll { unsigned quick, needed; } ServePoll;      /* requests that came at once, in a row; how many it takes until one is looked for. Zero to start */

int serve_poll(ServePoll *w, struct pollfd *fds, nfds_t n, int ms);  /* as poll() */
