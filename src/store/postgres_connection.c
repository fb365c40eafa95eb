/* A connection that waits for the server no longer than it may. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/clock.h"
#include "store/postgres_private.h"

enum { TYPE_INT8 = 20, TYPE_FLOAT8 = 701, TYPE_BYTEA = 17, BINARY = 1 };

/* ---- values ---- */

static void add(PostgresParams *p, Oid type, const char *value, size_t n) {
    p->type[p->n] = type;
    p->value[p->n] = value;
    p->length[p->n] = (int)n;
    p->format[p->n++] = BINARY;
}

void postgres_add_int(PostgresParams *p, int64_t v) {
    p->number[p->n] = __builtin_bswap64((uint64_t)v);
    add(p, TYPE_INT8, (const char *)&p->number[p->n], 8);
}

void postgres_add_double(PostgresParams *p, double v) {
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    p->number[p->n] = __builtin_bswap64(bits);
    add(p, TYPE_FLOAT8, (const char *)&p->number[p->n], 8);
}

/* Type 0: text or bytea, as the statement needs it. */
bool postgres_add_str(PostgresParams *p, Str v, bool bytes) {
    if (v.n > (size_t)900 << 20) return false;
    add(p, bytes ? TYPE_BYTEA : 0, v.at ? v.at : "", v.n);
    return true;
}

Str postgres_text_at(const Postgres *api, const PGresult *r, int row, int column) {
    if (api->getisnull(r, row, column)) return STR("");
    return (Str){ api->getvalue(r, row, column), (size_t)api->getlength(r, row, column) };
}

/* Integers of any width, and booleans. */
int64_t postgres_int_at(const Postgres *api, const PGresult *r, int row, int column) {
    Str v = postgres_text_at(api, r, row, column);
    uint64_t out = v.n && (v.at[0] & 0x80) ? UINT64_MAX : 0;
    for (size_t i = 0; i < v.n && i < 8; i++) out = (out << 8) | (uint8_t)v.at[i];
    return (int64_t)out;
}

/* ---- waiting ---- */

/* Keeps the first line of the message. */
static bool lost(PostgresConnection *c, const char *why) {
    size_t n = strcspn(why, "\n");
    snprintf(c->problem, sizeof c->problem, "%.*s", (int)(n < sizeof c->problem ? n : sizeof c->problem - 1), why);
    c->state[0] = 0;
    postgres_disconnect(c);
    return false;
}

static bool wait_for(PostgresConnection *c, short what, int64_t deadline) {
    struct pollfd p = { .fd = c->api->socket(c->conn), .events = what };
    for (;;) {
        int64_t left = deadline - clock_mono_ns();
        if (left <= 0) return lost(c, "the server does not answer");
        int n = poll(&p, 1, (int)(left / 1000000 + 1));
        if (n > 0) return true;
        if (n < 0 && errno != EINTR) return lost(c, strerror(errno));
    }
}

static void ignore(void *ctx, const char *message) { (void)ctx, (void)message; }

bool postgres_connect(PostgresConnection *c) {
    const char *names[] = { "dbname", "client_encoding", "application_name", NULL }, *values[] = { c->place->url, "UTF8", "harness", NULL };
    int64_t deadline = clock_mono_ns() + c->wait_ns;
    postgres_disconnect(c);
    c->conn = c->api->connectStartParams(names, values, 1);
    if (!c->conn) return lost(c, "out of memory");
    PostgresPollingStatusType step = PGRES_POLLING_WRITING;
    while (c->api->status(c->conn) != CONNECTION_BAD && step != PGRES_POLLING_OK && step != PGRES_POLLING_FAILED) {
        if (!wait_for(c, step == PGRES_POLLING_READING ? POLLIN : POLLOUT, deadline)) return false;
        step = c->api->connectPoll(c->conn);
    }
    if (step != PGRES_POLLING_OK || c->api->status(c->conn) != CONNECTION_OK) return lost(c, c->api->errorMessage(c->conn));
    c->api->setnonblocking(c->conn, 1);
    c->api->setNoticeProcessor(c->conn, ignore, NULL);
    return true;
}

void postgres_disconnect(PostgresConnection *c) {
    if (c->conn) c->api->finish(c->conn);
    c->conn = NULL;
    memset(c->prepared, 0, sizeof c->prepared);
}

bool postgres_is_lost(PostgresConnection *c) {
    if (!c->conn) return true;
    struct pollfd p = { .fd = c->api->socket(c->conn), .events = POLLIN };
    if (poll(&p, 1, 0) == 1 && !c->api->consumeInput(c->conn)) lost(c, c->api->errorMessage(c->conn));
    if (c->conn && c->api->status(c->conn) != CONNECTION_OK) lost(c, "the server closed the connection");
    return !c->conn;
}

/* ---- statements ---- */

static bool send_all(PostgresConnection *c, int64_t deadline) {
    for (int more; (more = c->api->flush(c->conn)) != 0;) {
        if (more < 0) return lost(c, c->api->errorMessage(c->conn));
        if (!wait_for(c, POLLIN | POLLOUT, deadline)) return false;
        if (!c->api->consumeInput(c->conn)) return lost(c, c->api->errorMessage(c->conn));
    }
    return true;
}

/* The last result of what was sent: the first failure among them, if any. */
static PGresult *receive(PostgresConnection *c, int64_t deadline) {
    PGresult *out = NULL;
    if (!send_all(c, deadline)) return NULL;
    for (;;) {
        while (c->api->isBusy(c->conn)) {
            if (!wait_for(c, POLLIN, deadline)) return c->api->clear(out), NULL;
            if (!c->api->consumeInput(c->conn)) return lost(c, c->api->errorMessage(c->conn)), c->api->clear(out), NULL;
        }
        PGresult *next = c->api->getResult(c->conn);
        if (!next) return out;
        c->api->clear(out);
        out = next;
    }
}

static PGresult *failed(PostgresConnection *c, PGresult *r) {
    const char *state = c->api->resultErrorField(r, PG_DIAG_SQLSTATE), *text = c->api->resultErrorField(r, PG_DIAG_MESSAGE_PRIMARY);
    if (c->api->status(c->conn) != CONNECTION_OK || !state) lost(c, text ? text : c->api->errorMessage(c->conn));
    else {
        snprintf(c->state, sizeof c->state, "%s", state);
        snprintf(c->problem, sizeof c->problem, "%s", text ? text : "");
    }
    c->api->clear(r);
    return NULL;
}

static PGresult *checked(PostgresConnection *c, int64_t deadline) {
    PGresult *r = receive(c, deadline);
    if (!r) return c->conn ? (lost(c, "the server sent no result"), NULL) : NULL;
    ExecStatusType status = c->api->resultStatus(r);
    return status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK ? r : failed(c, r);
}

static bool prepare(PostgresConnection *c, int sql, const char *name, const char *text, const PostgresParams *p, int64_t deadline) {
    if (c->prepared[sql]) return true;
    if (!c->api->sendPrepare(c->conn, name, text, p->n, p->type)) return lost(c, c->api->errorMessage(c->conn));
    PGresult *r = checked(c, deadline);
    if (!r) return false;
    c->api->clear(r);
    return c->prepared[sql] = true;
}

PGresult *postgres_execute(PostgresConnection *c, int sql, const char *text, const PostgresParams *p) {
    int64_t deadline = clock_mono_ns() + c->wait_ns;
    char name[16];
    int sent;
    if (!c->conn) return NULL;
    snprintf(name, sizeof name, "s%d", sql);
    if (sql >= 0 && c->direct) {
        if (!prepare(c, sql, name, text, p, deadline)) return NULL;
        sent = c->api->sendQueryPrepared(c->conn, name, p->n, p->value, p->length, p->format, BINARY);
    } else {
        sent = c->api->sendQueryParams(c->conn, text, p->n, p->type, p->value, p->length, p->format, BINARY);
    }
    if (!sent) return lost(c, c->api->errorMessage(c->conn)), NULL;
    return checked(c, deadline);
}
