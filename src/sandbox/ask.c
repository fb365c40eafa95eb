#include "sandbox/ask.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { DENIED_MAX = REPLY_TEXT_MAX };

void ask_init(Ask *a, const Tree *tree, const Request *r) {
    *a = (Ask){ .listener = -1, .tree = tree, .request = r, .port = (uint16_t)r->head.proxy_port, .denied = { .limit = DENIED_MAX } };
}

void ask_listen(Ask *a, int listener) {
    if (a->listener >= 0) close(a->listener);
    a->listener = listener;
}

Str ask_denied(const Ask *a) { return buf_str(&a->denied); }

/* Responds with `value` when `number` is 0, else with that errno. */
static void answer(const Ask *a, uint64_t id, int64_t value, int number) {
    struct seccomp_notif_resp r = { .id = id, .val = number ? 0 : value, .error = -number };
    (void)ioctl(a->listener, SECCOMP_IOCTL_NOTIF_SEND, &r);             /* the process may have been killed meanwhile */
}

/* Lets the call proceed. Only for calls that other layers decide, or whose arguments are all in registers. */
static void go_on(const Ask *a, uint64_t id) {
    struct seccomp_notif_resp r = { .id = id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE };
    (void)ioctl(a->listener, SECCOMP_IOCTL_NOTIF_SEND, &r);
}

static bool still_waits(const Ask *a, uint64_t id) { return ioctl(a->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0; }

/* ---- connect ---------------------------------------------------------------------------------------------------- */

bool ask_read(const Ask *a, const struct seccomp_notif *q, uint64_t from, void *to, size_t n) {
    struct iovec here = { to, n }, there = { (void *)(uintptr_t)from, n };
    return process_vm_readv((pid_t)q->pid, &here, 1, &there, 1, 0) == (ssize_t)n && still_waits(a, q->id);
}

static bool is_tcp4(int fd) {
    int domain = 0, type = 0, protocol = 0;
    socklen_t n = sizeof domain;
    return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &n) == 0 && getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &n) == 0
           && getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &n) == 0 && domain == AF_INET && type == SOCK_STREAM
           && protocol == IPPROTO_TCP;
}

typedef union Address { struct sockaddr any; struct sockaddr_in v4; struct sockaddr_in6 v6; struct sockaddr_storage space; } Address;

static bool is_proxy(const Ask *a, const Address *to, socklen_t n) {
    return n >= sizeof to->v4 && to->any.sa_family == AF_INET && to->v4.sin_addr.s_addr == htonl(INADDR_LOOPBACK)
           && to->v4.sin_port == htons(a->port);
}

/* A host alone implies the ports 80 and 443. */
static void note_refused(Ask *a, const Address *to) {
    char text[INET6_ADDRSTRLEN] = "";
    bool v4 = to->any.sa_family == AF_INET;
    if (!v4 && to->any.sa_family != AF_INET6) return;
    unsigned port = ntohs(v4 ? to->v4.sin_port : to->v6.sin6_port);
    inet_ntop(to->any.sa_family, v4 ? (const void *)&to->v4.sin_addr : &to->v6.sin6_addr, text, sizeof text);
    buf_add_fmt(&a->denied, "connect to %s%s%s port %u\t--allow-domain HOST", v4 ? "" : "[", text, v4 ? "" : "]", port);
    if (port != 80 && port != 443) buf_add_fmt(&a->denied, ":%u", port);
    buf_add_char(&a->denied, '\n');
}

/* Makes a blocking socket non-blocking during the call, so that a full queue does not block the supervisor. */
static void connect_now(Ask *a, uint64_t id, int fd, const Address *to) {
    int flags = fcntl(fd, F_GETFL);
    bool blocking = !(flags & O_NONBLOCK);
    if (blocking) (void)fcntl(fd, F_SETFL, flags | O_NONBLOCK);
    int rc = connect(fd, &to->any, sizeof to->v4) < 0 ? errno : 0;
    if (blocking) (void)fcntl(fd, F_SETFL, flags);
    if (rc == EINPROGRESS && blocking && a->n_connects < ASK_CONNECTS_MAX) {
        a->connects[a->n_connects++] = (AskConnect){ id, fd };
        return;
    }
    answer(a, id, 0, rc);
    close(fd);
}

/* pidfd_getfd() gives us our own descriptor: the program may reuse its number meanwhile. */
int ask_take(const Ask *a, const struct seccomp_notif *q, int fd) {
    int process = (int)syscall(SYS_pidfd_open, tree_process_of((pid_t)q->pid), 0);     /* q->pid is a thread id */
    if (process < 0) return -1;
    int ours = still_waits(a, q->id) ? (int)syscall(SYS_pidfd_getfd, process, fd, 0) : -1, problem = errno;
    close(process);
    errno = problem;
    return ours;
}

static void on_connect(Ask *a, const struct seccomp_notif *q) {
    Address to = { .any = { 0 } };
    socklen_t n = (socklen_t)q->data.args[2];
    if (n > sizeof to || n < sizeof(sa_family_t)) return answer(a, q->id, 0, EINVAL);
    if (!ask_read(a, q, q->data.args[1], &to, n)) return answer(a, q->id, 0, EFAULT);
    int fd = ask_take(a, q, (int)q->data.args[0]);
    if (fd < 0) return answer(a, q->id, 0, EBADF);
    if (is_proxy(a, &to, n) && is_tcp4(fd)) return connect_now(a, q->id, fd, &to);
    note_refused(a, &to);
    close(fd);
    answer(a, q->id, 0, EACCES);
}

size_t ask_waits(const Ask *a, struct pollfd *out) {
    for (size_t i = 0; i < a->n_connects; i++) out[i] = (struct pollfd){ .fd = a->connects[i].fd, .events = POLLOUT };
    return a->n_connects;
}

/* From the end, because a finished one is replaced by the last. */
void ask_finish(Ask *a, const struct pollfd *waits, size_t n) {
    for (size_t i = n; i-- > 0;) {
        AskConnect c = a->connects[i];
        if (!waits[i].revents && still_waits(a, c.id)) continue;
        int problem = 0;
        socklen_t size = sizeof problem;
        if (getsockopt(c.fd, SOL_SOCKET, SO_ERROR, &problem, &size) < 0) problem = errno;
        answer(a, c.id, 0, problem);
        close(c.fd);
        a->connects[i] = a->connects[--a->n_connects];
    }
}

/* ---- signals ---------------------------------------------------------------------------------------------------- */

static int signal_one(const Ask *a, pid_t pid, int signal) {
    int process = (int)syscall(SYS_pidfd_open, pid, 0);
    if (process < 0) return errno;
    int rc = !tree_has(a->tree, pid) ? EPERM : syscall(SYS_pidfd_send_signal, process, signal, NULL, 0) < 0 ? errno : 0;
    close(process);
    return rc;
}

static int signal_group(const Ask *a, pid_t group, int signal) {
    if (group <= 1 || group == getpgrp() || !tree_has_group(a->tree, group)) return EPERM;
    return kill(-group, signal) < 0 ? errno : 0;
}

/* Checks the thread's process: both are in the tree or neither is. */
static int signal_thread(const Ask *a, pid_t group, pid_t thread, int signal) {
    if (!tree_has(a->tree, group)) return EPERM;
    return syscall(SYS_tgkill, group, thread, signal) < 0 ? errno : 0;
}

static int on_signal(const Ask *a, const struct seccomp_notif *q) {
    pid_t who = (pid_t)q->data.args[0];
    int signal = (int)q->data.args[1];
    if (q->data.nr == SYS_tgkill) return signal_thread(a, who, (pid_t)q->data.args[1], (int)q->data.args[2]);
    if (q->data.nr == SYS_tkill) return signal_thread(a, tree_process_of(who), who, signal);
    if (who > 0) return signal_one(a, who, signal);
    if (who == -1) return tree_signal(a->tree, signal), 0;
    return signal_group(a, who == 0 ? getpgid((pid_t)q->pid) : -who, signal);
}

/* ---- limits and priorities -------------------------------------------------------------------------------------- */

/* The target is a number in a register, which cannot change while the call waits, so the call may proceed or fail. */
static void on_other(const Ask *a, const struct seccomp_notif *q) {
    bool second = q->data.nr == SYS_setpriority || q->data.nr == SYS_ioprio_set;
    pid_t who = tree_process_of((pid_t)q->data.args[second ? 1 : 0]);
    bool core = q->data.nr == SYS_prlimit64 && (uint32_t)q->data.args[1] == RLIMIT_CORE && q->data.args[2];
    if (!who) answer(a, q->id, 0, ESRCH);
    else if (!tree_has(a->tree, who)) answer(a, q->id, 0, EPERM);
    else if (core) answer(a, q->id, 0, q->data.args[3] ? EPERM : 0);    /* the limit is not changed: see filter.c */
    else go_on(a, q->id);
}

/* ---- what is counted -------------------------------------------------------------------------------------------- */

/* Counts over the whole life of the call. Objects can be hidden, so closing one does not lower the count. */
static void on_counted(Ask *a, const struct seccomp_notif *q, unsigned *count, unsigned most, int problem) {
    if (*count >= most) return answer(a, q->id, 0, problem);
    (*count)++;
    go_on(a, q->id);
}

/* ---- the loop --------------------------------------------------------------------------------------------------- */

void ask_answer(Ask *a) {
    struct seccomp_notif q = { 0 };                      /* the kernel requires zeroes */
    if (ioctl(a->listener, SECCOMP_IOCTL_NOTIF_RECV, &q) < 0) {
        if (errno == EINTR || errno == ENOENT) return;   /* the asking process is gone */
        ask_listen(a, -1);
        return;
    }
    switch (q.data.nr) {
    case SYS_connect: on_connect(a, &q); break;
    case SYS_kill: case SYS_tkill: case SYS_tgkill: answer(a, q.id, 0, on_signal(a, &q)); break;
    case SYS_chmod: case SYS_fchmod: case SYS_fchmodat: case SYS_utimensat:
    case SYS_chown: case SYS_lchown: case SYS_fchown: case SYS_fchownat: answer(a, q.id, 0, ask_mode(a, &q)); break;
    case SYS_prlimit64: case SYS_sched_setaffinity: case SYS_sched_setscheduler: case SYS_sched_setparam: case SYS_sched_setattr:
    case SYS_setpriority: case SYS_ioprio_set: on_other(a, &q); break;
    case SYS_inotify_init: case SYS_inotify_init1: on_counted(a, &q, &a->n_instances, ASK_INSTANCES_MAX, EMFILE); break;
    case SYS_inotify_add_watch: on_counted(a, &q, &a->n_watches, ASK_WATCHES_MAX, ENOSPC); break;
    case SYS_seccomp: case SYS_prctl: on_counted(a, &q, &a->n_filters, ASK_FILTERS_MAX, ENOMEM); break;
    case SYS_socket: ask_tell_socket(a, &q); answer(a, q.id, 0, EACCES); break;
    default: ask_tell(a, &q); go_on(a, q.id);
    }
}
