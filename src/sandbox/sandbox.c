#include "sandbox/sandbox.h"
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/mem.h"
#include "sandbox/call.h"
#include "sandbox/launcher.h"
#include "sandbox/probe.h"

bool sandbox_start(Sandbox **out, Error *err) {
    int pair[2];
    probe_begin();
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) return error_set(err, ERR_SANDBOX, "socketpair: %m");
    pid_t pid = fork();
    if (pid == 0) {
        close(pair[0]);
        launcher_run(pair[1]);
    }
    close(pair[1]);
    if (pid < 0) {
        close(pair[0]);
        return error_set(err, ERR_SANDBOX, "fork the launcher: %m");
    }
    Sandbox *s = mem_zero(1, sizeof *s);
    s->socket = pair[0];
    s->launcher = pid;
    pthread_mutex_init(&s->lock, NULL);
    *out = s;
    return true;
}

void sandbox_stop(Sandbox *s) {
    if (!s) return;
    close(s->socket);
    while (waitpid(s->launcher, NULL, 0) < 0 && errno == EINTR) {}
    for (size_t i = 0; i < FILTER_VARIANTS; i++) filter_clear(&s->filters[i]);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

bool sandbox_hold(Sandbox *s, int mark_fd, Error *err) {
    return request_send(s->socket, STR("hold"), &mark_fd, 1) || error_set(err, ERR_SANDBOX, "the sandbox's launcher has exited (%m)");
}

bool sandbox_kill(Sandbox *s, int timeout_ms) {
    char answer[16];
    if (!request_send(s->socket, STR("kill"), NULL, 0)) return false;
    int n;
    do n = poll(&(struct pollfd){ .fd = s->socket, .events = POLLIN }, 1, timeout_ms);
    while (n < 0 && errno == EINTR);
    return n > 0 && recv(s->socket, answer, sizeof answer, MSG_DONTWAIT) > 0;
}

static bool has_required_mounts(const SandboxRules *rules, Error *err) {
    if (rules->mounts != SANDBOX_MOUNTS_REQUIRED || call_has_mounts(rules)) return true;
    error_set(err, ERR_SANDBOX, "sandbox.mounts is required, and there are no private mounts: %s",
              rules->mode == SANDBOX_OFF ? "sandbox.mode is off" : probe_mounts_problem());
    return error_hint(err, "see harness doctor; sandbox.mounts: auto runs without them where they are not available");
}

bool sandbox_available(const SandboxRules *rules, Error *err) {
    const Probe *p = probe_kernel();
    if (!has_required_mounts(rules, err)) return false;
    if (rules->mode == SANDBOX_OFF) return true;
    if (rules->net == SANDBOX_NET_PROXY && !(p->seccomp_notify && p->pidfd))
        return error_set(err, ERR_SANDBOX, "the kernel cannot filter connections (seccomp notify, pidfd: Linux 5.6)")
               || error_hint(err, "allow no network, or all of it");
    if (rules->mode == SANDBOX_BEST_EFFORT) return true;
    const char *missing = NULL;
    if (p->landlock_abi < PROBE_LANDLOCK_MIN) missing = p->landlock_abi ? "Landlock ABI 2 (Linux 5.19)" : "Landlock";
    else if (!p->seccomp || !p->no_new_privs) missing = "seccomp";
    else if (!p->seccomp_notify || !p->pidfd || !p->openat2) missing = "seccomp notify, pidfd and openat2 (Linux 5.6)";
    if (!missing) return true;
    error_set(err, ERR_SANDBOX, "the kernel lacks %s, which the sandbox needs", missing);
    return error_hint(err, "see harness doctor; sandbox.mode: best-effort runs with less");
}

void sandbox_layers(const SandboxRules *rules, Buf *out) {
    const Probe *p = probe_kernel();
    bool on = rules->mode != SANDBOX_OFF;
    unsigned v = call_filter_variant(rules, false);
    buf_add(out, STR("supervisor\tends the whole tree, counts processes\n"));
    buf_add(out, STR("limits\tmemory, CPU time, file size, open files\n"));
    if (!on) return;
    int abi = p->landlock_abi;
    if (abi)
        buf_add_fmt(out, "landlock\tABI %d: files%s%s%s%s\n", abi, abi >= 2 ? ", renames" : "", abi >= 3 ? ", truncate" : "",
                    abi >= 4 && rules->net != SANDBOX_NET_OPEN ? ", TCP" : "", abi >= 6 ? ", signals, abstract sockets" : "");
    if (p->seccomp)
        buf_add_fmt(out, "seccomp\tsystem calls%s%s%s%s\n", v & FILTER_NET_NONE ? ", no sockets" : v & FILTER_NET_PROXY ? ", TCP sockets only" : "",
                    v & FILTER_ASK_SIGNALS ? ", signals by the supervisor" : "", v & FILTER_NO_TRUNCATE ? ", truncate" : "",
                    v & FILTER_ASK_MODES ? ", modes and times of files by the supervisor" : "");
    buf_add(out, STR("privileges\tno_new_privs, capabilities dropped\n"));
    if (call_has_mounts(rules))
        buf_add_fmt(out, "mounts\tall read-only except writable roots%s%s\n", p->process_namespace ? ", own /proc, own processes" : "",
                    p->user_namespace ? ", in a user namespace" : "");
    if (rules->net == SANDBOX_NET_PROXY) buf_add_fmt(out, "network\tconnect() by the supervisor, to the proxy on port %u only\n", rules->proxy_port);
}
