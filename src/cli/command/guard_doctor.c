/* harness guard doctor: checks for each agent that the hook is installed, current and trusted and refuses a call, and lists what it cannot stop. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/file.h"
#include "base/vec.h"
#include "cli/command/guard_file.h"
#include "guard/advice.h"
#include "guard/guard.h"
#include "value/json.h"

enum { FILE_MAX = 4 << 20, OUTPUT_MAX = 1 << 20, WAIT_MS = 40000 };

/* ---- programs ---- */

typedef struct Ran { Buf out, err; int status; bool started, ended; } Ran;

static void ran_clear(Ran *r) {
    buf_clear(&r->out);
    buf_clear(&r->err);
}

static void take(int *fd, Buf *out) {
    char bytes[4096];
    ssize_t n = read(*fd, bytes, sizeof bytes);
    if (n > 0 && out->n < OUTPUT_MAX) buf_add(out, (Str){ bytes, (size_t)n });
    if (n > 0 || (n < 0 && errno == EINTR)) return;
    close(*fd);
    *fd = -1;
}

static void give(int *fd, Str *in) {
    ssize_t n = write(*fd, in->at, in->n);
    if (n > 0) *in = str_sub(*in, (size_t)n, in->n);
    if (in->n && (n > 0 || errno == EINTR || errno == EAGAIN)) return;
    close(*fd);
    *fd = -1;
}

static void talk(int in, int out, int err, Str input, Ran *r) {
    int64_t until = clock_mono_ns() / 1000000 + WAIT_MS;
    fcntl(in, F_SETFL, O_NONBLOCK);
    while (out >= 0 || err >= 0) {
        struct pollfd fds[] = { { in, POLLOUT, 0 }, { out, POLLIN, 0 }, { err, POLLIN, 0 } };
        int64_t left = until - clock_mono_ns() / 1000000;
        if (left <= 0 || (poll(fds, 3, (int)left) < 0 && errno != EINTR)) break;
        if (in >= 0 && fds[0].revents) give(&in, &input);
        if (out >= 0 && fds[1].revents) take(&out, &r->out);
        if (err >= 0 && fds[2].revents) take(&err, &r->err);
    }
    r->ended = out < 0 && err < 0;
    for (int *fd = (int[]){ in, out, err, -2 }; *fd != -2; fd++)
        if (*fd >= 0) close(*fd);
}

/* A program of the user's own, without a sandbox, in its own process group. */
static Ran run(const char *const *argv, Str input) {
    Ran r = { .status = -1 };
    int in[2] = { -1, -1 }, out[2] = { -1, -1 }, err[2] = { -1, -1 };
    pid_t pid = 0;
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0) return r;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, in[0], 0);
    posix_spawn_file_actions_adddup2(&files, out[1], 1);
    posix_spawn_file_actions_adddup2(&files, err[1], 2);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    r.started = posix_spawnp(&pid, argv[0], &files, &attributes, (char *const *)(uintptr_t)argv, environ) == 0;
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    close(in[0]);
    close(out[1]);
    close(err[1]);
    talk(in[1], out[0], err[0], input, &r);
    if (!r.started) return r;
    if (!r.ended) kill(-pid, SIGKILL);
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
    r.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return r;
}

/* ---- checks ---- */

typedef struct Row { const char *state; Buf text; } Row;         /* "ok", "note", "FAILS" or "hole" */
typedef struct Doctor {
    Cli *cli;
    Vendor vendor;
    VEC(Row) rows;
    size_t installed, failures, before;      /* before: failures of the agents before this one */
    bool first;
} Doctor;

__attribute__((format(printf, 3, 4)))
static void add(Doctor *d, const char *state, const char *fmt, ...) {
    Row row = { .state = state };
    va_list ap;
    va_start(ap, fmt);
    buf_add_vfmt(&row.text, fmt, ap);
    va_end(ap);
    d->failures += strcmp(state, "FAILS") == 0;
    VEC_PUSH(&d->rows, row);
}

static bool find_program(const char *name, char out[PATH_MAX]) {
    Str rest = str_from(getenv("PATH"));
    while (rest.n) {
        ptrdiff_t n = str_find_char(rest, ':');
        Str folder = n < 0 ? rest : str_sub(rest, 0, (size_t)n);
        rest = n < 0 ? STR("") : str_sub(rest, (size_t)n + 1, rest.n);
        snprintf(out, PATH_MAX, STR_FMT "/%s", STR_ARG(folder), name);
        if (folder.n && folder.at[0] == '/' && access(out, X_OK) == 0) return true;
    }
    return false;
}

static bool check_program(Doctor *d) {
    char path[PATH_MAX];
    if (!find_program(guard_advice(d->vendor)->program, path)) return false;
    Ran r = run((const char *[]){ path, "--version", NULL }, STR(""));
    Str out = buf_str(&r.out), version;
    bool known = r.ended && str_next_line(&out, &version) && version.n;
    add(d, "ok", "%s%s" STR_FMT, path, known ? ", version " : "", known ? (int)version.n : 0, known ? version.at : "");
    ran_clear(&r);
    return true;
}

static bool is_ours_and_runs(const char *command) {
    char path[PATH_MAX];
    const char *from = *command == '\'' ? command + 1 : command;
    size_t n = strcspn(from, *command == '\'' ? "'" : " ");
    if (n == 0 || n >= sizeof path || *from != '/') return false;
    memcpy(path, from, n);
    path[n] = 0;
    return access(path, X_OK) == 0;
}

/* Gives the installed command line a call that every policy denies. */
static void try_hook(Doctor *d, const GuardFile *f, const GuardInstalled *i) {
    Buf payload = { 0 };
    guard_advice_payload(d->vendor, str_from(f->project), &payload);
    Ran r = run((const char *[]){ "/bin/sh", "-c", i->command.at, NULL }, buf_str(&payload));
    Str err = buf_str(&r.err), line = STR("");
    (void)str_next_line(&err, &line);
    if (guard_advice_denies(d->vendor, buf_str(&r.out), buf_str(&r.err), r.status)) add(d, "ok", "it refuses a call that it must refuse");
    else if (!r.ended) add(d, "FAILS", "the hook did not end within %d s", WAIT_MS / 1000);
    else add(d, "FAILS", "the hook did not refuse a call that it must refuse (exit status %d)%s" STR_FMT, r.status, line.n ? ": " : "", STR_ARG(line));
    ran_clear(&r);
    buf_clear(&payload);
}

static void check_entries(Doctor *d, const GuardFile *f, const GuardInstalled *i) {
    if (!i->parsed) {
        add(d, "FAILS", "%s:%u:%u: %s", f->full, i->problem.line, i->problem.column, i->problem.msg);
        return;
    }
    if (!i->found) return;
    d->installed++;
    if (i->missing) add(d, "FAILS", "%s: an event has no entry: run harness guard install %s again", f->full, vendor_name(d->vendor));
    else if (!i->current) add(d, "note", "%s: the entries are not what this version installs: run harness guard install %s again", f->full,
        vendor_name(d->vendor));
    else add(d, "ok", "%s", f->full);
    if (i->disabled) add(d, "FAILS", "%s: disableAllHooks is true, so no hook runs", f->full);
    if (is_ours_and_runs(i->command.at)) try_hook(d, f, i);
    else add(d, "FAILS", "%s: the program of the hook cannot be started: %s", f->full, i->command.at);
}

static void check_file(Doctor *d, GuardScope scope) {
    GuardFile f;
    GuardInstalled i;
    Buf text = { 0 };
    Error err = { 0 };
    if (!guard_file_find(d->cli, d->vendor, scope, &f, &err)) return;
    if (access(f.path, F_OK) != 0) return;
    if (!file_read(f.path, FILE_MAX, &text, &err)) add(d, "FAILS", "%s: %s", f.full, err.msg);
    else {
        guard_installed_read(&f.install, buf_str(&text), &i);
        check_entries(d, &f, &i);
        guard_installed_clear(&i);
    }
    buf_clear(&text);
}

/* Codex runs only hooks whose hash the user has trusted, and says nothing otherwise. */
static void check_codex_trust(Doctor *d) {
    const char *home = getenv("HOME");
    char path[PATH_MAX];
    Buf text = { 0 };
    Error ignored = { 0 };
    snprintf(path, sizeof path, "%s/.codex/config.toml", home ? home : "");
    bool trusted = file_read(path, FILE_MAX, &text, &ignored) && str_find(buf_str(&text), STR("trusted_hash")) >= 0;
    if (!trusted) add(d, "FAILS", "%s has no trusted hook: start codex and trust it with /hooks", path);
    buf_clear(&text);
}

static void add_holes(Doctor *d) {
    Str rest = str_from(guard_advice(d->vendor)->holes);
    for (Str line; str_next_line(&rest, &line);) add(d, "hole", STR_FMT, STR_ARG(line));
}

/* ---- output ---- */

static void print_json(Doctor *d, bool found) {
    Buf *out = &d->cli->out;
    buf_add(out, d->first ? STR("[") : STR(","));
    buf_add_fmt(out, "{\"vendor\":\"%s\",\"program\":%s,\"installed\":%s,\"checks\":[", vendor_name(d->vendor), found ? "true" : "false",
        d->installed ? "true" : "false");
    for (size_t i = 0; i < d->rows.n; i++) {
        buf_add_fmt(out, "%s{\"state\":\"%s\",\"text\":", i ? "," : "", d->rows.at[i].state);
        json_write_string(out, buf_str(&d->rows.at[i].text), false);
        buf_add_char(out, '}');
    }
    buf_add(out, STR("]}"));
}

static void print_text(Doctor *d, bool found) {
    Buf *out = &d->cli->out;
    buf_add_fmt(out, "%s%s: %s\n", d->first ? "" : "\n", vendor_title(d->vendor),
                d->installed && d->failures > d->before ? "guarded, but see below" : d->installed ? "guarded" : found ? "NOT guarded" : "not found");
    for (size_t i = 0; i < d->rows.n; i++) {
        buf_add_fmt(out, "  %-6s", d->rows.at[i].state);
        cli_escape(out, buf_str(&d->rows.at[i].text), false);
        buf_add_char(out, '\n');
    }
}

static void check(Doctor *d, bool asked) {
    bool found = check_program(d);
    for (GuardScope s = GUARD_SCOPE_PROJECT; s <= GUARD_SCOPE_MANAGED; s++) check_file(d, s);
    if (d->installed && d->vendor == VENDOR_CODEX) check_codex_trust(d);
    if (!d->installed && (found || asked))
        add(d, asked ? "FAILS" : "note", "its calls are not checked: run harness guard install %s", vendor_name(d->vendor));
    if (d->installed || asked) add_holes(d);
    if (!found && !d->installed && !asked && d->rows.n == 0) return;
    if (d->cli->json) print_json(d, found);
    else print_text(d, found);
    d->first = false;
}

static void doctor_reset(Doctor *d) {
    for (size_t i = 0; i < d->rows.n; i++) buf_clear(&d->rows.at[i].text);
    VEC_CLEAR(&d->rows);
    d->installed = 0;
    d->before = d->failures;
}

int command_guard_doctor(Cli *cli) {
    Doctor d = { .cli = cli, .first = true };
    Error err = { 0 };
    Vendor only = VENDOR_HARNESS;
    if (cli->args.n_operands && !guard_file_vendor(cli->args.operands[0], &only, &err)) return cli_fail(cli, CLI_FAILED, &err);
    for (d.vendor = VENDOR_HARNESS + 1; d.vendor < VENDOR_COUNT; d.vendor++) {
        if (only != VENDOR_HARNESS && d.vendor != only) continue;
        check(&d, only != VENDOR_HARNESS);
        doctor_reset(&d);
    }
    if (cli->json) buf_add(&cli->out, d.first ? STR("[]\n") : STR("]\n"));
    else if (d.first) buf_add(&cli->out, STR("no agent that harness guard knows is installed here\n"));
    return d.failures ? CLI_FAILED : CLI_OK;
}
