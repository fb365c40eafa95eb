/* Socket helpers for tests. */
#pragma once
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>
#include "unit.h"

/* Reads up to the blank line; false at end of connection. What follows the head stays in `in`, after *head_n. */
static inline bool read_head(int fd, Buf *in, size_t *head_n) {
    for (;;) {
        ptrdiff_t end = str_find(buf_str(in), STR("\r\n\r\n"));
        if (end >= 0) return *head_n = (size_t)end + 4, true;
        char *room = buf_room(in, 4096);
        ssize_t n = recv(fd, room, 4096, 0);
        if (n <= 0) return false;
        buf_commit(in, (size_t)n);
    }
}

static inline bool send_all(int fd, Str s) {
    while (s.n) {
        ssize_t n = send(fd, s.at, s.n, MSG_NOSIGNAL);
        if (n <= 0) return false;
        s = str_sub(s, (size_t)n, s.n);
    }
    return true;
}

/* Everything until the other side closes. */
static inline void read_rest(int fd, Buf *out) {
    for (;;) {
        char *room = buf_room(out, 65536);
        ssize_t n = recv(fd, room, 65536, 0);
        if (n <= 0) return;
        buf_commit(out, (size_t)n);
    }
}

static inline int connect_to(uint16_t port) {
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    return fd;
}
