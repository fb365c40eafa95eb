/* Name resolution that can be cancelled. getaddrinfo cannot be interrupted, so each lookup runs in its own thread; the
 * caller waits for it with a cancel token or in an epoll set, or abandons it.
 *
 * Nothing is cached: a caller that resolves once and uses the result cannot see a second answer. Thread-safe. */
#pragma once
#include "base/cancel.h"
#include "net/target.h"

typedef struct Resolver Resolver;
typedef struct Lookup Lookup;

enum { RESOLVER_ADDRESSES_MAX = 16, RESOLVER_LOOKUPS_MAX = 64 };

typedef struct Addresses { Address at[RESOLVER_ADDRESSES_MAX]; size_t n; } Addresses;     /* in the order to try them */

Resolver *resolver_new(void);
void resolver_free(Resolver *r);         /* does not wait: running lookups finish on their own. NULL is fine */

/* An address resolves to itself. ERR_IO "resolve x.example: name or service not known", ERR_LIMIT when
 * RESOLVER_LOOKUPS_MAX are running. */
bool resolver_find(Resolver *r, const Target *t, Cancel *cancel, Addresses *out, Error *err);

/* Asynchronous: the descriptor becomes readable when lookup_end will not block. End or drop each Lookup once. */
Lookup *lookup_start(Resolver *r, const Target *t, Error *err);              /* NULL on failure */
int lookup_fd(const Lookup *l);                                              /* owned by the lookup */
bool lookup_end(Lookup *l, Addresses *out, Error *err);
void lookup_drop(Lookup *l);                                                 /* NULL is fine */

/* For tests: called instead of the system's resolver, in the lookup's thread. Set before the first lookup. */
typedef bool ResolverAnswer(void *ctx, const char *host, Addresses *out, Error *err);
void resolver_set_answer(Resolver *r, ResolverAnswer *answer, void *ctx);
