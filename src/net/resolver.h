/* From names to addresses, without waiting in vain: each lookup runs in a thread of its own (getaddrinfo cannot be
 * interrupted), whose answer is waited for together with a cancel token or in an epoll set, or not at all.
 *
 * Nothing is kept: who asks once and uses the answer sees one answer. Safe from any thread. */
#pragma once
#include "base/cancel.h"
#include "net/target.h"

typedef struct Resolver Resolver;
typedef struct Lookup Lookup;

enum { RESOLVER_ADDRESSES_MAX = 16, RESOLVER_LOOKUPS_MAX = 64 };

typedef struct Addresses { Address at[RESOLVER_ADDRESSES_MAX]; size_t n; } Addresses;     /* in the order to try them */

Resolver *resolver_new(void);
void resolver_free(Resolver *r);         /* at once; lookups that still run end by themselves. NULL is fine */

/* A host that is an address already is its own answer. ERR_IO "resolve x.example: name or service not known", ERR_LIMIT
 * when RESOLVER_LOOKUPS_MAX are running. */
bool resolver_find(Resolver *r, const Target *t, Cancel *cancel, Addresses *out, Error *err);

/* In steps: the descriptor becomes readable when lookup_end will not wait. Each Lookup is ended or dropped once. */
Lookup *lookup_start(Resolver *r, const Target *t, Error *err);              /* NULL: failed */
int lookup_fd(const Lookup *l);                                              /* owned by the lookup */
bool lookup_end(Lookup *l, Addresses *out, Error *err);
void lookup_drop(Lookup *l);                                                 /* NULL is fine */

/* For tests: asked instead of the system, in the lookup's thread. Set before the first lookup. */
typedef bool ResolverAnswer(void *ctx, const char *host, Addresses *out, Error *err);
void resolver_set_answer(Resolver *r, ResolverAnswer *answer, void *ctx);
