/* Loopback listener for one browser redirect. Accepts a few connections in parallel, since browsers open some that they
 * do not use, and serves one request: GET /callback with the right state. */
#include "mcp/oauth/oauth_private.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/mem.h"

enum { CALLERS = 8, HEAD_MAX = 16 << 10, CALLER_MS = 5000 };

typedef struct { int fd; int64_t since; size_t n; char head[HEAD_MAX]; } Caller;      /* fd < 0: free */
struct OAuthListener { int fd; uint16_t port; Caller callers[CALLERS]; };

OAuthListener *oauth_listen(uint16_t port, Error *err) {
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons(port) };
    socklen_t n = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), one = 1;
    if (fd >= 0) setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (fd < 0 || bind(fd, (struct sockaddr *)&at, n) || listen(fd, CALLERS) || getsockname(fd, (struct sockaddr *)&at, &n)) {
        error_set(err, ERR_IO, "listen on 127.0.0.1:%d for the browser: %m", port);
        if (fd >= 0) close(fd);
        return NULL;
    }
    OAuthListener *l = mem_zero(1, sizeof *l);
    l->fd = fd;
    l->port = ntohs(at.sin_port);
    for (size_t i = 0; i < CALLERS; i++) l->callers[i].fd = -1;
    return l;
}

uint16_t oauth_listen_port(const OAuthListener *l) { return l->port; }

static void hang_up(Caller *c) {
    if (c->fd >= 0) close(c->fd);
    c->fd = -1;
}

void oauth_listen_free(OAuthListener *l) {
    if (!l) return;
    for (size_t i = 0; i < CALLERS; i++) hang_up(&l->callers[i]);
    close(l->fd);
    free(l);
}

static void answer(Caller *c, const char *status, const char *text) {
    char page[600];
    int body = snprintf(NULL, 0, "<!doctype html><title>harness</title><p>%s</p>\n", text);
    int n = snprintf(page, sizeof page, "HTTP/1.1 %s\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: %d\r\nCache-Control: no-store\r\n"
                     "Referrer-Policy: no-referrer\r\nConnection: close\r\n\r\n<!doctype html><title>harness</title><p>%s</p>\n", status, body, text);
    if (n > 0 && send(c->fd, page, (size_t)n, MSG_NOSIGNAL) > 0) shutdown(c->fd, SHUT_WR);
}

/* The query of a complete request; false if it is not the expected one. */
static bool take_query(Str head, Str state, Arena *arena, Str *query) {
    Str line;
    if (!str_next_line(&head, &line) || !str_starts(line, STR("GET /callback?"))) return false;
    line = str_sub(line, 14, line.n);
    ptrdiff_t end = str_find_char(line, ' ');
    Str given;
    if (end < 0 || oauth_form_get(str_sub(line, 0, (size_t)end), "state", arena, &given) != 1 || !str_eq(given, state)) return false;
    *query = arena_str(arena, str_sub(line, 0, (size_t)end));
    return true;
}

static bool listen_to(Caller *c, Str state, Arena *arena, Str *query) {
    ssize_t n = recv(c->fd, c->head + c->n, HEAD_MAX - c->n, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    if (n <= 0) return hang_up(c), false;
    c->n += (size_t)n;
    Str head = { c->head, c->n };
    bool whole = str_find(head, STR("\r\n\r\n")) >= 0;
    if (!whole && c->n < HEAD_MAX) return false;
    bool ours = whole && take_query(head, state, arena, query);
    answer(c, ours ? "200 OK" : "404 Not Found", ours ? "Authorization received. You can close this window." : "Not found.");
    hang_up(c);
    return ours;
}

static void take_caller(OAuthListener *l) {
    int fd = accept4(l->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) return;
    Caller *c = &l->callers[0];
    for (size_t i = 0; i < CALLERS; i++) {
        if (l->callers[i].fd < 0) { c = &l->callers[i]; break; }
        if (l->callers[i].since < c->since) c = &l->callers[i];
    }
    hang_up(c);                                            /* all in use: close the oldest */
    c->fd = fd;
    c->n = 0;
    c->since = clock_mono_ns();
}

bool oauth_listen_wait(OAuthListener *l, Str state, Cancel *cancel, Arena *arena, Str *query, Error *err) {
    for (;;) {
        if (!cancel_check(cancel, err)) return false;
        struct pollfd p[CALLERS + 2] = { { .fd = l->fd, .events = POLLIN }, { .fd = cancel_fd(cancel), .events = POLLIN } };
        int wait = cancel_poll_ms(cancel);
        for (size_t i = 0; i < CALLERS; i++) {
            Caller *c = &l->callers[i];
            if (c->fd >= 0 && clock_mono_ns() - c->since > CALLER_MS * 1000000LL) hang_up(c);
            p[i + 2] = (struct pollfd){ .fd = c->fd, .events = POLLIN };
            if (c->fd >= 0 && (wait < 0 || wait > CALLER_MS)) wait = CALLER_MS;
        }
        if (poll(p, CALLERS + 2, wait) < 0 && errno != EINTR) return error_set(err, ERR_IO, "wait for the browser: %m");
        for (size_t i = 0; i < CALLERS; i++)
            if (l->callers[i].fd >= 0 && l->callers[i].fd == p[i + 2].fd && p[i + 2].revents && listen_to(&l->callers[i], state, arena, query)) return true;
        if (p[0].revents) take_caller(l);
    }
}
