/* One hook process, from start to end. Everything that fails refuses the call. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/random.h"
#include "guard/judge.h"
#include "guard/session.h"
#include "store/store_decision.h"

/* ---- arguments ---- */

typedef struct Arguments { const char *vendor, *project, *event; } Arguments;

static const char *const subcommands[] = { "log", "replay", "install", "uninstall", "doctor", "export", "--help", "-h" };

bool guard_is_hook(int argc, char **argv) {
    if (argc < 3 || strcmp(argv[1], "guard") != 0) return false;
    for (size_t i = 0; i < sizeof subcommands / sizeof *subcommands; i++)
        if (strcmp(argv[2], subcommands[i]) == 0) return false;
    for (int i = 3; i < argc; i++)
        if (strcmp(argv[i], "--help") == 0) return false;
    return true;
}

static bool take_flag(const char *name, int argc, char **argv, int *i, const char **out, Error *err) {
    size_t n = strlen(name);
    if (strncmp(argv[*i], name, n) != 0 || (argv[*i][n] && argv[*i][n] != '=')) return false;
    if (argv[*i][n] == '=') return *out = argv[*i] + n + 1, true;
    if (*i + 1 >= argc) return error_set(err, ERR_VALIDATION, "%s needs a value", name), true;
    *out = argv[++*i];
    return true;
}

static bool read_arguments(int argc, char **argv, Arguments *out, Error *err) {
    for (int i = 0; i < argc && err->kind == ERR_NONE; i++) {
        if (take_flag("--project", argc, argv, &i, &out->project, err) || take_flag("--event", argc, argv, &i, &out->event, err)) continue;
        if (argv[i][0] == '-') error_set(err, ERR_VALIDATION, "unknown flag \"%.100s\"", argv[i]);
        else if (out->vendor) error_set(err, ERR_VALIDATION, "unexpected argument \"%.100s\"", argv[i]);
        else out->vendor = argv[i];
    }
    return err->kind == ERR_NONE;
}

static bool find_vendor(const char *name, Vendor *out, Error *err) {
    size_t n = 0;
    *out = VENDOR_HARNESS;
    if (!name) return error_set(err, ERR_VALIDATION, "the name of the agent is missing");
    if (strcmp(name, "auto") == 0) return true;
    if (vendor_find(str_from(name), out) && *out != VENDOR_HARNESS) return true;
    *out = VENDOR_HARNESS;
    const Str *names = vendor_list(&n);
    error_set(err, ERR_VALIDATION, "unknown agent \"%.100s\"", name);
    Str near = str_nearest(str_from(name), names, n);
    return near.n && !str_eq(near, STR("harness")) ? error_hint(err, "did you mean \"" STR_FMT "\"?", STR_ARG(near)) : false;
}

/* ---- input ---- */

static bool read_input(Buf *out, Error *err) {
    enum { PIECE = 64 << 10 };
    for (;;) {
        ssize_t n = read(STDIN_FILENO, buf_room(out, PIECE), PIECE);
        if (n == 0) return true;
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return error_set(err, ERR_IO, "standard input: %m");
        buf_commit(out, (size_t)n);
        if (out->n > GUARD_INPUT_MAX) return error_set(err, ERR_LIMIT, "the envelope is longer than %d bytes", GUARD_INPUT_MAX);
    }
}

/* ---- answering ---- */

enum { STORE_WAIT_MS = 200 };

static void say(const char *what, const Error *err) {
    char text[ERROR_MSG_MAX + ERROR_FILE_MAX + ERROR_HINT_MAX + 64];
    Buf line = { 0 };
    error_format(err, text, sizeof text);
    buf_add_fmt(&line, "harness guard: %s: ", what);
    guard_reason_clean(str_from(text), &line);
    buf_add_char(&line, '\n');
    (void)!write(STDERR_FILENO, line.at, line.n);
    buf_clear(&line);
}

/* Without a call id of the vendor, every decision is a new one. */
static Str call_id(const GuardEnvelope *e, char room[40]) {
    if (e->call_id.n) return e->call_id;
    snprintf(room, 40, "#%016llx", (unsigned long long)random_u64());
    return str_from(room);
}

static bool store_ruling(GuardSession *s, const GuardEnvelope *e, const GuardRuling *r, GuardVerdict answered, Error *err) {
    char room[40];
    bool fresh = false;
    Store *store = guard_session_store(s, err);
    if (!store) return false;
    store_decision_wait(store, STORE_WAIT_MS);
    StoreDecision d = { .vendor = str_from(vendor_name(e->vendor)), .session = e->session, .call = call_id(e, room), .event = e->event_name, .tool = r->tool,
                        .vendor_tool = r->vendor_tool.at ? r->vendor_tool : STR(""), .subject = r->subject, .verdict = str_from(guard_verdict_name(answered)),
                        .rule = r->rule, .reason = buf_str(&r->reason), .root = guard_session_root(s) };
    Buf subject = { 0 }, reason = { 0 }, input = { 0 };
    guard_session_keep(s, e, &input);
    d.input = buf_str(&input);
    guard_session_redact(s, d.subject, &subject);
    guard_session_redact(s, d.reason, &reason);
    d.subject = buf_str(&subject);
    d.reason = buf_str(&reason);
    bool ok = store_decision_put(store, &d, &fresh, err) && guard_session_anchor(s, err);
    buf_clear(&subject);
    buf_clear(&reason);
    buf_clear(&input);
    return ok;
}

/* With guard.audit: required, stores the decision before answering; otherwise answers first, so that the agent does not wait for the store. */
static void finish(GuardSession *s, const GuardEnvelope *e, GuardRuling *r) {
    GuardAnswer a;
    Error err = { 0 };
    GuardVerdict answered = guard_answer(e, r->verdict, buf_str(&r->reason), r->changed, &a);
    bool decides = e->event != GUARD_EVENT_NOTE, required = guard_session_audits(s);
    if (required && decides && !store_ruling(s, e, r, answered, &err)) {
        guard_answer_clear(&a);
        guard_ruling_set(r, GUARD_DENY, STR("guard.audit"), "the decision could not be stored, and guard.audit is required: %s", err.msg);
        guard_answer(e, GUARD_DENY, buf_str(&r->reason), VALUE_GONE, &a);
        required = false;
        decides = false;
    }
    guard_fuse_write(&a);
    guard_answer_clear(&a);
    if (decides && !required && !store_ruling(s, e, r, answered, &err)) say("the decision could not be stored", &err);
}

/* Also logs refusals caused by a missing policy or a project that does not load. */
static void store_failure(const GuardEnvelope *e, const char *project, const char *why) {
    Arena arena = { 0 };
    GuardRoot root = { 0 };
    Buf path = { 0 };
    Store *store = NULL;
    Error err = { 0 };
    char room[40];
    bool fresh;
    if (!guard_root_find(e, project, &arena, &root, &err)) root = (GuardRoot){ 0 };
    StoreDecision d = { .vendor = str_from(vendor_name(e->vendor)), .session = e->session, .call = call_id(e, room), .event = e->event_name,
                        .vendor_tool = e->tool, .verdict = STR("deny"), .rule = STR("guard"), .reason = str_from(why), .root = root.path };
    bool ok = guard_session_store_path(root.project ? root.path : STR(""), &path, &err) && store_open(path.at, false, &store, &err);
    if (ok) {
        store_decision_wait(store, STORE_WAIT_MS);
        ok = store_decision_put(store, &d, &fresh, &err) && guard_session_anchor_store(store, path.at, &err);
    }
    if (!ok) say("the decision could not be stored", &err);
    store_close(store);
    buf_clear(&path);
    arena_clear(&arena);
}

/* Answers a failure before the session exists. Allows a stop that was refused once, because the agent would never end otherwise. */
static int refuse(const GuardEnvelope *e, const char *project, const Error *err) {
    char text[ERROR_MSG_MAX + ERROR_FILE_MAX + ERROR_HINT_MAX + 64];
    GuardAnswer a;
    bool pass = e->event == GUARD_EVENT_NOTE || (e->event == GUARD_EVENT_STOP && (e->stop_active || e->vendor == VENDOR_COPILOT));
    error_format(err, text, sizeof text);
    guard_answer(e, pass ? GUARD_PASS : GUARD_DENY, str_from(text), VALUE_GONE, &a);
    guard_fuse_write(&a);
    guard_answer_clear(&a);
    if (!pass && e->event != GUARD_EVENT_UNKNOWN) store_failure(e, project, text);
    return guard_fuse_status();
}

static int answer(const GuardEnvelope *e, const char *project, Heap *heap) {
    GuardSession *s = NULL;
    GuardRuling r;
    Error err = { 0 };
    guard_fuse_prepare(e);
    if (e->event == GUARD_EVENT_NOTE || (e->event == GUARD_EVENT_STOP && e->stop_active)) return refuse(e, project, &err);     /* passes */
    if (!guard_session_open(e, project, NULL, heap, &s, &err)) return refuse(e, project, &err);
    guard_session_judge(s, &r);
    finish(s, e, &r);
    guard_ruling_clear(&r);
    guard_session_close(s);
    return guard_fuse_status();
}

int guard_hook(int argc, char **argv) {
    Vendor vendor = VENDOR_HARNESS;
    Arguments args = { 0 };
    Error err = { 0 };
    Buf input = { 0 };
    for (int i = 0; i < argc && vendor == VENDOR_HARNESS; i++)
        if (!vendor_find(str_from(argv[i]), &vendor)) vendor = VENDOR_HARNESS;
    guard_fuse_arm(vendor, GUARD_DEADLINE_MS);
    Heap *heap = heap_new(0);
    GuardEnvelope e = { .vendor = vendor, .mismatch = true, .input = VALUE_GONE, .event_name = STR("") };
    bool ok = read_arguments(argc, argv, &args, &err) && find_vendor(args.vendor, &vendor, &err);
    if (ok) {
        ok = read_input(&input, &err);
        bool read = ok && guard_envelope_read(buf_str(&input), vendor, args.event ? str_from(args.event) : STR(""), heap, &e, &err);
        if (!ok) e = (GuardEnvelope){ .vendor = vendor, .event_name = STR(""), .input = VALUE_GONE, .camel = true };
        ok = ok && read;
    }
    if (!ok && e.event == GUARD_EVENT_UNKNOWN && !e.event_name.n && e.vendor != VENDOR_HARNESS) {       /* spelled as for its first event */
        const char *first = guard_vendor(e.vendor)->install;
        e.event_name = (Str){ first, strcspn(first, " ") };
        e.camel = true;
    }
    int status = ok ? answer(&e, args.project, heap) : refuse(&e, args.project, &err);
    heap_free(heap);
    buf_clear(&input);
    return status;
}
