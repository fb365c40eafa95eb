/* A cancel token: a flag, a deadline, and a descriptor that any blocking wait can poll.
 *
 * Every operation that may take long takes one. Loops call cancel_check() (a relaxed load and an occasional clock
 * read); blocking code adds cancel_fd() to its poll set with cancel_poll_ms() as the timeout. Tokens form a tree: a
 * child is cancelled with its parent, and its deadline is never later than the parent's. */
#pragma once
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include "base/error.h"

typedef struct Cancel Cancel;

/* `parent` may be NULL and must outlive the child. timeout_ns <= 0: no own deadline. */
Cancel *cancel_new(Cancel *parent, int64_t timeout_ns);
void cancel_free(Cancel *c);
/* The same for timed work that may ask the user: between cancel_pause and cancel_resume of a token, its own and its
 * parents' deadlines of this kind stop. Other deadlines continue. Calls nest; thread-safe. */
Cancel *cancel_new_pausable(Cancel *parent, int64_t timeout_ns);
void cancel_pause(Cancel *c);
void cancel_resume(Cancel *c);

void cancel_fire(Cancel *c);                           /* any thread; not from a signal handler */
void cancel_fire_from_signal(Cancel *c);               /* async-signal-safe; children see it at their next check */
bool cancel_fired(const Cancel *c);                    /* flag only: cheap enough for inner loops */
bool cancel_expired(const Cancel *c);                  /* flag, or deadline passed (reads the clock) */

/* false with ERR_CANCELLED "cancelled" or ERR_TIMEOUT "timed out after 1.5 s". c == NULL is never cancelled. */
bool cancel_check(const Cancel *c, Error *err);

/* Readable once fired (never by a deadline); created on first use, owned by the token. -1, which poll() skips, for NULL
 * or when out of descriptors: cancel_poll_ms() is then short, so a polling loop still ends. A parent fired from a
 * signal handler wakes its own descriptor only: the thread that polls it calls cancel_fire() to wake the children. */
int cancel_fd(Cancel *c);
int cancel_poll_ms(const Cancel *c);                   /* ms to the deadline, rounded up; -1: none; 0: passed */
int64_t cancel_deadline_ns(const Cancel *c);           /* monotonic; INT64_MAX: none */
bool cancel_sleep(Cancel *c, int64_t ns, Error *err);  /* sleeps, or fails as cancel_check does */

/* Waits for `cond`, initialised by thread_cond_init, with the mutex held, at most until `until_ns` (clock_mono_ns;
 * INT64_MAX: no limit). Fails as cancel_check does, at once if the token has fired. True after any wake-up and at
 * until_ns: callers loop around their own condition. cancel_fire wakes the waiter; it may be called with the mutex
 * held. */
bool cancel_wait(pthread_cond_t *cond, pthread_mutex_t *held, Cancel *c, int64_t until_ns, Error *err);
