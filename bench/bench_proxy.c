/* Transfers 256 MB through a tunnel of the filtering proxy, compared with a direct connection on loopback; and opens
 * 200 short tunnels in sequence. */
#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
#include "report.h"
#include "base/clock.h"
#include "net/proxy.h"

enum { ROUNDS = 9, PIECE = 256 << 10, SHORT = 200 };
static const size_t BYTES = (size_t)256 << 20;

static void require(bool ok, const char *what) {
    if (ok) return;
    perror(what);
    exit(1);
}

/* Reads everything and reports the number of bytes. */
static void *serve_one(void *arg) {
    int fd = (int)(intptr_t)arg;
    char *room = malloc(PIECE);
    uint64_t total = 0;
    for (ssize_t n; (n = recv(fd, room, PIECE, 0)) > 0;) total += (uint64_t)n;
    require(send(fd, &total, sizeof total, MSG_NOSIGNAL) == sizeof total, "send");
    close(fd);
    free(room);
    return NULL;
}

static void *serve(void *arg) {
    int listener = (int)(intptr_t)arg;
    for (int fd; (fd = accept(listener, NULL, NULL)) >= 0;) {
        pthread_t thread;
        require(pthread_create(&thread, NULL, serve_one, (void *)(intptr_t)fd) == 0, "thread");
        pthread_detach(thread);
    }
    return NULL;
}

static int connect_to(uint16_t port) {
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    require(connect(fd, (struct sockaddr *)&to, sizeof to) == 0, "connect");
    return fd;
}

static void open_tunnel(int fd, uint16_t port) {
    char text[200];
    size_t n = 0;
    int length = snprintf(text, sizeof text, "CONNECT 127.0.0.1:%u HTTP/1.1\r\n\r\n", port);
    require(send(fd, text, (size_t)length, 0) == length, "send");
    do {
        ssize_t got = recv(fd, text + n, 1, 0);
        require(got == 1, "recv");
        n++;
    } while (n < 4 || memcmp(text + n - 4, "\r\n\r\n", 4) != 0);
    require(memcmp(text, "HTTP/1.1 200", 12) == 0, "tunnel");
}

static double carry(uint16_t server, uint16_t proxy, size_t bytes, int times) {
    char *piece = calloc(1, PIECE);
    int64_t start = clock_mono_ns();
    for (int i = 0; i < times; i++) {
        uint64_t total = 0;
        int fd = connect_to(proxy ? proxy : server);
        if (proxy) open_tunnel(fd, server);
        for (size_t left = bytes; left;) {
            ssize_t n = send(fd, piece, left < PIECE ? left : PIECE, 0);
            require(n > 0, "send");
            left -= (size_t)n;
        }
        shutdown(fd, SHUT_WR);
        require(recv(fd, &total, sizeof total, MSG_WAITALL) == sizeof total && total == bytes, "all bytes");
        close(fd);
    }
    free(piece);
    return (double)(clock_mono_ns() - start) / 1e9;
}

static void compare(const char *name, uint16_t server, uint16_t proxy, size_t bytes, int times) {
    double ours = 1e9, peer = 1e9;
    for (int i = 0; i < ROUNDS; i++) {
        double seconds = carry(server, proxy, bytes, times);
        if (seconds < ours) ours = seconds;
        seconds = carry(server, 0, bytes, times);
        if (seconds < peer) peer = seconds;
    }
    report_line(name, ours * 1e3, peer * 1e3, "ms");
}

int main(void) {
    struct sockaddr_in here = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t n = sizeof here;
    pthread_t thread;
    Rules *rules;
    Proxy *proxy;
    char entry[40];
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    require(bind(listener, (struct sockaddr *)&here, n) == 0 && listen(listener, 64) == 0, "listen");
    require(getsockname(listener, (struct sockaddr *)&here, &n) == 0, "listen");
    require(pthread_create(&thread, NULL, serve, (void *)(intptr_t)listener) == 0, "thread");
    uint16_t port = ntohs(here.sin_port);
    snprintf(entry, sizeof entry, "127.0.0.1:%u", port);
    Str list = str_from(entry);
    require(rule_list_new(&list, 1, &rules, NULL) && proxy_start(rules, NULL, NULL, &proxy, NULL), "proxy");
    compare("proxy_throughput", port, proxy_port(proxy), BYTES, 1);
    compare("proxy_connections", port, proxy_port(proxy), 100, SHORT);
    proxy_stop(proxy);
    rule_list_free(rules);
    shutdown(listener, SHUT_RDWR);
    pthread_join(thread, NULL);
    close(listener);
    return 0;
}
