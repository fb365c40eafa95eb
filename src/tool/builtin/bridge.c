/* The tools notify, show_dialog and show_file_picker. */
#include "tool/bridge/bridge.h"
#include "base/clock.h"
#include "base/utf8.h"
#include "tool/builtin/builtin.h"
#include "tool/builtin/glob_files.h"
#include "tool/pipeline/pipe.h"
#include "value/list.h"

/* A question that is being prepared. */
typedef struct Asking {
    ToolCallFrame *f;
    Arena arena;
    BridgeAsk ask;
    const BridgePlace *place;
    BridgeAnswer answer;
} Asking;

/* ---- texts ---- */

/* Redacted and escaped; `lines`: may have several. */
static Str safe_text(Asking *a, Str text, bool lines) {
    Buf hidden = { 0 }, shown = { 0 };
    buf_add(&hidden, text);
    pipe_redact_text(a->f->host->call, &hidden);
    utf8_escape(buf_str(&hidden), lines, &shown);
    Str out = arena_str(&a->arena, buf_str(&shown));
    buf_clear(&hidden);
    buf_clear(&shown);
    return out;
}

/* Names the asker. The main agent of a project has no name; calls of the user or an MCP client have no agent. */
static Str label_of(Asking *a) {
    const ToolCallFrame *f = a->f;
    const RunConfig *c = &f->run->config;
    Str agent = f->call->agent.n ? f->call->agent : c->agent;
    if (!agent.n) return c->person_itself || c->served ? STR("harness") : STR("harness agent");
    Str safe = safe_text(a, str_sub(agent, 0, 100), false);
    return str_from(arena_fmt(&a->arena, "agent " STR_FMT, STR_ARG(safe)));
}

static void start(Asking *a, ToolCallFrame *f, BridgeKind kind, const char *text) {
    *a = (Asking){ .f = f };
    a->ask = (BridgeAsk){ .kind = kind, .label = label_of(a), .title = safe_text(a, builtin_arg_text(f, "title", STR("Select a file")), false),
                          .text = safe_text(a, builtin_arg_text(f, text, STR("")), true), .folder = arena_str(&a->arena, f->host->workspace), .ctx = a };
}

static void end(Asking *a) {
    bridge_answer_clear(&a->answer);
    arena_clear(&a->arena);
}

static bool take_turn(Asking *a, Error *err) {
    Run *r = a->f->run;
    pthread_mutex_lock(&r->lock);
    bool ok = bridge_rate(&r->bridge_rate, clock_mono_ns(), err);
    pthread_mutex_unlock(&r->lock);
    return ok;
}

static bool show(Asking *a, Error *err) {
    a->place = bridge_place(a->f, &a->ask, err);
    if (!a->place || !take_turn(a, err) || !bridge_show(a->f, a->place, &a->ask, &a->answer, err)) return false;
    if (a->answer.place) a->place = a->answer.place;
    return true;
}

static bool put_place(Asking *a, Dict *d, Error *err) {
    a->f->value = value_from_object(d);
    return dict_put_text(a->f->heap, d, "place", str_from(a->place->name), err);
}

/* ---- notify ---- */

static bool run_notify(ToolCallFrame *f, Error *err) {
    Asking a;
    start(&a, f, BRIDGE_NOTIFY, "body");
    Dict *d = dict_new(f->heap, 2, err);
    bool ok = d && show(&a, err) && dict_put_str(f->heap, d, STR("shown"), value_from_bool(true), err) && put_place(&a, d, err);
    end(&a);
    return ok;
}

/* ---- show_dialog ---- */

/* Rejects two labels that look alike after escaping. */
static bool take_buttons(Asking *a, Error *err) {
    Value v = builtin_arg(a->f, "buttons");
    size_t n = value_is_list(v) && value_list(v)->n ? value_list(v)->n : 1;
    Str *out = ARENA_ARRAY(&a->arena, Str, n);
    for (size_t i = 0; i < n; i++) {
        out[i] = value_is_list(v) && i < value_list(v)->n ? safe_text(a, str_trim(value_str(value_list(v)->at[i])), false) : STR("OK");
        if (!out[i].n) return error_set(err, ERR_VALIDATION, "buttons[%zu] is empty", i);
        if (str_among(out[i], out, i)) return error_set(err, ERR_VALIDATION, "buttons[%zu]: \"" STR_FMT "\" occurs twice", i, STR_ARG(out[i]));
    }
    a->ask.buttons = out;
    a->ask.n_buttons = n;
    return true;
}

static bool give_button(Asking *a, Error *err) {
    Heap *h = a->f->heap;
    Value given = builtin_arg(a->f, "buttons");
    Dict *d = dict_new(h, 3, err);
    if (!d) return false;
    /* The label as the caller wrote it, not as it was shown. */
    Value label = VALUE_NONE;
    if (!a->answer.closed && value_is_list(given) && a->answer.button < value_list(given)->n) label = value_list(given)->at[a->answer.button];
    else if (!a->answer.closed && !kind_text_value(h, a->ask.buttons[a->answer.button], &label, err)) return false;
    return dict_put_str(h, d, STR("button"), label, err) && dict_put_str(h, d, STR("closed"), value_from_bool(a->answer.closed), err) && put_place(a, d, err);
}

static bool run_dialog(ToolCallFrame *f, Error *err) {
    Asking a;
    start(&a, f, BRIDGE_DIALOG, "message");
    bool ok = take_buttons(&a, err) && show(&a, err) && give_button(&a, err);
    end(&a);
    return ok;
}

/* ---- show_file_picker ---- */

static bool check_file(void *ctx, Str path, bool outside, Error *err) {
    Asking *a = ctx;
    Arena arena = { 0 };
    BridgeFile file;
    bool ok = bridge_file_check(a->f, path, outside, a->ask.globs, a->ask.n_globs, &arena, &file, err);
    arena_clear(&arena);
    return ok;
}

/* The newest matching files of the workspace. If it cannot be listed, there are none, and the user can still type a path. */
static void offer_files(Asking *a) {
    Buf pattern = { 0 };
    GlobFilesResult r = { 0 };
    Error ignored = { 0 };
    buf_add(&pattern, STR("**/"));
    if (a->ask.n_globs > 1) buf_add_char(&pattern, '{');
    for (size_t i = 0; i < a->ask.n_globs; i++) buf_add_fmt(&pattern, "%s" STR_FMT, i ? "," : "", STR_ARG(a->ask.globs[i]));
    buf_add(&pattern, a->ask.n_globs > 1 ? STR("}") : a->ask.n_globs ? STR("") : STR("*"));
    BuiltinStart s;
    if (builtin_start_open(a->f, &a->arena, &s, &ignored)) {
        GlobFilesInput in = { .root = s.root, .start = s.start, .pattern = buf_str(&pattern), .limit = BRIDGE_OFFERED_MAX,
                              .may_see = builtin_may_see, .state = &s };
        if (glob_files(&in, a->f->cancel, &a->arena, &r, &ignored)) {
            Str *names = ARENA_ARRAY(&a->arena, Str, r.n);
            for (size_t i = 0; i < r.n; i++) names[i] = r.files[i].path;
            a->ask.files = names;
            a->ask.n_files = r.n;
            a->ask.more_files = r.truncated;
        }
        builtin_start_close(&s);
    }
    buf_clear(&pattern);
}

/* All files are checked before the first one is granted. */
static bool take_files(Asking *a, Error *err) {
    ToolCallFrame *f = a->f;
    const BridgeAnswer *answer = &a->answer;
    size_t n = answer->closed ? 0 : answer->n_files;
    BridgeFile *files = ARENA_ARRAY(&a->arena, BridgeFile, n + 1);
    List *names = list_new(f->heap, n, err);
    Value name;
    if (!names) return false;
    if (n > 1 && !a->ask.multiple) return error_set(err, ERR_PROTOCOL, "%zu files were picked instead of one", n);
    for (size_t i = 0; i < n; i++)
        if (!bridge_file_check(f, answer->files[i], a->place->outside, a->ask.globs, a->ask.n_globs, &a->arena, &files[i], err)) return false;
    for (size_t i = 0; i < n; i++)
        if (!bridge_file_grant(f, &files[i], a->place->name, err) || !kind_text_value(f->heap, files[i].name, &name, err) ||
            !list_push(f->heap, names, name, err)) return false;
    return f->value = value_from_object(names), true;
}

static bool run_picker(ToolCallFrame *f, Error *err) {
    Asking a;
    Str *globs = NULL;
    start(&a, f, BRIDGE_PICK, "");
    a.ask.multiple = builtin_arg_flag(f, "multiple");
    a.ask.check = check_file;
    bool ok = bridge_globs(builtin_arg_text(f, "filter", STR("")), &a.arena, &globs, &a.ask.n_globs, err);
    a.ask.globs = globs;
    if (ok) offer_files(&a);
    ok = ok && show(&a, err) && take_files(&a, err);
    end(&a);
    return builtin_end(f, ok, err);
}

#define TITLE "\"title\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":100,\"description\":\"One line.\"}"

const BuiltinDef builtin_bridge[] = {
    { .name = "notify", .title = "Notify the user", .bridge = true, .parallel_safe = true,
      .description = "Shows the user a short notification and does not wait for an answer.",
      .parameters = "{\"type\":\"object\",\"properties\":{" TITLE ","
                    "\"body\":{\"type\":\"string\",\"maxLength\":1000,\"default\":\"\",\"description\":\"The text below the title.\"}},"
                    "\"required\":[\"title\"],\"additionalProperties\":false}",
      .output = "{\"type\":\"object\",\"properties\":{\"shown\":{\"type\":\"boolean\"},\"place\":{\"type\":\"string\"}},\"required\":[\"shown\",\"place\"]}",
      .execute = run_notify },
    { .name = "show_dialog", .title = "Ask the user with a dialog", .bridge = true,
      .description = "Shows the user a dialog with buttons and waits for one of them. `button` is the label of the pressed one, or null with `closed` when the user "
                     "closed the dialog. The answer is information; it does not approve any call.",
      .parameters = "{\"type\":\"object\",\"properties\":{" TITLE ","
                    "\"message\":{\"type\":\"string\",\"maxLength\":2000,\"default\":\"\",\"description\":\"The question, in a few lines.\"},"
                    "\"buttons\":{\"type\":\"array\",\"minItems\":1,\"maxItems\":5,\"uniqueItems\":true,\"default\":[\"OK\"],\"items\":{\"type\":\"string\","
                    "\"minLength\":1,\"maxLength\":40},\"description\":\"Labels of the buttons, from left to right.\"}},"
                    "\"required\":[\"title\"],\"additionalProperties\":false}",
      .output = "{\"type\":\"object\",\"properties\":{\"button\":{\"type\":[\"string\",\"null\"]},\"closed\":{\"type\":\"boolean\"},\"place\":{\"type\":"
                "\"string\"}},\"required\":[\"button\",\"closed\",\"place\"]}",
      .execute = run_dialog },
    { .name = "show_file_picker", .title = "Let the user pick files", .bridge = true,
      .description = "Lets the user pick a file, or several, and returns the list of their paths, for `read`. An empty list: the user closed the picker. A file "
                     "outside the workspace that the user picked may be read, but not written.",
      .parameters = "{\"type\":\"object\",\"properties\":{"
                    "\"title\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":100,\"default\":\"Select a file\",\"description\":\"One line.\"},"
                    "\"multiple\":{\"type\":\"boolean\",\"default\":false,\"description\":\"More than one file may be picked.\"},"
                    "\"filter\":{\"type\":\"string\",\"maxLength\":200,\"description\":\"Patterns of file names, separated by commas: *.csv, *.tsv\"}},"
                    "\"additionalProperties\":false}",
      .execute = run_picker },
    { 0 },
};
