#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>
#include "cli/cli.h"
#include "value/json.h"

enum { LANDLOCK_ABI_MIN = 2 };   /* what 2 lacks beside 3 (truncate) the syscall filter can refuse */

typedef struct Doctor { Cli *cli; size_t n; bool healthy; } Doctor;
typedef enum { OPTIONAL, REQUIRED } Need;

__attribute__((format(printf, 5, 6)))
static void found(Doctor *d, Need need, const char *check, bool ok, const char *fmt, ...) {
    Buf *out = &d->cli->out, detail = { 0 };
    va_list ap;
    va_start(ap, fmt);
    buf_add_vfmt(&detail, fmt, ap);
    va_end(ap);
    if (d->cli->json) {
        buf_add(out, d->n ? STR(",") : STR("["));
        buf_add(out, STR("{\"check\":"));
        json_write_string(out, str_from(check), false);
        buf_add_fmt(out, ",\"ok\":%s,\"detail\":", ok ? "true" : "false");
        json_write_string(out, buf_str(&detail), false);
        buf_add_char(out, '}');
    } else {
        const char *mark = ok ? "ok" : need == REQUIRED ? "MISSING" : "no";
        const char *color = !d->cli->color_out ? "" : ok ? "\033[32m" : need == REQUIRED ? "\033[1;31m" : "\033[33m";
        buf_add_fmt(out, "%s%-8s%s%-18s%s\n", color, mark, *color ? "\033[0m" : "", check, detail.at);
    }
    d->n++;
    if (need == REQUIRED && !ok) d->healthy = false;
    buf_clear(&detail);
}

static void check_kernel(Doctor *d) {
    struct utsname name;
    if (uname(&name) == 0) found(d, OPTIONAL, "kernel", true, "%s %s %s", name.sysname, name.release, name.machine);
}

static void check_landlock(Doctor *d) {
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    if (abi < 0)
        found(d, REQUIRED, "landlock", false, "%s", errno == EOPNOTSUPP ? "turned off at boot" : "not in this kernel");
    else
        found(d, REQUIRED, "landlock", abi >= LANDLOCK_ABI_MIN, "ABI %ld", abi);
}

static bool seccomp_offers(uint32_t action) {
    return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

static void check_seccomp(Doctor *d) {
    bool filter = prctl(PR_GET_SECCOMP) >= 0 && seccomp_offers(SECCOMP_RET_ERRNO);
    bool notify = seccomp_offers(SECCOMP_RET_USER_NOTIF);
    found(d, REQUIRED, "seccomp", filter, "%s", !filter ? "not in this kernel" : notify ? "filters, notify" : "filters");
}

static void check_openat2(Doctor *d) {
    struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_BENEATH };
    long fd = syscall(SYS_openat2, AT_FDCWD, ".", &how, sizeof how);
    if (fd >= 0) close((int)fd);
    found(d, REQUIRED, "openat2", fd >= 0, "%s", fd >= 0 ? "files can be jailed" : strerror(errno));
}

/* Tried in a child, because there is no way back out of a namespace. */
static bool child_can_unshare(int flags) {
    pid_t child = fork();
    if (child == 0) _exit(unshare(flags) == 0 ? 0 : 1);
    int status = 1;
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {}
    return child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void check_mounts(Doctor *d) {
    if (child_can_unshare(CLONE_NEWNS))
        found(d, OPTIONAL, "mount namespaces", true, "as this user");
    else if (child_can_unshare(CLONE_NEWUSER | CLONE_NEWNS))
        found(d, OPTIONAL, "mount namespaces", true, "in a user namespace");
    else
        found(d, OPTIONAL, "mount namespaces", false, "not permitted here");
}

/* How a library tells its version: a function that returns text, or nothing at all. libgit2
 * and OpenSSL have signatures of their own. */
typedef enum { ASK_TEXT, ASK_OPENSSL, ASK_GIT2, ASK_NOTHING } Ask;
static const struct Library { const char *name, *file; Ask ask; const char *function; } libraries[] = {
    { "libcurl", "libcurl.so.4", ASK_TEXT, "curl_version" },
    { "OpenSSL", "libcrypto.so.3", ASK_OPENSSL, "OpenSSL_version" },
    { "libmicrohttpd", "libmicrohttpd.so.12", ASK_TEXT, "MHD_get_version" },
    { "libgit2", "libgit2.so.1.5", ASK_GIT2, "git_libgit2_version" },
    { "libedit", "libedit.so.2", ASK_NOTHING, NULL },
};

static void add_version(Buf *out, const struct Library *l, void *handle) {
    void *function = l->function ? dlsym(handle, l->function) : NULL;
    if (!function) return;
    union { void *symbol; const char *(*text)(void); const char *(*openssl)(int); int (*git2)(int *, int *, int *); }
        as = { function };
    int major = 0, minor = 0, patch = 0;
    switch (l->ask) {
    case ASK_TEXT: buf_add_fmt(out, "%s", as.text()); break;
    case ASK_OPENSSL: buf_add_fmt(out, "%s", as.openssl(0)); break;
    case ASK_GIT2: as.git2(&major, &minor, &patch); buf_add_fmt(out, "%d.%d.%d", major, minor, patch); break;
    case ASK_NOTHING: break;
    }
    if (l->ask == ASK_TEXT && out->at) out->n = strcspn(out->at, " ");     /* curl lists its own libraries too */
}

/* Loaded and left loaded: the process ends soon, and some do not like to be unloaded. */
static void check_library(Doctor *d, const struct Library *l) {
    void *handle = dlopen(l->file, RTLD_LAZY | RTLD_LOCAL);
    Buf version = { 0 };
    if (handle) add_version(&version, l, handle);
    if (!handle) found(d, OPTIONAL, l->name, false, "%s not found", l->file);
    else if (version.n) found(d, OPTIONAL, l->name, true, "%s, " STR_FMT, l->file, STR_ARG(buf_str(&version)));
    else found(d, OPTIONAL, l->name, true, "%s", l->file);
    buf_clear(&version);
}

static void check_keys(Doctor *d) {
    static const char *const names[] = { "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OAI_API_KEY" };
    Buf list = { 0 };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = getenv(names[i]);
        if (value && *value) buf_add_fmt(&list, "%s%s", list.n ? ", " : "", names[i]);
    }
    found(d, OPTIONAL, "model keys", list.n > 0, "%s", list.n ? list.at : "none in the environment");
    buf_clear(&list);
}

int command_doctor(Cli *cli) {
    Doctor d = { .cli = cli, .healthy = true };
    check_kernel(&d);
    check_landlock(&d);
    check_seccomp(&d);
    check_openat2(&d);
    check_mounts(&d);
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) check_library(&d, &libraries[i]);
    check_keys(&d);
    if (cli->json) buf_add(&cli->out, STR("]\n"));
    return d.healthy ? CLI_OK : CLI_FAILED;
}
