/* Sockets. $TCP, $UDP, $TCP6 are ports of servers on loopback that answer with a secret, $SOCKET and $ABSTRACT are unix
 * sockets that do; $PROXY is the port of harness's proxy. An attempt that gets an answer, or reaches a server at all,
 * has escaped. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <linux/netlink.h>
#include <linux/vm_sockets.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include "attempt.h"

typedef union Name { struct sockaddr any; struct sockaddr_in v4; struct sockaddr_in6 v6; struct sockaddr_un un; } Name;

static Name v4(const char *address, int port) {
    Name n = { .v4 = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) } };
    inet_pton(AF_INET, address, &n.v4.sin_addr);
    return n;
}
static Name v6(const char *address, int port) {
    Name n = { .v6 = { .sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port) } };
    inet_pton(AF_INET6, address, &n.v6.sin6_addr);
    return n;
}
static socklen_t size(const Name *n) { return n->any.sa_family == AF_INET6 ? sizeof n->v6 : sizeof n->v4; }

/* At the proxy's port, the response to a request shows that it was reached; other servers send first. */
static void listen_to(int fd) {
    char text[500];
    struct timeval limit = { 1, 0 };
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    ssize_t n = recv(fd, text, sizeof text - 1, 0);
    if (n > 0) fwrite(text, 1, (size_t)n, stdout);
}

static void reach(int type, int protocol, Name to) {
    int fd = socket(to.any.sa_family, type, protocol);
    if (fd < 0) { perror("socket"); return; }
    int rc = connect(fd, &to.any, size(&to));
    want("connect", rc);
    if (rc == 0 && type == SOCK_DGRAM) want("send", send(fd, "x", 1, 0));
    if (rc == 0) listen_to(fd);
    close(fd);
}

static void tcp(void) { reach(SOCK_STREAM, 0, v4("127.0.0.1", number("TCP"))); }
static void tcp6(void) { reach(SOCK_STREAM, 0, v6("::1", number("TCP6"))); }
static void tcp_mapped(void) { reach(SOCK_STREAM, 0, v6("::ffff:127.0.0.1", number("TCP"))); }
static void tcp_any(void) { reach(SOCK_STREAM, 0, v4("0.0.0.0", number("TCP"))); }
static void udp(void) { reach(SOCK_DGRAM, 0, v4("127.0.0.1", number("UDP"))); }
static void udp_sendto(void) {
    Name to = v4("127.0.0.1", number("UDP"));
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    want("sendto", fd < 0 ? -1 : sendto(fd, "x", 1, 0, &to.any, size(&to)));
    if (fd >= 0) listen_to(fd);
}
static void multipath(void) { reach(SOCK_STREAM, 262, v4("127.0.0.1", number("TCP"))); }
static void fast_open(void) {
    Name to = v4("127.0.0.1", number("TCP"));
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    want("sendto", fd < 0 ? -1 : sendto(fd, "x", 1, MSG_FASTOPEN, &to.any, size(&to)));
    struct iovec part = { "x", 1 };
    struct msghdr m = { .msg_name = &to, .msg_namelen = size(&to), .msg_iov = &part, .msg_iovlen = 1 };
    int other = socket(AF_INET, SOCK_STREAM, 0);
    want("sendmsg", other < 0 ? -1 : sendmsg(other, &m, MSG_FASTOPEN));
    struct mmsghdr many = { .msg_hdr = m };
    int third = socket(AF_INET, SOCK_STREAM, 0);
    want("sendmmsg", third < 0 ? -1 : sendmmsg(third, &many, 1, MSG_FASTOPEN));
}
static void fast_open_connect(void) {
    Name to = v4("127.0.0.1", number("TCP"));
    int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;
    want("option", fd < 0 ? -1 : setsockopt(fd, IPPROTO_TCP, 30 /* TCP_FASTOPEN_CONNECT */, &one, sizeof one));
    if (fd >= 0 && connect(fd, &to.any, size(&to)) == 0 && send(fd, "x", 1, 0) == 1) say_escaped("sent");
}
static void raw(void) { want("raw", socket(AF_INET, SOCK_RAW, IPPROTO_ICMP)); want("raw6", socket(AF_INET6, SOCK_RAW, IPPROTO_ICMPV6)); }
static void packet(void) { want("packet", socket(AF_PACKET, SOCK_RAW, 0)); want("old way", socket(AF_INET, 10 /* SOCK_PACKET */, 0)); }
static void netlink(void) { want("netlink", socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE)); }
static void netlink_others(void) {
    for (int protocol = 1; protocol < 23; protocol++) want("netlink", socket(AF_NETLINK, SOCK_RAW, protocol) < 0 ? -1 : 0);
}
static void vsock(void) {
    struct sockaddr_vm to = { .svm_family = AF_VSOCK, .svm_cid = 2, .svm_port = 22 };
    int fd = socket(AF_VSOCK, SOCK_STREAM, 0);
    want("socket", fd);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof to) == 0) say_escaped("connected");
}
static void families(void) {
    static const int known[] = { AF_UNIX, AF_INET, AF_INET6, AF_NETLINK };
    for (int family = 0; family < 64; family++) {
        bool skip = false;
        for (size_t i = 0; i < 4; i++) skip = skip || (getenv("NETWORK") && known[i] == family);
        for (int type = 1; type < 6 && !skip; type++)
            if (socket(family, type, 0) >= 0) { printf("family %d\n", family); say_escaped("socket"); }
    }
}
static void unix_name(void) {
    Name to = { .un = { .sun_family = AF_UNIX } };
    snprintf(to.un.sun_path, sizeof to.un.sun_path, "%s", getenv("SOCKET"));
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    want("connect", fd < 0 ? -1 : connect(fd, &to.any, sizeof to.un));
    if (fd >= 0) listen_to(fd);
}
static void unix_abstract(void) {
    Name to = { .un = { .sun_family = AF_UNIX } };
    snprintf(to.un.sun_path + 1, sizeof to.un.sun_path - 1, "%s", getenv("ABSTRACT"));
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    want("connect", fd < 0 ? -1 : connect(fd, &to.any, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(getenv("ABSTRACT")))));
    if (fd >= 0) listen_to(fd);
}
static void unix_pair(void) {
    Name to = { .un = { .sun_family = AF_UNIX } };
    int pair[2] = { -1, -1 };
    snprintf(to.un.sun_path, sizeof to.un.sun_path, "%s", out_path("datagrams"));
    for (int type = SOCK_DGRAM; type <= SOCK_RAW; type++) {
        if (socketpair(AF_UNIX, type, 0, pair) < 0) { perror("socketpair"); continue; }
        say_escaped("a pair of datagram sockets, which can send to any");
        (void)!sendto(pair[0], "x", 1, 0, &to.any, sizeof to.un);
    }
}
/* Tries to connect one end of a socket pair, which is connected already, to another address. */
static void unix_pair_again(void) {
    Name to = { .un = { .sun_family = AF_UNIX } }, none = { .any = { .sa_family = AF_UNSPEC } };
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0) { perror("socketpair"); return; }
    snprintf(to.un.sun_path, sizeof to.un.sun_path, "%s", getenv("SOCKET"));
    close(pair[1]);
    (void)connect(pair[0], &none.any, sizeof none.any);
    want("connect", connect(pair[0], &to.any, sizeof to.un));
}
static void pair_others(void) { int pair[2]; want("tipc", socketpair(30, SOCK_SEQPACKET, 0, pair)); }
static void unix_bind(void) {
    Name here = { .un = { .sun_family = AF_UNIX } };
    snprintf(here.un.sun_path, sizeof here.un.sun_path, "%s", out_path("bound"));
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    want("bind", fd < 0 ? -1 : bind(fd, &here.any, sizeof here.un));
}
static void serve(void) {
    Name here = v4("127.0.0.1", 0);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    want("bind", fd < 0 ? -1 : bind(fd, &here.any, size(&here)));
    want("listen", fd < 0 ? -1 : listen(fd, 1));
}

/* ---- with a proxy ---- */

static void proxy_at(Name to) {
    char text[500] = "";
    int fd = socket(to.any.sa_family, SOCK_STREAM, 0);
    int rc = fd < 0 ? -1 : connect(fd, &to.any, size(&to));
    want("connect", rc);
    if (rc == 0 && write(fd, "GET / HTTP/1.1\r\n\r\n", 18) == 18 && read(fd, text, sizeof text - 1) > 0) puts(text);
}
static void proxy_elsewhere(void) { proxy_at(v4("127.0.0.2", number("PROXY"))); }
static void proxy_any(void) { proxy_at(v4("0.0.0.0", number("PROXY"))); }
static void proxy_v6(void) { proxy_at(v6("::1", number("PROXY"))); }
static void proxy_mapped(void) { proxy_at(v6("::ffff:127.0.0.1", number("PROXY"))); }
static void proxy_next_port(void) { proxy_at(v4("127.0.0.1", number("TCP"))); }

static void connect_sizes(void) {
    Name to = v4("127.0.0.1", number("TCP"));
    char big[300] = { 0 };
    memcpy(big, &to, sizeof to.v4);
    static const int sizes[] = { 0, 1, 2, 8, 15, 17, 28, 128, 129, 300, -1 };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        int fd = socket(AF_INET, SOCK_STREAM, 0);
        want("connect", connect(fd, (struct sockaddr *)big, (socklen_t)sizes[i]));
        close(fd);
    }
}
static void connect_family(void) {
    Name to = v4("127.0.0.1", number("TCP"));
    to.any.sa_family = AF_UNSPEC;                        /* treated as IPv4 for old programs */
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(fd, &to.any, sizeof to.v4) == 0) listen_to(fd);
}
/* Connects to the proxy first, then to another address. */
static void connect_again(void) {
    Name proxy = v4("127.0.0.1", number("PROXY")), to = v4("127.0.0.1", number("TCP")), none = { .any = { .sa_family = AF_UNSPEC } };
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(fd, &proxy.any, sizeof proxy.v4) < 0) perror("proxy");
    (void)connect(fd, &none.any, sizeof none.v4);
    want("connect", connect(fd, &to.any, sizeof to.v4));
}
static void source_route(void) {
    unsigned char route[] = { 1, 131, 7, 4, 203, 0, 113, 9 };
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    want("option", setsockopt(fd, IPPROTO_IP, IP_OPTIONS, route, sizeof route));
}

static atomic_bool over;
static Name memory;
static int number_of_socket;

static void *swap_address(void *unused) {
    Name proxy = v4("127.0.0.1", number("PROXY")), to = v4("127.0.0.1", number("TCP"));
    while (!over) {
        memcpy(&memory, &to, sizeof to.v4);
        memcpy(&memory, &proxy, sizeof proxy.v4);
    }
    return unused;
}
static void race_connect(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, swap_address, NULL);
    for (int i = 0; i < 300; i++) {
        int fd = socket(AF_INET, SOCK_STREAM, 0);
        Name peer;
        socklen_t n = sizeof peer;
        if (connect(fd, &memory.any, sizeof memory.v4) == 0 && getpeername(fd, &peer.any, &n) == 0
            && ntohs(peer.v4.sin_port) == number("TCP"))
            say_escaped("connected to the other address");
        close(fd);
    }
    over = true;
    pthread_join(thread, NULL);
}
/* The descriptor refers to an IPv6 socket, then another kind, while the supervisor duplicates it. */
static void *swap_socket(void *unused) {
    int one = socket(AF_INET, SOCK_STREAM, 0), two = socket(AF_INET6, SOCK_STREAM, 0);
    while (!over) {
        dup2(one, number_of_socket);
        dup2(two, number_of_socket);
    }
    return unused;
}
static void race_socket(void) {
    pthread_t thread;
    Name to = v6("::ffff:127.0.0.1", number("TCP"));
    number_of_socket = socket(AF_INET, SOCK_STREAM, 0);
    pthread_create(&thread, NULL, swap_socket, NULL);
    for (int i = 0; i < 300; i++)
        if (connect(number_of_socket, &to.any, sizeof to.v6) == 0) say_escaped("connected");
    over = true;
    pthread_join(thread, NULL);
}

const Attempt network_attempts[] = {
    { "tcp", tcp }, { "tcp6", tcp6 }, { "tcp-mapped", tcp_mapped }, { "tcp-any", tcp_any }, { "udp", udp }, { "udp-sendto", udp_sendto },
    { "multipath", multipath }, { "fast-open", fast_open }, { "fast-open-connect", fast_open_connect }, { "raw", raw },
    { "packet", packet }, { "netlink", netlink }, { "netlink-others", netlink_others }, { "vsock", vsock }, { "families", families },
    { "unix-name", unix_name }, { "unix-abstract", unix_abstract }, { "unix-pair", unix_pair }, { "unix-pair-again", unix_pair_again },
    { "pair-others", pair_others }, { "unix-bind", unix_bind }, { "serve", serve }, { "proxy-elsewhere", proxy_elsewhere },
    { "proxy-any", proxy_any }, { "proxy-v6", proxy_v6 }, { "proxy-mapped", proxy_mapped }, { "proxy-other-port", proxy_next_port },
    { "connect-sizes", connect_sizes }, { "connect-family", connect_family }, { "connect-again", connect_again },
    { "source-route", source_route }, { "race-connect", race_connect }, { "race-socket", race_socket }, { NULL, NULL },
};
