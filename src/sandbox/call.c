#include "sandbox/call.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "sandbox/probe.h"

enum { ABI_TRUNCATE = 3, ABI_SCOPE = 6, HIDDEN_MAX = 8 };
#define DEFAULT(value, standard) ((value) ? (value) : (standard))

bool call_has_mounts(const SandboxRules *rules) {
    return rules->mode != SANDBOX_OFF && rules->mounts != SANDBOX_MOUNTS_OFF && probe_kernel()->mount_namespace;
}

static unsigned isolation(const SandboxRules *rules) {
    const Probe *p = probe_kernel();
    if (!call_has_mounts(rules)) return 0;
    return REQUEST_MOUNTS | (p->user_namespace ? REQUEST_USER_NAMESPACE : 0u) | (p->process_namespace ? REQUEST_OWN_PROCESSES : 0u);
}

unsigned call_filter_variant(const SandboxRules *rules, bool explain) {
    const Probe *p = probe_kernel();
    unsigned isolated = isolation(rules);
    unsigned variant = 0;
    if (rules->net == SANDBOX_NET_NONE) variant |= FILTER_NET_NONE;
    if (rules->net == SANDBOX_NET_PROXY) variant |= FILTER_NET_PROXY;
    if (p->landlock_abi < ABI_SCOPE && !(isolated & REQUEST_OWN_PROCESSES) && p->seccomp_notify) variant |= FILTER_ASK_SIGNALS;
    if (p->landlock_abi < ABI_TRUNCATE) variant |= FILTER_NO_TRUNCATE;
    if (!isolated) variant |= FILTER_NO_IPC;
    if (p->seccomp_notify && p->pidfd && p->openat2) variant |= FILTER_ASK_MODES;
    if (explain && (variant & FILTER_ASK_MODES) && !(variant & FILTER_NO_TRUNCATE)) variant |= FILTER_TELL;   /* one rule for open() */
    return variant;
}

static bool find_filter(Sandbox *s, unsigned variant, const Filter **out, Error *err) {
    pthread_mutex_lock(&s->lock);
    bool ok = s->filters[variant].at;
    if (!ok) {                                           /* a request is large: let the launcher prepare meanwhile */
        (void)request_send(s->socket, STR("soon"), NULL, 0);
        ok = filter_build(variant, &s->filters[variant], err);
    }
    pthread_mutex_unlock(&s->lock);
    *out = &s->filters[variant];
    return ok;
}

static bool set_head(Sandbox *s, const SandboxRules *rules, bool explain, Request *r, Error *err) {
    const Probe *p = probe_kernel();
    RequestHead *h = &r->head;
    h->mode = rules->mode;
    h->net = rules->net;
    h->proxy_port = rules->proxy_port;
    h->real_home = rules->real_home;
    h->memory_bytes = DEFAULT(rules->memory_bytes, 4ull << 30);
    h->file_bytes = DEFAULT(rules->file_bytes, 1ull << 30);
    h->cpu_seconds = DEFAULT(rules->cpu_seconds, 600);
    h->open_files = DEFAULT(rules->open_files, 1024);
    h->processes = DEFAULT(rules->processes, 256);
    h->isolate = (uint8_t)isolation(rules);
    if (rules->mode == SANDBOX_OFF) return true;
    h->landlock_abi = (uint32_t)p->landlock_abi;
    if (!p->seccomp) return true;                        /* best effort: sandbox_available() allowed it */
    const Filter *filter;
    h->filter_variant = call_filter_variant(rules, explain);
    if (!find_filter(s, h->filter_variant, &filter, err)) return rules->mode == SANDBOX_BEST_EFFORT;
    h->filter_n = (uint32_t)filter->n;
    r->filter = filter->at;
    return true;
}

static const char **list(const char *const *l) {
    union { const char *const *in; const char **out; } as = { l };
    return as.out;
}

/* A message has a maximum size; a longer request is sent in a memory file. */
static bool send_request(int socket, Str bytes, const int *fds) {
    if (bytes.n <= REQUEST_MESSAGE_MAX) return request_send(socket, bytes, fds, 4);
    int all[REQUEST_FDS] = { fds[0], fds[1], fds[2], fds[3], memfd_create("request", MFD_CLOEXEC) };
    bool ok = all[4] >= 0;
    for (size_t done = 0; ok && done < bytes.n;) {
        ssize_t n = write(all[4], bytes.at + done, bytes.n - done);
        if (n > 0) done += (size_t)n;
        else ok = n < 0 && errno == EINTR;
    }
    ok = ok && request_send(socket, STR("long"), all, REQUEST_FDS);
    int problem = errno;
    if (all[4] >= 0) close(all[4]);
    errno = problem;
    return ok;
}

static bool has_text(const char *const *l) { return l && l[0] && l[0][0]; }

static bool check_command(const SandboxRules *rules, const SandboxCommand *c, Error *err) {
    if (!has_text(c->argv)) return error_set(err, ERR_SANDBOX, "no program is given");
    if (!rules->workspace || rules->workspace[0] != '/') return error_set(err, ERR_SANDBOX, "the workspace must be an absolute path");
    if (rules->net == SANDBOX_NET_PROXY && !rules->proxy_port) return error_set(err, ERR_SANDBOX, "no proxy port is given");
    return sandbox_available(rules, err);
}

/* With the real home: harness's own folders and the folder of the state file. */
static const char **folders_to_hide(const SandboxRules *rules, char folder[PATH_MAX], const char *out[HIDDEN_MAX + 2]) {
    size_t n = 0;
    if (rules->real_home) {
        for (size_t i = 0; rules->hidden && rules->hidden[i] && n < HIDDEN_MAX; i++) out[n++] = rules->hidden[i];
        const char *slash = rules->state ? strrchr(rules->state, '/') : NULL;
        if (slash && snprintf(folder, PATH_MAX, "%.*s", (int)(slash - rules->state), rules->state) < PATH_MAX && folder[0]) out[n++] = folder;
    }
    out[n] = NULL;
    return out;
}

bool call_send(Sandbox *s, const SandboxRules *rules, const SandboxCommand *c, const int stream[3], bool tell_start,
               int64_t deadline_ns, int *channel, Error *err) {
    const char *home = getenv("HOME"), *hide[HIDDEN_MAX + 2];
    char folder[PATH_MAX];
    Request r = { .workspace = rules->workspace, .cwd = c->cwd ? c->cwd : rules->workspace,
                  .home = rules->real_home && home && home[0] == '/' ? home : "",
                  .list = { [REQUEST_ARGV] = list(c->argv), [REQUEST_ENV] = list(c->env), [REQUEST_READ] = list(rules->read_roots),
                            [REQUEST_WRITE] = list(rules->write_roots), [REQUEST_PROTECT] = list(rules->protect),
                            [REQUEST_HIDDEN] = folders_to_hide(rules, folder, hide) } };
    if (!check_command(rules, c, err) || !set_head(s, rules, c->explain, &r, err)) return false;
    r.head.tell_start = tell_start;
    r.head.deadline_ns = deadline_ns;
    Buf bytes = { 0 };
    request_write(&r, &bytes);
    int pair[2] = { -1, -1 };
    bool ok = bytes.n <= REQUEST_BYTES_MAX || error_set(err, ERR_LIMIT, "the command is longer than %d bytes", REQUEST_BYTES_MAX);
    ok = ok && (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0 || error_set(err, ERR_IO, "socketpair: %m"));
    ok = ok && (send_request(s->socket, buf_str(&bytes), (int[]){ pair[1], stream[0], stream[1], stream[2] })
                || error_set(err, ERR_SANDBOX, "the sandbox's launcher has exited (%m)"));
    buf_clear(&bytes);
    if (pair[1] >= 0) close(pair[1]);
    if (ok) return *channel = pair[0], true;
    if (pair[0] >= 0) close(pair[0]);
    return false;
}

int call_receive(int channel, Reply *reply, char *text, int *view) {
    char message[sizeof *reply + REPLY_TEXT_MAX];
    int fds[REQUEST_FDS];
    size_t n_fds = 0;
    ssize_t n;
    do n = request_receive(channel, message, sizeof message, fds, &n_fds, false);
    while (n < 0 && errno == EINTR);
    if (n < 0 && errno == EAGAIN) return 0;
    bool whole = n >= (ssize_t)sizeof *reply;
    if (whole) memcpy(reply, message, sizeof *reply);
    bool has_view = whole && reply->kind == REPLY_STARTED && view && n_fds > 0;
    if (has_view) *view = fds[0];
    for (size_t i = has_view ? 1 : 0; i < n_fds; i++) close(fds[i]);
    if (!whole) return -1;
    size_t most = (size_t)n - sizeof *reply;
    if (reply->text > most) reply->text = (uint32_t)most;
    memcpy(text, message + sizeof *reply, reply->text);
    return 1;
}

bool call_end(int channel, int64_t grace_ms) {
    RequestEnd end = { grace_ms };
    return request_send(channel, (Str){ (const char *)&end, sizeof end }, NULL, 0);
}

bool call_failed(const Reply *reply, const char *text, Error *err) {
    if (reply->kind == REPLY_FAILED) return error_set(err, (ErrorKind)reply->error, "%.*s", (int)reply->text, text);
    return error_set(err, ERR_SANDBOX, "the supervisor of the call was killed; all its processes were ended");
}

int call_exit_code(int status, int *signal) {
    *signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
