#include "net/http_server.h"
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/fault.h"
#include "base/mem.h"
#include "base/thread.h"
#include "net/http_server_private.h"

enum {
    BACKLOG = 1024, IDLE_MS = 60000, REQUEST_MS = 60000,
    SPARE_FILES = 256,                                 /* descriptors reserved for the rest of the program */
    DRAIN_MAX = 16 << 20,                              /* bytes of a refused body that are read beyond body_max */
};

/* ---- connections and requests, on the epoll thread ---- */

static void conn_changed(void *ctx, struct MHD_Connection *connection, void **own, enum MHD_ConnectionNotificationCode what) {
    HttpServer *s = ctx;
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        const union MHD_ConnectionInfo *info = s->mhd->MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
        HttpServerConn *c = mem_zero(1, sizeof *c);
        *c = (HttpServerConn){ .server = s, .fd = info->connect_fd, .phase = CONN_IDLE, .deadline = INT64_MAX };
        *own = c;
        http_server_watch_conn(c);
        http_server_watch_phase(c, CONN_IDLE, s->config.idle_ms, NULL);
        return;
    }
    HttpServerConn *c = *own;
    http_server_watch_forget(c);
    pthread_mutex_lock(&s->lock);
    c->closed = true;
    c->now = NULL;
    if (c->prev) c->prev->next = c->next;
    else s->conns = c->next;
    if (c->next) c->next->prev = c->prev;
    c->next = s->dead;
    s->dead = c;
    pthread_mutex_unlock(&s->lock);
    *own = NULL;
}

static HttpServerConn *conn_of(HttpServer *s, struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info = s->mhd->MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info->socket_context;
}

static void *first_line(void *ctx, const char *uri, struct MHD_Connection *connection) {
    (void)uri;
    HttpServer *s = ctx;
    http_server_watch_phase(conn_of(s, connection), CONN_READING, s->config.request_ms, NULL);
    return NULL;
}

static void completed(void *ctx, struct MHD_Connection *connection, void **own, enum MHD_RequestTerminationCode how) {
    HttpServer *s = ctx;
    HttpServerRequest *q = *own;
    *own = NULL;
    if (!q) return;
    http_server_watch_phase(conn_of(s, connection), CONN_IDLE, s->config.idle_ms, NULL);
    pthread_mutex_lock(&s->lock);
    if (--s->requests == 0) pthread_cond_broadcast(&s->quiet);
    pthread_mutex_unlock(&s->lock);
    http_server_request_completed(q, how == MHD_REQUEST_TERMINATED_COMPLETED_OK);
}

static bool is_stopping(HttpServer *s) {
    pthread_mutex_lock(&s->lock);
    bool stopping = s->stopping;
    pthread_mutex_unlock(&s->lock);
    return stopping;
}

static bool is_over(HttpServer *s) {
    pthread_mutex_lock(&s->lock);
    bool over = s->over;
    pthread_mutex_unlock(&s->lock);
    return over;
}

/* A job of the scheduler; owns a reference to the request. */
static void handle_request(void *arg) {
    HttpServerRequest *q = arg;
    HttpServer *s = q->server;
    if (is_over(s)) http_server_cut(q);
    else s->config.handle(s->config.ctx, q);
    http_server_drop_body(q);
    http_server_release(q);
}

/* Suspends the connection until it is resumed. `stopping` is read under the lock that guards the connection's request,
 * so that http_server_stop finds every request handed over before. */
static void hand_over(HttpServerRequest *q) {
    HttpServer *s = q->server;
    Error err = { 0 };
    pthread_mutex_lock(&q->lock);
    q->handed = q->suspended = true;
    s->mhd->MHD_suspend_connection(q->connection);
    pthread_mutex_unlock(&q->lock);
    http_server_keep(q);
    pthread_mutex_lock(&s->lock);
    q->conn->phase = CONN_WORKING;
    q->conn->deadline = INT64_MAX;
    q->conn->now = q;
    bool half = q->conn->half, stopping = s->stopping;
    pthread_mutex_unlock(&s->lock);
    if (stopping) http_server_cut(q);
    else if (half) http_server_request_left(q);
    if (!stopping && scheduler_group_add(s->handling, q->conn, handle_request, q, &err)) return;
    http_server_request_fail(q, 503, err.msg);              /* not sent if the connection was cut */
    http_server_release(q);
}

/* Reads and drops the body of a refused request, up to a limit: many clients read no response before they have sent
 * everything. */
static bool drains(const HttpServer *s, size_t bytes) { return bytes <= s->config.body_max + DRAIN_MAX; }

static size_t announced(const HttpServerRequest *q) {
    Str length = http_server_header(q, STR("Content-Length"));
    size_t n = 0;
    if (length.n > 18) return SIZE_MAX;
    for (size_t i = 0; i < length.n && length.at[i] >= '0' && length.at[i] <= '9'; i++) n = n * 10 + (size_t)(length.at[i] - '0');
    return n;
}

static enum MHD_Result begin(HttpServer *s, struct MHD_Connection *connection, const char *method, const char *path, void **own) {
    HttpServerRequest *q = http_server_request_new(s, conn_of(s, connection), connection, method, path);
    *own = q;
    const char *doubt = http_server_request_doubt(q);
    if (doubt) {
        http_server_request_fail(q, 400, doubt);            /* read nothing more from this client */
        return http_server_request_queue(q) ? MHD_YES : MHD_NO;
    }
    if (is_stopping(s)) http_server_request_fail(q, 503, "the server is stopping");
    else if (announced(q) > s->config.body_max) http_server_request_fail(q, 413, "the body is too large");
    else if (s->config.admit) s->config.admit(s->config.ctx, q);
    if (!q->answered || drains(s, announced(q))) return MHD_YES;
    return http_server_request_queue(q) ? MHD_YES : MHD_NO;
}

static enum MHD_Result on_request(void *ctx, struct MHD_Connection *connection, const char *path, const char *method,
                                  const char *version, const char *data, size_t *n, void **own) {
    (void)version;
    HttpServer *s = ctx;
    HttpServerRequest *q = *own;
    if (!q) return begin(s, connection, method, path, own);
    if (*n) {
        http_server_request_body(q, (Str){ data, *n });
        *n = 0;
        return drains(s, q->body_seen) ? MHD_YES : MHD_NO;
    }
    pthread_mutex_lock(&q->lock);
    bool answered = q->answered, cut = q->cut, handed = q->handed;
    pthread_mutex_unlock(&q->lock);
    if (answered && !cut) return http_server_request_queue(q) ? MHD_YES : MHD_NO;
    if (cut || handed) return MHD_NO;
    hand_over(q);
    return MHD_YES;
}

/* ---- start ---- */

static bool listen_at(HttpServer *s, Error *err) {
    const char *text = s->config.address;
    Address address;
    if (!address_parse(str_from(text), &address))
        return error_set(err, ERR_CONFIG, "%s is not an address of this machine: use one like 127.0.0.1 or ::1", text);
    struct sockaddr_storage where = { 0 };
    socklen_t n = address_to_socket(&address, s->config.port, &where);
    s->listener = fault_hit() ? -1 : socket(where.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (s->listener < 0) return error_set(err, ERR_IO, "start the HTTP server: socket: %m");
    setsockopt(s->listener, SOL_SOCKET, SO_REUSEADDR, &(int){ 1 }, sizeof(int));
    if (bind(s->listener, (struct sockaddr *)&where, n) < 0 || listen(s->listener, BACKLOG) < 0) {
        if (errno == EADDRINUSE)
            return error_set(err, ERR_IO, "port %u of %s is in use by another program: stop that one, or choose another port (0 takes any free one)",
                             s->config.port, text);
        if (errno == EACCES) return error_set(err, ERR_IO, "port %u of %s is not allowed for this user: choose one above 1023", s->config.port, text);
        if (errno == EADDRNOTAVAIL) return error_set(err, ERR_IO, "%s is not an address of this machine", text);
        return error_set(err, ERR_IO, "listen at %s, port %u: %m", text, s->config.port);
    }
    n = sizeof where;
    if (getsockname(s->listener, (struct sockaddr *)&where, &n) < 0) return error_set(err, ERR_IO, "start the HTTP server: %m");
    s->port = ntohs(((struct sockaddr_in *)&where)->sin_port);           /* same offset in both families */
    if (s->config.bound) s->config.bound(s->config.ctx, s->port);
    return true;
}

static size_t room_for(size_t connections) {
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) < 0) return connections;
    if (files.rlim_cur < connections + SPARE_FILES && files.rlim_cur < files.rlim_max) {
        struct rlimit more = { .rlim_cur = connections + SPARE_FILES, .rlim_max = files.rlim_max };
        if (more.rlim_cur > files.rlim_max) more.rlim_cur = files.rlim_max;
        if (setrlimit(RLIMIT_NOFILE, &more) == 0) files = more;
    }
    if (files.rlim_cur >= connections + SPARE_FILES) return connections;
    return files.rlim_cur > 2 * SPARE_FILES ? files.rlim_cur - SPARE_FILES : files.rlim_cur / 2;
}

static void set_defaults(HttpServerConfig *c) {
    if (!c->address) c->address = "127.0.0.1";
    if (!c->connections) c->connections = SERVER_CONNECTIONS_MAX;
    if (!c->body_max) c->body_max = SERVER_BODY_MAX;
    if (!c->backlog_max) c->backlog_max = SERVER_BACKLOG_MAX;
    if (!c->idle_ms) c->idle_ms = IDLE_MS;
    if (!c->request_ms) c->request_ms = REQUEST_MS;
}

static bool start_daemon(HttpServer *s, Error *err) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);       /* as thread_start does, but for the library's thread */
    errno = 0;
    s->daemon = fault_hit() ? NULL : s->mhd->MHD_start_daemon(
        MHD_USE_EPOLL | MHD_USE_INTERNAL_POLLING_THREAD | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, on_request, s,
        MHD_OPTION_LISTEN_SOCKET, s->listener,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)room_for(s->config.connections),
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)SERVER_HEAD_MAX,
        MHD_OPTION_CONNECTION_TIMEOUT, 0u,             /* the watching thread enforces timeouts */
        MHD_OPTION_STRICT_FOR_CLIENT, 1,
        MHD_OPTION_NOTIFY_CONNECTION, conn_changed, s,
        MHD_OPTION_NOTIFY_COMPLETED, completed, s,
        MHD_OPTION_URI_LOG_CALLBACK, first_line, s,
        MHD_OPTION_END);
    int failure = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = failure;
    if (s->daemon) return true;
    if (failure) return error_set(err, ERR_IO, "start the HTTP server: libmicrohttpd: %m");
    return error_set(err, ERR_IO, "start the HTTP server: libmicrohttpd refused");
}

void http_server_drop(HttpServer *s) {
    if (atomic_fetch_sub(&s->holders, 1) != 1) return;
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->told);
    pthread_cond_destroy(&s->quiet);
    free(s);
}

static void server_shut(HttpServer *s) {
    if (s->daemon) s->mhd->MHD_stop_daemon(s->daemon); /* http_server_stop quiesced it, so it does not close the listener */
    scheduler_group_free(s->handling);
    http_server_watch_stop(s);
    if (s->listener >= 0) close(s->listener);
    http_server_drop(s);
}

bool http_server_start(const HttpServerConfig *config, HttpServer **out, Error *err) {
    const MicrohttpdLibrary *mhd = microhttpd_library(err);
    if (!mhd) return false;
    HttpServer *s = mem_zero(1, sizeof *s);
    s->mhd = mhd;
    s->holders = 1;
    s->config = *config;
    s->listener = s->epoll = s->wake = -1;
    set_defaults(&s->config);
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->told, NULL);
    thread_cond_init(&s->quiet);
    s->handling = scheduler_group_new(config->scheduler);
    if (!listen_at(s, err) || !http_server_watch_start(s, err) || !start_daemon(s, err)) {
        server_shut(s);
        return false;
    }
    *out = s;
    return true;
}

uint16_t http_server_port(const HttpServer *s) { return s->port; }

/* ---- stop ---- */

static void wait_for_requests(HttpServer *s, int64_t until) {
    pthread_mutex_lock(&s->lock);
    while (s->requests && clock_mono_ns() < until) thread_cond_wait(&s->quiet, &s->lock, until);
    s->over = true;
    pthread_mutex_unlock(&s->lock);
}

/* One at a time: cutting takes the request's lock, which is never taken inside the server's. */
static HttpServerRequest *next_open(HttpServer *s) {
    pthread_mutex_lock(&s->lock);
    HttpServerRequest *found = NULL;
    for (HttpServerConn *c = s->conns; c && !found; c = c->next)
        if (c->now) {
            found = c->now;
            c->now = NULL;
            http_server_keep(found);
        }
    pthread_mutex_unlock(&s->lock);
    return found;
}

static void cut_all(HttpServer *s) {
    for (HttpServerRequest *q; (q = next_open(s));) {
        http_server_request_left(q);
        http_server_cut(q);
        http_server_release(q);
    }
}

void http_server_stop(HttpServer *s, int64_t grace_ms) {
    if (!s) return;
    pthread_mutex_lock(&s->lock);
    s->stopping = true;
    pthread_mutex_unlock(&s->lock);
    s->mhd->MHD_quiesce_daemon(s->daemon);
    shutdown(s->listener, SHUT_RDWR);                  /* refuses connections not yet accepted; closed last, because the
                                                        * epoll thread may still use it */
    wait_for_requests(s, clock_mono_ns() + grace_ms * 1000000);
    cut_all(s);
    scheduler_group_wait(s->handling);                 /* handlers return now that their peers are gone */
    cut_all(s);                                        /* requests handed over in the meantime */
    server_shut(s);
}
