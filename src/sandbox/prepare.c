#include "sandbox/prepare.h"
#include <linux/capability.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <unistd.h>
#include "base/vec.h"
#include "sandbox/cover.h"
#include "sandbox/filter.h"
#include "sandbox/mounts.h"
#include "sandbox/public.h"
#include "sandbox/ruleset.h"
#include "sandbox/sandbox.h"

const char *const prepare_system_read[] = { "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/proc", NULL };
static const char *const devices[] = { "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty" };
static const char search_path[] = "/usr/local/bin:/usr/bin:/bin";

enum { THREADS_EACH = 2, LOCKED_BYTES = 64 << 10 };
#define COUNT(list) (sizeof(list) / sizeof *(list))

/* ---- environment and program ------------------------------------------------------------------------------------ */

static bool same_name(const char *a, const char *b) {
    size_t n = strcspn(a, "=");
    return n == strcspn(b, "=") && memcmp(a, b, n) == 0;
}

static void put(const char **env, size_t *n, const char *entry) {
    for (size_t i = 0; i < *n; i++)
        if (same_name(env[i], entry)) {
            env[i] = entry;
            return;
        }
    env[(*n)++] = entry;
}

static void put_proxy(const char **env, size_t *n, unsigned port, Arena *a) {
    static const char *const names[] = { "http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY" };
    for (size_t i = 0; i < COUNT(names); i++) put(env, n, arena_fmt(a, "%s=http://127.0.0.1:%u", names[i], port));
    put(env, n, "no_proxy=");
    put(env, n, "NO_PROXY=");
}

const char *prepare_path(const Request *r) {
    const char *path = search_path;
    for (const char **e = r->list[REQUEST_ENV]; *e; e++)
        if (strncmp(*e, "PATH=", 5) == 0) path = *e + 5;
    return path;
}

static char **environment(const SupervisorJob *job, Arena *a) {
    const Request *r = job->request;
    const char **env = ARENA_ARRAY(a, const char *, r->head.count[REQUEST_ENV] + 16);
    size_t n = 0;
    put(env, &n, arena_fmt(a, "PATH=%s", prepare_path(r)));
    put(env, &n, arena_fmt(a, "HOME=%s", r->head.real_home && *r->home ? r->home : job->scratch_path));
    put(env, &n, arena_fmt(a, "TMPDIR=%s", job->scratch_path));
    if (r->head.net == SANDBOX_NET_PROXY) put_proxy(env, &n, r->head.proxy_port, a);
    for (const char **e = r->list[REQUEST_ENV]; *e; e++)
        if (strchr(*e, '=') && **e != '=') put(env, &n, *e);
    union { const char **in; char **out; } as = { env };
    return as.out;
}

/* The paths to try for the program. */
static const char **programs(const char *name, const char *path, Arena *a) {
    size_t room = 2, n = 0;
    for (const char *c = path; *c; c++) room += *c == ':';
    const char **list = ARENA_ARRAY(a, const char *, room);
    if (strchr(name, '/')) return list[0] = name, list;
    for (const char *at = path; *at;) {
        size_t length = strcspn(at, ":");
        if (length) list[n++] = arena_fmt(a, "%.*s/%s", (int)length, at, name);
        at += length + (at[length] == ':');
    }
    return list;
}

/* ---- limits and privileges -------------------------------------------------------------------------------------- */

/* Never above this process's own limit. */
static void limit(ChildPlan *p, int what, uint64_t soft, uint64_t hard) {
    struct rlimit now;
    if (getrlimit((__rlimit_resource_t)what, &now) < 0) return;
    rlim_t top = now.rlim_max < hard ? now.rlim_max : hard;
    p->limit[p->n_limits].what = what;
    p->limit[p->n_limits++].to = (struct rlimit){ .rlim_cur = soft < top ? soft : top, .rlim_max = top };
}

/* The kernel counts all tasks of the user, including threads, and does not limit root. So this only slows a fork bomb
 * until the supervisor has counted: allows the tasks that are running now (at most the machine's limit) plus this
 * call with its threads. */
static void limit_tasks(const RequestHead *h, ChildPlan *p) {
    struct sysinfo now;
    if (sysinfo(&now) < 0) return;
    uint64_t most = (uint64_t)now.procs + (uint64_t)h->processes * THREADS_EACH;
    limit(p, RLIMIT_NPROC, most, most);
}

/* 1 keeps the kernel from starting a piped core handler, which would run outside; with 0 it runs. Root may set it even
 * if the limit was lowered to 0 before. */
static void limit_core(ChildPlan *p) {
    (void)setrlimit(RLIMIT_CORE, &(struct rlimit){ 1, 1 });
    limit(p, RLIMIT_CORE, 1, 1);
}

/* Pending signals, POSIX timers and message queues have one limit per user; the kernel compares the total with the limit of the process that
 * allocates. Half of it here leaves the other half for the user's other programs. Locked pages of files are counted nowhere. */
static void limit_shared(ChildPlan *p) {
    static const int halved[] = { RLIMIT_SIGPENDING, RLIMIT_MSGQUEUE };
    for (size_t i = 0; i < COUNT(halved); i++) {
        struct rlimit now;
        if (getrlimit((__rlimit_resource_t)halved[i], &now) < 0) continue;
        if (now.rlim_cur != RLIM_INFINITY) limit(p, halved[i], now.rlim_cur / 2, now.rlim_cur / 2);
    }
    limit(p, RLIMIT_MEMLOCK, LOCKED_BYTES, LOCKED_BYTES);
}

static void set_limits(const RequestHead *h, ChildPlan *p) {
    limit_tasks(h, p);
    limit(p, RLIMIT_AS, h->memory_bytes, h->memory_bytes);
    limit(p, RLIMIT_CPU, h->cpu_seconds, (uint64_t)h->cpu_seconds + 5);   /* SIGXCPU first, then SIGKILL */
    limit(p, RLIMIT_FSIZE, h->file_bytes, h->file_bytes);
    limit(p, RLIMIT_NOFILE, h->open_files, h->open_files);
    limit_core(p);
    if (h->mode != SANDBOX_OFF) limit_shared(p);
}

static uint64_t permitted_capabilities(bool *may_drop) {
    struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3, .pid = 0 };
    struct __user_cap_data_struct data[2] = { { 0 } };
    if (syscall(SYS_capget, &head, data) < 0) return 0;
    *may_drop = data[0].effective >> CAP_SETPCAP & 1;
    return data[0].permitted | (uint64_t)data[1].permitted << 32;
}

/* Root keeps the right to work on other users' files. The capabilities of a user namespace are only for its mounts. */
static void set_privileges(const SupervisorJob *job, ChildPlan *p) {
    p->confine = true;
    p->keep = permitted_capabilities(&p->may_drop) & (1ull << CAP_DAC_OVERRIDE | 1ull << CAP_FOWNER);
    if (job->maps) p->keep = 0;
}

/* ---- files ------------------------------------------------------------------------------------------------------ */

/* The real location of the resolver configuration if it is a link out of /etc. */
static bool allow_resolver(int ruleset, const RulesetOptions *o, Error *err) {
    char *path = realpath("/etc/resolv.conf", NULL);
    bool ok = !path || ruleset_allow(ruleset, o, path, RULESET_READ, err);
    free(path);
    return ok;
}

static bool is_public_folder(const char *path) {
    for (const char *const *p = public_folders; *p; p++)
        if (strcmp(*p, path) == 0) return true;
    return false;
}

/* After mounts_enter(), which mounts a separate /proc. */
static bool allow_system(const SupervisorJob *job, int ruleset, const RulesetOptions *o, Error *err) {
    bool ok = true;
    for (const char *const *p = prepare_system_read; *p; p++)
        if (!job->open_to_all || !is_public_folder(*p)) ok = ok && ruleset_allow(ruleset, o, *p, RULESET_READ, err);
    for (size_t i = 0; i < COUNT(devices); i++) ok = ok && ruleset_allow(ruleset, o, devices[i], RULESET_DEVICE, err);
    return ok;
}

static bool allow_call(const SupervisorJob *job, int ruleset, const RulesetOptions *o, Error *err) {
    const Request *r = job->request;
    bool ok = true;
    /* Roots have their links resolved. A link in one was made since by an earlier call, and could lead anywhere. */
    for (const char **p = r->list[REQUEST_READ]; *p; p++) ok = ok && ruleset_allow(ruleset, o, *p, RULESET_READ | RULESET_NO_LINKS, err);
    for (const char **p = r->list[REQUEST_WRITE]; *p; p++) ok = ok && ruleset_allow(ruleset, o, *p, RULESET_WRITE | RULESET_NO_LINKS, err);
    ok = ok && ruleset_allow(ruleset, o, r->workspace, RULESET_WRITE | RULESET_NO_LINKS, err);
    ok = ok && ruleset_allow(ruleset, o, job->scratch_path, RULESET_WRITE, err);
    if (r->head.real_home && *r->home) ok = ok && ruleset_allow(ruleset, o, r->home, RULESET_WRITE, err);
    if (r->head.net == SANDBOX_NET_OPEN) ok = ok && allow_resolver(ruleset, o, err);
    return ok;
}

static RulesetOptions options_of(const RequestHead *h) {
    return (RulesetOptions){ .abi = (int)h->landlock_abi, .no_tcp = h->net != SANDBOX_NET_OPEN };
}

int prepare_ruleset(const RequestHead *h, const Public *open_to_all, Error *err) {
    RulesetOptions o = options_of(h);
    int fd = ruleset_new(&o, err);
    if (fd < 0 || !open_to_all || public_allow(open_to_all, h->isolate, fd, &o, err)) return fd;
    close(fd);
    return -1;
}

static bool set_ruleset(const SupervisorJob *job, ChildPlan *p, Error *err) {
    const RequestHead *h = &job->request->head;
    if (h->landlock_abi == 0) return true;
    RulesetOptions o = options_of(h);
    p->ruleset = job->ruleset >= 0 ? job->ruleset : prepare_ruleset(h, NULL, err);
    return p->ruleset >= 0 && allow_system(job, p->ruleset, &o, err) && allow_call(job, p->ruleset, &o, err);
}

/* What only root may read, and with the real home harness's own folders. An ordinary user cannot read the former. */
static bool cover_all(const SupervisorJob *job, Error *err) {
    const Request *r = job->request;
    const Public *known = job->open_to_all;
    if (!job->maps && !cover_secrets(known ? known->hidden.at : NULL, known ? known->hidden.n : 0, err)) return false;
    return !r->head.real_home || !*r->home || cover_inside(r->home, r->list[REQUEST_HIDDEN], err);
}

static bool set_mounts(const SupervisorJob *job, Arena *a, Error *err) {
    const Request *r = job->request;
    const char **write = ARENA_ARRAY(a, const char *, r->head.count[REQUEST_WRITE] + 4);
    size_t n = 0;
    if (r->head.real_home && *r->home) write[n++] = r->home;
    for (const char **p = r->list[REQUEST_WRITE]; *p; p++) write[n++] = *p;
    write[n++] = r->workspace;
    write[n++] = job->scratch_path;
    MountsPlan plan = { .write = write, .protect = r->list[REQUEST_PROTECT], .user_namespace = job->maps, .own_processes = job->own_processes };
    return mounts_enter(&plan, a, err) && cover_all(job, err);
}

bool prepare_plan(const SupervisorJob *job, Arena *a, ChildPlan *out, Error *err) {
    const Request *r = job->request;
    bool confine = r->head.mode != SANDBOX_OFF;
    *out = (ChildPlan){ .ruleset = -1, .cwd = r->cwd, .parent = getpid() };
    if (job->isolated && !set_mounts(job, a, err)) return false;
    union { const char **in; char **out; } argv = { r->list[REQUEST_ARGV] };
    out->argv = argv.out;
    out->env = environment(job, a);
    out->programs = programs(argv.in[0], prepare_path(job->request), a);
    set_limits(&r->head, out);
    if (!confine) return true;
    set_privileges(job, out);
    if (!set_ruleset(job, out, err)) return false;
    if (r->head.filter_n) {
        struct sock_fprog *filter = ARENA_NEW(a, struct sock_fprog);
        union { const struct sock_filter *in; struct sock_filter *out; } code = { r->filter };
        *filter = (struct sock_fprog){ .len = (unsigned short)r->head.filter_n, .filter = code.out };
        out->filter = filter;
        out->listener = (r->head.filter_variant & FILTER_ASKS) != 0;
    }
    return true;
}
