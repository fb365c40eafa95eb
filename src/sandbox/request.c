#include "sandbox/request.h"
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/mem.h"

static void add_text(Buf *out, const char *text) { buf_add(out, (Str){ text ? text : "", text ? strlen(text) + 1 : 1 }); }

static uint32_t length(const char *const *list) {
    uint32_t n = 0;
    while (list && list[n]) n++;
    return n;
}

void request_write(const Request *r, Buf *out) {
    RequestHead head = r->head;
    Buf text = { 0 };
    add_text(&text, r->workspace);
    add_text(&text, r->cwd);
    add_text(&text, r->home);
    for (int l = 0; l < REQUEST_LISTS; l++) {
        head.count[l] = length(r->list[l]);
        for (uint32_t i = 0; i < head.count[l]; i++) add_text(&text, r->list[l][i]);
    }
    head.text_bytes = text.n;
    buf_add(out, (Str){ (const char *)&head, sizeof head });
    buf_add(out, (Str){ (const char *)r->filter, head.filter_n * sizeof *r->filter });
    buf_add(out, buf_str(&text));
    buf_clear(&text);
}

/* Splits off one NUL-terminated string; NULL when none is left. */
static const char *next_text(Str *rest) {
    const char *end = rest->n ? memchr(rest->at, 0, rest->n) : NULL;
    if (!end) return NULL;
    const char *text = rest->at;
    size_t n = (size_t)(end - text) + 1;
    *rest = (Str){ rest->at + n, rest->n - n };
    return text;
}

static bool read_lists(Str rest, Request *out) {
    out->workspace = next_text(&rest);
    out->cwd = next_text(&rest);
    out->home = next_text(&rest);
    if (!out->workspace || !out->cwd || !out->home) return false;
    for (int l = 0; l < REQUEST_LISTS; l++) {
        uint32_t n = out->head.count[l];
        if (n > rest.n) return false;                    /* each string has at least one byte */
        out->list[l] = mem_zero((size_t)n + 1, sizeof *out->list[l]);
        for (uint32_t i = 0; i < n; i++)
            if (!(out->list[l][i] = next_text(&rest))) return false;
    }
    return true;
}

bool request_read(Str bytes, Request *out) {
    *out = (Request){ 0 };
    if (bytes.n < sizeof out->head) return false;
    memcpy(&out->head, bytes.at, sizeof out->head);
    size_t filter = (size_t)out->head.filter_n * sizeof *out->filter, rest = bytes.n - sizeof out->head;
    if (filter > rest || rest - filter != out->head.text_bytes) return false;
    out->filter = (const struct sock_filter *)(const void *)(bytes.at + sizeof out->head);
    if (read_lists((Str){ bytes.at + sizeof out->head + filter, rest - filter }, out)) return true;
    request_clear(out);
    return false;
}

void request_clear(Request *r) {
    for (int l = 0; l < REQUEST_LISTS; l++) free(r->list[l]);
    *r = (Request){ 0 };
}

typedef union Control { char bytes[CMSG_SPACE(REQUEST_FDS * sizeof(int))]; struct cmsghdr align; } Control;

bool request_send(int socket, Str bytes, const int *fds, size_t n_fds) {
    union { const char *in; void *out; } at = { bytes.at };
    struct iovec part = { at.out, bytes.n };
    Control control = { 0 };
    struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
    if (n_fds) {
        message.msg_control = control.bytes;
        message.msg_controllen = CMSG_SPACE(n_fds * sizeof(int));
        struct cmsghdr *c = CMSG_FIRSTHDR(&message);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(n_fds * sizeof(int));
        memcpy(CMSG_DATA(c), fds, n_fds * sizeof(int));
    }
    ssize_t n;
    do n = sendmsg(socket, &message, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    return n >= 0;
}

ssize_t request_receive(int socket, void *at, size_t size, int fds[REQUEST_FDS], size_t *n_fds, bool wait) {
    struct iovec part = { at, size };
    Control control = { 0 };
    struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes };
    ssize_t n;
    do n = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | (wait ? 0 : MSG_DONTWAIT));
    while (n < 0 && errno == EINTR);
    *n_fds = 0;
    for (struct cmsghdr *c = n < 0 ? NULL : CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
        *n_fds = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        memcpy(fds, CMSG_DATA(c), *n_fds * sizeof(int));
    }
    return n;
}
