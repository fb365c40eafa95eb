#include "net/resolver.h"
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include "base/fault.h"
#include "base/mem.h"

enum { STACK_BYTES = 1 << 20 };          /* name service modules may need a lot */

/* Shared by its owner and running lookups; the last one frees it. */
struct Resolver {
    pthread_mutex_t lock;
    unsigned users, running;
    ResolverAnswer *answer;
    void *ctx;
};

/* Shared by the caller and the lookup thread; the last one frees it. The caller reads the result only after the thread
 * signals `fd`. */
struct Lookup {
    Resolver *resolver;
    atomic_int users;
    int fd;
    ResolverAnswer *answer;
    void *ctx;
    Target target;
    Addresses found;
    bool ok;
    Error err;
};

Resolver *resolver_new(void) {
    Resolver *r = mem_zero(1, sizeof *r);
    pthread_mutex_init(&r->lock, NULL);
    r->users = 1;
    return r;
}

static void release_resolver(Resolver *r, bool lookup) {
    pthread_mutex_lock(&r->lock);
    bool last = --r->users == 0;
    r->running -= lookup;
    pthread_mutex_unlock(&r->lock);
    if (!last) return;
    pthread_mutex_destroy(&r->lock);
    free(r);
}

void resolver_free(Resolver *r) {
    if (r) release_resolver(r, false);
}

void resolver_set_answer(Resolver *r, ResolverAnswer *answer, void *ctx) {
    pthread_mutex_lock(&r->lock);
    r->answer = answer;
    r->ctx = ctx;
    pthread_mutex_unlock(&r->lock);
}

static bool take_place(Resolver *r, Lookup *l, Error *err) {
    pthread_mutex_lock(&r->lock);
    bool ok = r->running < RESOLVER_LOOKUPS_MAX;
    if (ok) {
        r->running++;
        r->users++;
        l->answer = r->answer;
        l->ctx = r->ctx;
    }
    pthread_mutex_unlock(&r->lock);
    return ok || error_set(err, ERR_LIMIT, "too many host lookups are waiting for an answer (limit %d)", RESOLVER_LOOKUPS_MAX);
}

static void lookup_release(Lookup *l) {
    if (atomic_fetch_sub(&l->users, 1) != 1) return;
    if (l->fd >= 0) close(l->fd);
    free(l);
}

/* ---- the thread ---- */

static bool no_answer(const char *host, const char *why, Error *err) {
    return error_set(err, ERR_IO, "resolve %s: %c%s", host, why[0] >= 'A' && why[0] <= 'Z' ? why[0] | 32 : why[0], why + 1);
}

static void add_address(Addresses *out, const Address *a) {
    for (size_t i = 0; i < out->n; i++)
        if (address_equal(&out->at[i], a)) return;
    if (out->n < RESOLVER_ADDRESSES_MAX) out->at[out->n++] = *a;
}

static bool ask_system(const char *host, Addresses *out, Error *err) {
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *list = NULL;
    int rc = getaddrinfo(host, NULL, &hints, &list);
    if (rc == EAI_SYSTEM) return no_answer(host, "the system failed", err);
    if (rc != 0) return no_answer(host, gai_strerror(rc), err);
    for (struct addrinfo *i = list; i; i = i->ai_next) {
        Address a;
        if (address_from_socket(i->ai_addr, &a)) add_address(out, &a);
    }
    freeaddrinfo(list);
    return true;
}

static void *look(void *arg) {
    Lookup *l = arg;
    l->ok = l->answer ? l->answer(l->ctx, l->target.host, &l->found, &l->err) : ask_system(l->target.host, &l->found, &l->err);
    if (l->ok && l->found.n == 0) l->ok = no_answer(l->target.host, "no address", &l->err);
    release_resolver(l->resolver, true);
    uint64_t one = 1;
    ssize_t n = write(l->fd, &one, sizeof one);
    (void)n;                                           /* cannot fail: the eventfd is at zero */
    lookup_release(l);
    return NULL;
}

static bool start_thread(Lookup *l) {
    pthread_attr_t attr;
    pthread_t thread;
    sigset_t all, before;
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);       /* signals go to the program's own threads */
    bool ok = !fault_hit() && pthread_create(&thread, &attr, look, l) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    return ok;
}

/* ---- asking ---- */

Lookup *lookup_start(Resolver *r, const Target *t, Error *err) {
    Lookup *l = mem_zero(1, sizeof *l);
    atomic_init(&l->users, 1);
    l->target = *t;
    l->resolver = r;
    l->fd = fault_hit() ? -1 : eventfd(t->is_address, EFD_CLOEXEC | EFD_NONBLOCK);
    if (l->fd < 0) {
        error_set(err, ERR_IO, "resolve %s: no descriptor left", t->host);
    } else if (t->is_address) {
        l->ok = true;
        add_address(&l->found, &t->address);
        return l;
    } else if (take_place(r, l, err)) {
        atomic_store(&l->users, 2);
        if (start_thread(l)) return l;
        atomic_store(&l->users, 1);
        release_resolver(r, true);
        error_set(err, ERR_IO, "resolve %s: cannot start a thread", t->host);
    }
    lookup_release(l);
    return NULL;
}

int lookup_fd(const Lookup *l) { return l->fd; }

bool lookup_end(Lookup *l, Addresses *out, Error *err) {
    uint64_t mark;
    while (read(l->fd, &mark, sizeof mark) < 0)
        poll(&(struct pollfd){ .fd = l->fd, .events = POLLIN }, 1, -1);
    bool ok = l->ok;
    if (ok) *out = l->found;
    else if (err) *err = l->err;
    lookup_release(l);
    return ok;
}

void lookup_drop(Lookup *l) {
    if (l) lookup_release(l);
}

bool resolver_find(Resolver *r, const Target *t, Cancel *cancel, Addresses *out, Error *err) {
    if (!cancel_check(cancel, err)) return false;
    if (t->is_address) return *out = (Addresses){ { t->address }, 1 }, true;
    Lookup *l = lookup_start(r, t, err);
    if (!l) return false;
    for (;;) {
        struct pollfd fds[2] = { { .fd = l->fd, .events = POLLIN }, { .fd = cancel_fd(cancel), .events = POLLIN } };
        poll(fds, 2, cancel_poll_ms(cancel));
        if (fds[0].revents) return lookup_end(l, out, err);
        if (!cancel_check(cancel, err)) {
            lookup_drop(l);
            return false;
        }
    }
}
