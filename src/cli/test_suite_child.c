/* The process of one test: copies the workspace, opens the project there, runs the test, reports. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>
#include "cli/test_suite.h"
#include "cli/workspace_copy.h"
#include "guard/trial.h"
#include "harness.h"
#include "mcp/remote/remotes.h"
#include "tool/protect/record.h"
#include "value/json.h"
#include "value/list.h"

static void add_failure(Buf *out, Str check, Str expected, Str got) {
    buf_add(out, out->n > 1 ? STR(",{\"check\":") : STR("{\"check\":"));
    json_write_string(out, check, false);
    buf_add(out, STR(",\"expected\":"));
    json_write_string(out, expected, false);
    buf_add(out, STR(",\"got\":"));
    json_write_string(out, got, false);
    buf_add_char(out, '}');
}

static void add_error(Buf *out, const Error *err) {
    char text[ERROR_MSG_MAX + ERROR_FILE_MAX + ERROR_HINT_MAX + 40];
    error_format(err, text, sizeof text);
    add_failure(out, STR("test"), STR(""), str_from(text));
}

typedef struct Copying { const TestPlace *place; const char *folder, *to; } Copying;

static bool copy_workspace(void *ctx, Error *err) {
    const Copying *c = ctx;
    struct stat st;
    if (mkdir(c->to, 0700) != 0 || stat(c->folder, &st) != 0) return error_set(err, ERR_IO, "make %s: %m", c->to);
    int in = open(c->place->source, O_RDONLY | O_DIRECTORY | O_CLOEXEC), out = open(c->to, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    WorkspaceCopy how = { .device = st.st_dev, .inode = st.st_ino };
    bool ok = in >= 0 && out >= 0 ? workspace_copy(in, out, &how, err) : error_set(err, ERR_IO, "open %s: %m", c->place->source);
    if (in >= 0) close(in);
    if (out >= 0) close(out);
    return ok;
}

/* If the project refers to a neighbouring folder ../NAME, links to that folder from the copy instead of copying it. */
static void link_neighbour(const TestPlace *place, const char *folder, Str path) {
    if (!str_starts(path, STR("../"))) return;
    Str name = str_sub(path, 3, path.n);
    ptrdiff_t slash = str_find_char(name, '/');
    if (slash >= 0) name = str_sub(name, 0, (size_t)slash);
    if (name.n == 0 || str_eq(name, STR("..")) || str_eq(name, STR("."))) return;
    Buf to = { 0 }, at = { 0 };
    buf_add_fmt(&to, "%s/../" STR_FMT, place->source, STR_ARG(name));
    buf_add_fmt(&at, "%s/" STR_FMT, folder, STR_ARG(name));
    (void)!symlink(to.at, at.at);                                /* on failure, loading reports what is missing */
    buf_clear(&to);
    buf_clear(&at);
}

static void link_neighbours(const TestPlace *place, const char *folder) {
    const Settings *s = &place->project->settings;
    if (place->below[0]) return;                                 /* its neighbours were copied with it */
    for (size_t i = 0; i < s->artifact_roots.n; i++) link_neighbour(place, folder, s->artifact_roots.at[i]);
    Value *roots = value_is_dict(s->sandbox) ? dict_find_str(value_dict(s->sandbox), STR("read_roots")) : NULL;
    for (uint32_t i = 0; roots && value_is_list(*roots) && i < value_list(*roots)->n; i++)
        if (value_is_string(value_list(*roots)->at[i])) link_neighbour(place, folder, value_str(value_list(*roots)->at[i]));
}

static const TestDef *find_test(const Project *p, Str file) {
    for (size_t i = 0; i < p->n_tests; i++)
        if (str_eq(p->tests[i].origin.file, file)) return &p->tests[i];
    return NULL;
}

static void run_test(const TestPlace *place, const TestRun *r, Runtime *rt, Buf *out) {
    Error err = { 0 };
    Trial trial = { 0 };
    RunConfig rc = { .no_store = true };
    EventSink sink;
    if (place->events >= 0) {
        sink = event_sink_lines(place->events, false);
        rc.sinks = &sink;
        rc.n_sinks = 1;
    }
    const TestDef *def = find_test(runtime_project(rt), r->def->origin.file);
    bool ok = def && guard_trial_is(def) ? guard_trial_run(rt, def, &trial, &err)
            : def ? trial_run(rt, def, &rc, NULL, &trial, &err) : error_set(&err, ERR_CONFIG, "the test is not in the copy of the workspace");
    for (size_t i = 0; i < trial.failures.n; i++)
        add_failure(out, trial.failures.at[i].check, trial.failures.at[i].expected, trial.failures.at[i].got);
    if (!ok) add_error(out, &err);
    trial_clear(&trial);
}

/* Servers that a test needs: the one of its call, else all, since a model is offered the tools of each. */
static void list_servers(McpRemotes *servers, const TestDef *def) {
    Value *call = def && value_is_dict(def->root) ? dict_find_str(value_dict(def->root), STR("call")) : NULL;
    Value *tool = call && value_is_dict(*call) ? dict_find_str(value_dict(*call), STR("tool")) : NULL;
    if (tool && value_is_string(*tool)) mcp_remotes_list_for(servers, value_str(*tool), NULL);
    else mcp_remotes_list(servers, NULL);
}

/* Servers run as usual: what they write goes into the copy, and there is no store. */
static McpRemotes *run_with_servers(const TestPlace *place, const TestRun *r, Runtime *rt, Buf *out) {
    McpRemotesConfig config = { .program = harness_version() };
    McpRemotes *servers = NULL;
    Error err = { 0 };
    if (!mcp_remotes_new(rt, &config, &servers, &err)) return add_error(out, &err), NULL;
    list_servers(servers, find_test(runtime_project(rt), r->def->origin.file));
    run_test(place, r, rt, out);
    mcp_remotes_stop(servers);
    return servers;
}

static void open_and_run(const TestPlace *place, const TestRun *r, const char *dir, Buf *out) {
    Error err = { 0 };
    Problems problems = { 0 };
    RuntimeConfig config = place->config;
    Runtime *rt = NULL;
    config.dir = dir;
    config.config = place->project_file;
    config.ephemeral = true;
    config.trusted = true;               /* the project was trusted, and this is its copy */
    if (runtime_open(&config, &rt, &problems, &err)) {
        McpRemotes *servers = run_with_servers(place, r, rt, out);
        runtime_close(rt);
        mcp_remotes_free(servers);
    } else if (err.kind != ERR_NONE) {
        add_error(out, &err);
    } else {
        Buf text = { 0 };
        for (size_t i = 0; i < problems.n; i++) {
            if (problems.at[i].severity != PROBLEM_ERROR) continue;
            buf_reset(&text);
            problem_format(&problems.at[i], &text);
            add_failure(out, STR("test"), STR(""), buf_str(&text));
        }
        buf_clear(&text);
    }
    problems_clear(&problems);
}

static void write_report(int fd, Str text) {
    while (text.n) {
        ssize_t n = write(fd, text.at, text.n);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return;
        text = str_sub(text, (size_t)n, text.n);
    }
}

void test_suite_child(const TestPlace *place, const TestRun *r, int report) {
    Buf copy = { 0 }, dir = { 0 }, out = { 0 };
    Error err = { 0 };
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setenv("HARNESS_OFFLINE", "1", 1);                           /* no test may use a model over the network */
    buf_add_fmt(&copy, "%s/%s", r->folder, place->name);
    buf_add_fmt(&dir, "%s%s%s", copy.at, place->below[0] ? "/" : "", place->below);
    buf_add_char(&out, '[');
    Copying c = { place, r->folder, copy.at };
    if (!record_copy(&(RecordCopying){ place->project->root.at, place->source, copy.at, false }, copy_workspace, &c, &err)
        || (chdir(dir.at) != 0 && !error_set(&err, ERR_IO, "%s: %m", dir.at))) add_error(&out, &err);
    else link_neighbours(place, r->folder), open_and_run(place, r, dir.at, &out);
    buf_add_char(&out, ']');
    write_report(report, buf_str(&out));
    close(report);
    buf_clear(&copy);
    buf_clear(&dir);
    buf_clear(&out);
    exit(0);
}
