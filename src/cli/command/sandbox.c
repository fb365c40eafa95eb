/* `harness sandbox`: runs one command in the workspace, confined like a tool's command. */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <termios.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/cancel.h"
#include "base/mem.h"
#include "base/vec.h"
#include "cli/cli.h"
#include "cli/command/sandbox_profile.h"
#include "cli/terminal/interrupt.h"
#include "net/proxy.h"
#include "sandbox/protect.h"
#include "sandbox/sandbox.h"
#include "tool/protect/protected.h"
#include "tool/protect/record.h"
#include "store/store.h"

enum { EXIT_TIMED_OUT = 124, EXIT_NOT_RUN = 127, DENIED_MAX = 64 << 10 };

typedef VEC(const char *) Texts;

/* `denied` is written by the proxy's thread while the command runs, and read when it has ended. */
typedef struct Job {
    Cli *cli;
    SandboxRules rules;
    Texts read, write, env;
    VEC(Str) domains;
    Rules *allowed;
    Proxy *proxy;
    Sandbox *sandbox;
    Arena arena;                         /* paths */
    SandboxProfile profile;              /* home NULL: none */
    RecordPlaces places;
    Protect *protect;
    Mark *mark;
    Buf denied;
    int64_t timeout_ms;
    bool explain;
} Job;

/* ---- flags ------------------------------------------------------------------------------------------------------ */

static bool read_seconds(const char *text, int64_t *ms, Error *err) {
    char *end;
    double s = strtod(text, &end);
    if (end == text || *end || !isfinite(s) || s <= 0 || s > 1e9)
        return error_set(err, ERR_VALIDATION, "--timeout: \"%s\" is not a number of seconds", text);
    *ms = s < 0.001 ? 1 : (int64_t)(s * 1000);
    return true;
}

static bool read_mounts(const char *text, SandboxMounts *out, Error *err) {
    static const char *const names[] = { [SANDBOX_MOUNTS_AUTO] = "auto", [SANDBOX_MOUNTS_REQUIRED] = "required", [SANDBOX_MOUNTS_OFF] = "off" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(text, names[i]) == 0) return *out = (SandboxMounts)i, true;
    return error_set(err, ERR_VALIDATION, "--mounts: expected required, auto or off, got \"%s\"", text);
}

/* A missing folder is probably a typo: reports it instead of ignoring it. */
static bool add_root(const Job *j, Texts *list, const char *flag, const char *path, Error *err) {
    char full[PATH_MAX];
    if (!sandbox_root(j->rules.workspace, path, full, err)) return error_wrap(err, "%s", flag);
    VEC_PUSH(list, mem_dup(full, strlen(full)));
    return true;
}

/* The folders of --read and --write, as written. */
static bool are_steady(const Job *j, Error *err) {
    const Args *a = &j->cli->args;
    const char **places = mem_zero(j->write.n + 2, sizeof *places);
    bool ok = true;
    places[0] = j->rules.workspace;
    for (size_t i = 0; i < j->write.n; i++) places[i + 1] = j->write.at[i];
    for (size_t i = 0; ok && i < a->n_flags; i++) {
        const char *name = a->flags[i].flag->name;
        if (strcmp(name, "--read") == 0 || strcmp(name, "--write") == 0) ok = sandbox_root_steady(places, a->flags[i].value, err)
            || error_wrap(err, "%s", name);
    }
    free(places);
    return ok;
}

static void add_text(Texts *list, const char *text) { VEC_PUSH(list, mem_dup(text, strlen(text))); }

/* An agent works for hours, and programs on node reserve far more memory than they use. Its settings must stay as they are: that needs mounts. */
static bool use_profile(Job *j, const char *vendor, Error *err) {
    SandboxProfile *p = &j->profile;
    if (!sandbox_profile_prepare(vendor, j->cli->args.operands[0], &j->arena, p, err)) return false;
    for (size_t i = 0; i < p->read.n; i++) add_text(&j->read, p->read.at[i]);
    for (size_t i = 0; i < p->hosts.n; i++) VEC_PUSH(&j->domains, str_from(p->hosts.at[i]));
    for (size_t i = 0; i < p->env.n; i++) add_text(&j->env, p->env.at[i]);
    add_text(&j->write, p->home);
    if (j->rules.mounts == SANDBOX_MOUNTS_AUTO) j->rules.mounts = SANDBOX_MOUNTS_REQUIRED;
    j->rules.memory_bytes = 64ull << 30;
    j->rules.cpu_seconds = 7 * 86400;
    j->rules.processes = 1024;
    return true;
}

static bool read_flags(Job *j, Error *err) {
    const Args *a = &j->cli->args;
    const char *state = getenv("HARNESS_STATE");
    for (size_t i = 0; i < a->n_flags; i++) {
        const char *name = a->flags[i].flag->name, *value = a->flags[i].value;
        if (strcmp(name, "--network") == 0) j->rules.net = SANDBOX_NET_OPEN;
        else if (strcmp(name, "--allow-domain") == 0) VEC_PUSH(&j->domains, str_from(value));
        else if (strcmp(name, "--best-effort") == 0) j->rules.mode = SANDBOX_BEST_EFFORT;
        else if (strcmp(name, "--explain") == 0) j->explain = true;
        else if (strcmp(name, "--mounts") == 0 && !read_mounts(value, &j->rules.mounts, err)) return false;
        else if (strcmp(name, "--read") == 0 && !add_root(j, &j->read, name, value, err)) return false;
        else if (strcmp(name, "--write") == 0 && !add_root(j, &j->write, name, value, err)) return false;
        else if (strcmp(name, "--timeout") == 0 && !read_seconds(value, &j->timeout_ms, err)) return false;
    }
    const char *profile = args_value(a, "--profile");
    if (profile && !use_profile(j, profile, err)) return false;
    if (j->domains.n && j->rules.net == SANDBOX_NET_OPEN)
        return error_set(err, ERR_VALIDATION, "--network opens everything; --allow-domain is for single hosts: give one of them");
    VEC_PUSH(&j->read, NULL);
    VEC_PUSH(&j->write, NULL);
    j->rules.read_roots = j->read.at;
    j->rules.write_roots = j->write.at;
    if (!are_steady(j, err)) return false;
    j->rules.hidden = store_private_folders(&j->arena);
    if (state && state[0] && !store_is_url(state)) j->rules.state = state[0] == '/' ? state : arena_fmt(&j->arena, "%s/%s", j->rules.workspace, state);
    return sandbox_reach(&j->rules, err);
}

/* Variables that a program needs to use a terminal: type, colours, locale. */
static void pass_environment(Job *j) {
    static const char *const names[] = { "TERM", "LANG", "LC_ALL", "LC_CTYPE", "TZ" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = getenv(names[i]);
        Buf entry = { 0 };
        if (!value) continue;
        buf_add_fmt(&entry, "%s=%s", names[i], value);
        VEC_PUSH(&j->env, buf_take(&entry));
    }
    VEC_PUSH(&j->env, NULL);
}

/* ---- protected files: the same as for a tool's command ---- */

static void say_lines(const Job *j, SayLevel kind, Str lines) {
    Str line;
    while (lines.n && str_next_line(&lines, &line)) cli_say(j->cli, kind, line);
}

/* A folder without a valid project still has files that git and other agents run. False: the caller must not load anything. */
static bool find_protected(Job *j, Buf *told, Error *err) {
    Problems problems = { 0 };
    Project *project = NULL;
    ProjectInput in = { .lenient = true, .digests = true };
    RecordPaths more = { 0 };
    bool ok = record_load(&(RecordDoor){ .places = &j->places, .told = told }, &in, &project, &problems, err) || err->kind == ERR_NONE;
    problems_clear(&problems);
    Str workspace = str_from(j->rules.workspace);
    record_configs(&j->places, workspace, &j->arena, &more);
    for (size_t i = 0; i < j->profile.protect.n; i++) VEC_PUSH(&more, str_from(j->profile.protect.at[i]));
    if (ok) j->rules.protect = protected_paths(&(ProtectedList){ .arena = &j->arena, .project = project, .root = project ? project->root : workspace,
                                                                 .workspace = workspace, .write_roots = j->rules.write_roots,
                                                                     .more = more.at, .n_more = more.n });
    VEC_CLEAR(&more);
    project_free(project);
    return ok;
}

static const char *find_folder(Job *j, Error *err) {
    VEC(const char *) reach = { 0 };
    VEC_PUSH(&reach, j->rules.workspace);
    for (const char *const *w = j->rules.write_roots; *w; w++) VEC_PUSH(&reach, *w);
    VEC_PUSH(&reach, NULL);
    const char *folder = record_folder(&j->places, reach.at, err);
    VEC_CLEAR(&reach);
    return folder;
}

static bool guard(Job *j, Error *err) {
    Buf told = { 0 };
    record_places(NULL, &j->places);
    const char *folder = find_folder(j, err);
    bool ok = folder && find_protected(j, &told, err);
    RecordSeen seen[RECORD_FOLDERS] = { 0 };
    RecordWork w = { .places = &j->places, .seen = seen, .folder = folder, .root = j->rules.workspace, .workspace = j->rules.workspace,
                     .paths = j->rules.protect, .sandbox = j->sandbox, .told = &told };
    ok = ok && record_begin(&w, &j->mark, &j->protect, NULL, err);
    say_lines(j, SAY_WARNING, buf_str(&told));
    buf_clear(&told);
    return ok;
}

/* All processes of the command have ended. */
static bool verify(Job *j, Error *err) {
    if (!j->protect || !j->mark) return true;
    protect_follow(j->protect, j->mark);
    bool same = protect_verify(j->protect, err);
    if (same || protect_same(j->protect, NULL)) (void)mark_set(j->mark, false, NULL);
    return same;
}

static void on_second_signal(void *ctx) {
    enum { KILL_MS = 10000 };
    Job *j = ctx;
    if (sandbox_kill(j->sandbox, KILL_MS) && verify(j, NULL)) mark_free(j->mark);
}

/* ---- the run ---------------------------------------------------------------------------------------------------- */

static void on_decision(void *ctx, Str host, uint16_t port, bool allowed, const char *why) {
    Job *j = ctx;
    (void)why;
    if (!allowed) buf_add_fmt(&j->denied, "connect to " STR_FMT " port %u\t--allow-domain " STR_FMT "\n", STR_ARG(host), port, STR_ARG(host));
}

static bool start_proxy(Job *j, Error *err) {
    if (!j->domains.n) return true;
    if (!rule_list_new(j->domains.at, j->domains.n, &j->allowed, err)) return error_wrap(err, "--allow-domain");
    if (!proxy_start(j->allowed, on_decision, j, &j->proxy, err)) return false;
    j->rules.net = SANDBOX_NET_PROXY;
    j->rules.proxy_port = proxy_port(j->proxy);
    return true;
}

/* "what<TAB>flag" as "sandbox: denied: what (allow it with flag)". */
static void say_denied(const Job *j, Str lines) {
    Str line;
    Buf text = { 0 };
    while (str_next_line(&lines, &line)) {
        ptrdiff_t tab = str_find_char(line, '\t');
        buf_reset(&text);
        if (tab < 0) buf_add_fmt(&text, "denied: " STR_FMT, STR_ARG(line));
        else buf_add_fmt(&text, "denied: " STR_FMT " (allow it with " STR_FMT ")", STR_ARG(str_sub(line, 0, (size_t)tab)),
                         STR_ARG(str_sub(line, (size_t)tab + 1, line.n)));
        cli_say(j->cli, SAY_HINT, buf_str(&text));
    }
    buf_clear(&text);
}

static void say_layers(const Job *j) {
    Buf lines = { 0 }, text = { 0 };
    sandbox_layers(&j->rules, &lines);
    Str rest = buf_str(&lines), line;
    while (str_next_line(&rest, &line)) {
        ptrdiff_t tab = str_find_char(line, '\t');
        buf_reset(&text);
        buf_add_fmt(&text, "layer: %-12.*s" STR_FMT, (int)tab, line.at, STR_ARG(str_sub(line, (size_t)tab + 1, line.n)));
        cli_say(j->cli, SAY_HINT, buf_str(&text));
    }
    buf_clear(&lines);
    buf_clear(&text);
}

/* Warns about missing layers in best-effort mode. */
static void warn_of_less(const Job *j) {
    SandboxRules strict = j->rules;
    Error err = { 0 };
    Buf text = { 0 };
    strict.mode = SANDBOX_STRICT;
    if (j->rules.mode != SANDBOX_BEST_EFFORT || sandbox_available(&strict, &err)) return;
    buf_add_fmt(&text, "%s: the command is not fully confined (--explain shows the layers there are)", err.msg);
    cli_say(j->cli, SAY_WARNING, buf_str(&text));
    buf_clear(&text);
}

/* A killed program may leave the terminal in any state. */
static bool keep_terminal(struct termios *was) { return tcgetattr(STDIN_FILENO, was) == 0; }

static bool run_command(Job *j, SandboxResult *result, Error *err) {
    const Args *a = &j->cli->args;
    const char **argv = mem_zero(a->n_operands + 1, sizeof *argv);
    memcpy(argv, a->operands, a->n_operands * sizeof *argv);
    if (j->profile.program) argv[0] = j->profile.program;
    SandboxCommand command = { .argv = argv, .env = j->env.at, .pass_streams = true, .in_fd = STDIN_FILENO, .out_fd = STDOUT_FILENO,
                               .err_fd = STDERR_FILENO, .timeout_ms = j->timeout_ms, .explain = j->explain };
    struct termios was;
    bool terminal = keep_terminal(&was);
    Cancel *cancel = cancel_new(NULL, 0);
    Interrupt *interrupt = interrupt_start(cancel);
    interrupt_last(interrupt, on_second_signal, j);
    bool ok = sandbox_run(j->sandbox, &j->rules, &command, cancel, result, err);
    ok = verify(j, ok ? err : NULL) && ok;
    interrupt_stop(interrupt);
    if (terminal) (void)tcsetattr(STDIN_FILENO, TCSANOW, &was);
    cancel_free(cancel);
    free(argv);
    return ok;
}

static int report(Job *j, const SandboxResult *r) {
    Buf text = { 0 };
    if (j->explain && (r->exit_code != 0 || r->timed_out)) {
        say_denied(j, buf_str(&r->denied));
        say_denied(j, buf_str(&j->denied));
    }
    if (r->timed_out) buf_add_fmt(&text, "timed out after %g s", (double)j->timeout_ms / 1000);
    else if (sandbox_result_limit(r)) buf_add_fmt(&text, "ended: %s", sandbox_result_limit(r));
    if (text.n) cli_say(j->cli, SAY_ERROR, buf_str(&text));
    buf_clear(&text);
    return r->timed_out ? EXIT_TIMED_OUT : r->exit_code;
}

static int run(Job *j, Error *err) {
    char *workspace = realpath(".", NULL);
    SandboxResult result = { 0 };
    int status = CLI_FAILED;
    j->rules.workspace = workspace;
    if (!workspace) {
        error_set(err, ERR_IO, "current folder: %m");
        status = cli_fail(j->cli, CLI_FAILED, err);
    } else if (!read_flags(j, err)) {
        status = cli_fail(j->cli, err->kind == ERR_VALIDATION ? CLI_WRONG_USE : CLI_FAILED, err);
    } else if (!sandbox_start(&j->sandbox, err) || !start_proxy(j, err)) {      /* the launcher first: it must be
                                                                                 * started before threads */
        status = cli_fail(j->cli, err->kind == ERR_CONFIG || err->kind == ERR_VALIDATION ? CLI_WRONG_USE : CLI_FAILED, err);
    } else {
        pass_environment(j);
        if (j->explain) say_layers(j);
        warn_of_less(j);
        if (!guard(j, err)) status = cli_fail(j->cli, CLI_FAILED, err);
        else if (run_command(j, &result, err)) status = report(j, &result);
        else status = cli_fail(j->cli, err->kind == ERR_CANCELLED ? CLI_INTERRUPTED : err->kind == ERR_IO ? EXIT_NOT_RUN : CLI_FAILED, err);
    }
    sandbox_result_clear(&result);
    free(workspace);
    return status;
}

static void clear_texts(Texts *list) {
    union { const char **in; void **out; } as = { list->at };
    for (size_t i = 0; i < list->n; i++) free(as.out[i]);
    VEC_CLEAR(list);
}

int command_sandbox(Cli *cli) {
    Job j = { .cli = cli, .denied = { .limit = DENIED_MAX } };
    Error err = { 0 };
    int status = run(&j, &err);
    mark_free(j.mark);
    sandbox_stop(j.sandbox);
    protect_free(j.protect);
    record_places_clear(&j.places);
    sandbox_profile_clear(&j.profile);
    arena_clear(&j.arena);
    proxy_stop(j.proxy);
    rule_list_free(j.allowed);
    clear_texts(&j.read);
    clear_texts(&j.write);
    clear_texts(&j.env);
    VEC_CLEAR(&j.domains);
    buf_clear(&j.denied);
    return status;
}
