/* Hints that the queue has changed (NOTIFY), on a connection of their own. They make a worker look early; it looks without them too. Behind a pooler there
 * are none: it would give the connection that listens to other clients. */
#include <poll.h>
#include <stdio.h>
#include "base/clock.h"
#include "store/postgres_private.h"
#include "store/store_queue.h"

static const int64_t WAIT_NS = 2000000000, AGAIN_NS = 1000000000;

/* The name of the channel is that of NOTIFY in store_statements.def. */
static const char channel_sql[] =
    "SELECT pg_backend_pid(), 'harness_' || to_hex(hashtextextended('harness ' || $1::text || ' ' || $2::text, 0))";

static bool start_listening(PostgresStore *s, PostgresConnection *c) {
    char sql[64];
    PostgresParams p = { 0 };
    postgres_add_str(&p, str_from(s->tenant), false);
    postgres_add_str(&p, str_from(s->place.project), false);
    PGresult *r = postgres_connect(c) ? postgres_execute(c, -1, channel_sql, &p) : NULL;
    if (!r) return false;
    bool direct = postgres_int_at(c->api, r, 0, 0) == c->api->backendPID(c->conn);
    snprintf(sql, sizeof sql, "LISTEN " STR_FMT, STR_ARG(postgres_text_at(c->api, r, 0, 1)));
    c->api->clear(r);
    r = direct ? postgres_execute(c, -1, sql, &(PostgresParams){ 0 }) : NULL;
    if (r) c->api->clear(r);
    return r != NULL;
}

/* *fresh: it has just begun to listen, and missed what was sent before. */
static bool listens(PostgresStore *s, bool *fresh) {
    PostgresConnection *c = &s->hints.connection;
    if (!s->main.direct || (c->conn && !postgres_is_lost(c))) return s->main.direct;
    if (clock_mono_ns() < s->hints.again_ns) return false;
    s->hints.again_ns = clock_mono_ns() + AGAIN_NS;
    *c = (PostgresConnection){ .api = s->main.api, .place = &s->place, .wait_ns = WAIT_NS };
    *fresh = start_listening(s, c);
    if (!*fresh) postgres_disconnect(c);
    return *fresh;
}

static bool received(PostgresConnection *c) {
    bool some = false;
    if (postgres_is_lost(c)) return false;                   /* it also reads what has arrived */
    for (PGnotify *n; (n = c->api->notifies(c->conn)) != NULL; some = true) c->api->freemem(n);
    return some;
}

static void wait_for_hint(PostgresConnection *c, int64_t until, Cancel *cancel) {
    while (!cancel_expired(cancel) && !received(c) && c->conn) {
        int64_t left = until - clock_mono_ns();
        int most = cancel_poll_ms(cancel), ms = (int)(left / 1000000 + 1);
        struct pollfd p[] = { { .fd = c->api->socket(c->conn), .events = POLLIN }, { .fd = cancel_fd(cancel), .events = POLLIN } };
        if (left <= 0) return;
        (void)poll(p, 2, most >= 0 && most < ms ? most : ms);
    }
}

void store_queue_wait(Store *store, int64_t ns, Cancel *cancel) {
    PostgresStore *s = (PostgresStore *)store;
    int64_t until = clock_mono_ns() + ns;
    bool fresh = false;
    if (!store->driver->fence) (void)cancel_sleep(cancel, ns, NULL);
    else if (!listens(s, &fresh)) (void)cancel_sleep(cancel, s->main.direct && ns > AGAIN_NS ? AGAIN_NS : ns, NULL);       /* then it connects again */
    else if (!fresh) wait_for_hint(&s->hints.connection, until, cancel);
}
