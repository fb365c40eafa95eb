#include <dlfcn.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include "cli/cli.h"
#include "sandbox/probe.h"
#include "value/json.h"

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

static void found_in_kernel(void *ctx, const char *check, bool ok, const char *detail) {
    static const char *const optional[] = { "pidfd", "private mounts" };
    Need need = REQUIRED;
    for (size_t i = 0; i < sizeof optional / sizeof *optional; i++)
        if (strcmp(check, optional[i]) == 0) need = OPTIONAL;
    found(ctx, need, check, ok, "%s", detail);
}

/* How a library reports its version: a function that returns a string, or not at all. libgit2 and OpenSSL have other
 * signatures. */
typedef enum { ASK_TEXT, ASK_OPENSSL, ASK_GIT2, ASK_NOTHING } Ask;
static const struct Library { const char *name, *file; Ask ask; const char *function; } libraries[] = {
    { "libcurl", "libcurl.so.4", ASK_TEXT, "curl_version" },
    { "OpenSSL", "libcrypto.so.3", ASK_OPENSSL, "OpenSSL_version" },
    { "libmicrohttpd", "libmicrohttpd.so.12", ASK_TEXT, "MHD_get_version" },
    { "libgit2", "libgit2.so.1.5", ASK_GIT2, "git_libgit2_version" },
    { "libseccomp", "libseccomp.so.2", ASK_NOTHING, NULL },
    { "libedit", "libedit.so.2", ASK_NOTHING, NULL },
    { "libutf8proc", "libutf8proc.so.2", ASK_NOTHING, NULL },
    { "libsystemd", "libsystemd.so.0", ASK_NOTHING, NULL },
    { "libpq", "libpq.so.5", ASK_NOTHING, NULL },
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
    if (l->ask == ASK_TEXT && out->at) out->n = strcspn(out->at, " ");     /* curl also lists its own libraries */
}

/* Not unloaded: the process ends soon, and some libraries cannot be unloaded safely. */
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
    probe_describe(found_in_kernel, &d);
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) check_library(&d, &libraries[i]);
    check_keys(&d);
    if (cli->json) buf_add(&cli->out, STR("]\n"));
    return d.healthy ? CLI_OK : CLI_FAILED;
}
