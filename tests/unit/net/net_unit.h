/* A server for tests: each connection gets a thread that runs the test's function until it returns. */
#pragma once
#include "net_socket.h"

typedef void Serve(int fd, void *ctx);

typedef struct {
    int fd;
    uint16_t port;
    Serve *serve;
    void *ctx;
    pthread_t thread;
    atomic_int connections, alive;
    atomic_bool stop;
} Server;

typedef struct { Server *server; int fd; } ServerJob;

static void *server_connection(void *arg) {
    ServerJob job = *(ServerJob *)arg;
    free(arg);
    job.server->serve(job.fd, job.server->ctx);
    close(job.fd);
    atomic_fetch_sub(&job.server->alive, 1);
    return NULL;
}

static void *server_loop(void *arg) {
    Server *s = arg;
    while (!atomic_load(&s->stop)) {
        struct pollfd p = { .fd = s->fd, .events = POLLIN };
        if (poll(&p, 1, 50) <= 0) continue;
        int fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0) continue;
        atomic_fetch_add(&s->connections, 1);
        atomic_fetch_add(&s->alive, 1);
        ServerJob *job = malloc(sizeof *job);
        *job = (ServerJob){ s, fd };
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, server_connection, job), 0);
        pthread_detach(thread);
    }
    return NULL;
}

static void server_start_at(Server *s, int family, Serve *serve, void *ctx) {
    *s = (Server){ .serve = serve, .ctx = ctx };
    struct sockaddr_storage where = { 0 };
    socklen_t n = sizeof(struct sockaddr_in);
    if (family == AF_INET) {
        struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        memcpy(&where, &v4, sizeof v4);
    } else {
        struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
        memcpy(&where, &v6, n = sizeof v6);
    }
    s->fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(s->fd >= 0);
    assert_int_equal(bind(s->fd, (struct sockaddr *)&where, n), 0);
    assert_int_equal(listen(s->fd, 64), 0);
    assert_int_equal(getsockname(s->fd, (struct sockaddr *)&where, &n), 0);
    s->port = ntohs(((struct sockaddr_in *)&where)->sin_port);         /* same offset in both */
    assert_int_equal(pthread_create(&s->thread, NULL, server_loop, s), 0);
}

static inline void server_start(Server *s, Serve *serve, void *ctx) { server_start_at(s, AF_INET, serve, ctx); }

static inline void server_stop(Server *s) {
    atomic_store(&s->stop, true);
    pthread_join(s->thread, NULL);
    close(s->fd);
    for (int i = 0; i < 500 && atomic_load(&s->alive); i++) usleep(10000);
    assert_int_equal(atomic_load(&s->alive), 0);
}
