/* A minimal MCP client with little overhead: starts a program, writes prepared requests and counts responses. For
 * bench_mcp.c. */
#pragma once
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <arpa/inet.h>
#include <unistd.h>
#include "base/clock.h"

extern char **environ;

#define INITIALIZE "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{}," \
                   "\"clientInfo\":{\"name\":\"bench\",\"version\":\"1\"}}}"
#define INITIALIZED "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}"
#define CALL "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\",\"params\":{\"name\":\"up\",\"arguments\":{\"text\":\"hello\",\"times\":3}}}"

static void require(bool ok, const char *what) {
    if (ok) return;
    fprintf(stderr, "bench_mcp: %s: %s\n", what, strerror(errno));
    exit(1);
}

/* ---- process ---- */

typedef struct Server { pid_t pid; int in, out, err; int asked, came; } Server;

static Server server_start(char *const *argv) {
    int in[2], out[2], err[2];
    require(pipe(in) == 0 && pipe(out) == 0 && pipe(err) == 0, "pipe");
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], 0);
    posix_spawn_file_actions_adddup2(&actions, out[1], 1);
    posix_spawn_file_actions_adddup2(&actions, err[1], 2);
    for (int i = 0; i < 2; i++) {
        posix_spawn_file_actions_addclose(&actions, in[i]);
        posix_spawn_file_actions_addclose(&actions, out[i]);
        posix_spawn_file_actions_addclose(&actions, err[i]);
    }
    Server s = { 0 };
    require(posix_spawnp(&s.pid, argv[0], &actions, NULL, argv, environ) == 0, argv[0]);
    posix_spawn_file_actions_destroy(&actions);
    close(in[0]);
    close(out[1]);
    close(err[1]);
    s.in = in[1];
    s.out = out[0];
    s.err = err[0];
    return s;
}

static void server_stop(Server *s) {
    close(s->in);
    kill(s->pid, SIGTERM);
    int status;
    require(waitpid(s->pid, &status, 0) == s->pid, "wait");
    close(s->out);
    close(s->err);
}

static double server_peak_mb(const Server *s) {
    char path[64], line[256];
    snprintf(path, sizeof path, "/proc/%d/status", (int)s->pid);
    FILE *f = fopen(path, "r");
    require(f != NULL, path);
    double kb = 0;
    while (fgets(line, sizeof line, f)) if (sscanf(line, "VmHWM: %lf", &kb) == 1) break;
    fclose(f);
    return kb / 1024;
}

/* The port in the address that the server prints when it listens. */
static int server_port(Server *s) {
    char text[4096];
    for (size_t n = 0; n < sizeof text - 1;) {
        ssize_t got = read(s->err, text + n, sizeof text - 1 - n);
        require(got > 0, "the server says no address");
        text[n += (size_t)got] = 0;
        char *at = strstr(text, "http://127.0.0.1:");
        if (at && strstr(at, "/mcp")) return atoi(at + strlen("http://127.0.0.1:"));
    }
    return require(false, "the server says no address"), 0;
}

/* ---- lines ---- */

static void write_all(int fd, const char *at, size_t n) {
    for (ssize_t did; n; at += did, n -= (size_t)did) {
        did = write(fd, at, n);
        require(did > 0, "write");
    }
}

/* Sends n requests at once. */
static void server_ask(Server *s, const char *text, size_t size, int n) {
    write_all(s->in, text, size);
    s->asked += n;
}

/* Reads until at most `open` responses are outstanding; none may be an error. */
static void server_read(Server *s, int open) {
    static char room[1 << 18];
    while (s->asked - s->came > open) {
        ssize_t n = read(s->out, room, sizeof room - 1);
        require(n > 0, "read");
        room[n] = 0;
        require(strstr(room, "\"error\"") == NULL && strstr(room, "isError\":true") == NULL, room);
        for (char *p = room; (p = memchr(p, '\n', (size_t)(room + n - p))) != NULL; p++) s->came++;
    }
}

/* ---- HTTP ---- */

typedef struct Connection { int fd, left; size_t n, sent, size; char session[80]; char request[1024], answer[8192]; } Connection;

static void connection_open(Connection *c, int port) {
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int on = 1;
    c->fd = socket(AF_INET, SOCK_STREAM, 0);
    require(c->fd >= 0 && connect(c->fd, (struct sockaddr *)&at, sizeof at) == 0, "connect");
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

static void connection_ask(Connection *c, int port, const char *body) {
    c->size = (size_t)snprintf(c->request, sizeof c->request,
        "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
        "%s%s%sContent-Length: %zu\r\n\r\n%s", port, c->session[0] ? "MCP-Protocol-Version: 2025-11-25\r\nMcp-Session-Id: " : "",
            c->session, c->session[0] ? "\r\n" : "",
        strlen(body), body);
    require(c->size < sizeof c->request, "room");
    c->n = 0;
    write_all(c->fd, c->request, c->size);
}

/* True if the whole response has arrived. Stores the session it names. */
static bool connection_whole(Connection *c) {
    char *end = strstr(c->answer, "\r\n\r\n");
    if (!end) return false;
    require(strncmp(c->answer, "HTTP/1.1 20", 11) == 0, c->answer);
    char *length = strcasestr(c->answer, "\r\ncontent-length:"), *session = strcasestr(c->answer, "\r\nmcp-session-id:");
    if (session && session < end && !c->session[0]) sscanf(session + strlen("\r\nmcp-session-id:"), " %79[^\r\n]", c->session);
    size_t head = (size_t)(end + 4 - c->answer);
    if (length && length < end) return c->n >= head + strtoul(length + strlen("\r\ncontent-length:"), NULL, 10);
    if (!strcasestr(c->answer, "transfer-encoding: chunked")) return true;       /* 202 without a body */
    return c->n >= head + 5 && memcmp(c->answer + c->n - 5, "0\r\n\r\n", 5) == 0;
}

/* Reads once. True if the response is complete. */
static bool connection_read(Connection *c) {
    require(c->n < sizeof c->answer - 1, "an answer is too long");
    ssize_t n = recv(c->fd, c->answer + c->n, sizeof c->answer - 1 - c->n, 0);
    require(n > 0, "the server hung up");
    c->answer[c->n += (size_t)n] = 0;
    if (!connection_whole(c)) return false;
    require(strstr(c->answer, "\"error\"") == NULL && strstr(c->answer, "isError\":true") == NULL, c->answer);
    return true;
}

static void connection_exchange(Connection *c, int port, const char *body) {
    connection_ask(c, port, body);
    while (!connection_read(c)) {}
}

static void connection_begin(Connection *c, int port) {
    connection_open(c, port);
    connection_exchange(c, port, INITIALIZE);
    connection_exchange(c, port, INITIALIZED);
}
