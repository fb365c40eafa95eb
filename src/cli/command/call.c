/* harness call: one call through the whole pipeline, without a model. */
#include <unistd.h>
#include "agent/session.h"
#include "cli/detached.h"
#include "cli/terminal/interrupt.h"
#include "cli/opening.h"
#include "cli/report.h"
#include "tool/pipeline/call.h"
#include "tool/task/task.h"
#include "value/json.h"

enum { INPUT_MAX = 64 << 20 };

typedef struct Calling { Cli *cli; Opening open; Agents *agents; Buf arguments; Run *run; Detached detached; } Calling;

/* ---- flags ---- */

static bool session_flag(const Cli *cli, Str *out, Error *err) {
    Str s = str_from(args_value(&cli->args, "--session"));
    *out = s;
    if (!s.at) return true;
    for (size_t i = 0; i < s.n; i++)
        if (!strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-", s.at[i])) s.n = 0;
    return (s.n > 0 && s.n <= 64) || error_set(err, ERR_VALIDATION, "--session: must match [A-Za-z0-9_.-]{1,64}");
}

/* ---- arguments ---- */

static bool read_arguments(Calling *c, Error *err) {
    const Args *a = &c->cli->args;
    if (a->n_operands < 2) {
        buf_add(&c->arguments, STR("{}"));
        return true;
    }
    if (strcmp(a->operands[1], "-") == 0) return cli_read("-", INPUT_MAX, &c->arguments, err);
    buf_add(&c->arguments, str_from(a->operands[1]));
    return true;
}

static bool takes_text(const ToolEntry *e, Str key) {
    Value *properties = e && value_is_dict(e->def.parameters) ? dict_find_str(value_dict(e->def.parameters), STR("properties")) : NULL;
    Value *property = properties && value_is_dict(*properties) ? dict_find_str(value_dict(*properties), key) : NULL;
    Value *type = property && value_is_dict(*property) ? dict_find_str(value_dict(*property), STR("type")) : NULL;
    return type && value_is_string(*type) && str_eq(value_str(*type), STR("string"));
}

/* The value of --arg is a string if the parameter is one, else JSON if it parses as JSON. */
static bool put_argument(Heap *h, const ToolEntry *e, Dict *args, const char *given, Error *err) {
    const char *eq = strchr(given, '=');
    if (!eq || eq == given) return error_set(err, ERR_VALIDATION, "--arg: expected NAME=VALUE, got \"%s\"", given);
    Str key = { given, (size_t)(eq - given) }, text = str_from(eq + 1);
    Value v;
    Error bad;
    if (takes_text(e, key) || !json_read(h, text, &(JsonRead){ .reject_duplicates = true }, &v, &bad)) {
        String *s = string_new(h, text, err);
        if (!s) return false;
        v = value_from_object(s);
    }
    return dict_put_str(h, args, key, v, err);
}

static bool add_flags_to(Calling *c, Error *err) {
    const Args *a = &c->cli->args;
    if (!args_has(a, "--arg")) return true;
    Heap *h = heap_new(0);
    Value root;
    const ToolEntry *e = registry_find(runtime_registry(c->open.rt), str_from(a->operands[0]), NULL, 0);
    bool ok = json_read(h, buf_str(&c->arguments), &(JsonRead){ .reject_duplicates = true }, &root, err);
    if (ok && !value_is_dict(root)) ok = error_set(err, ERR_VALIDATION, "--arg needs arguments that are an object");
    for (size_t i = 0; ok && i < a->n_flags; i++)
        if (strcmp(a->flags[i].flag->name, "--arg") == 0) ok = put_argument(h, e, value_dict(root), a->flags[i].value, err);
    buf_reset(&c->arguments);
    ok = ok && json_write(&c->arguments, root, &(JsonWrite){ 0 }, err);
    heap_free(h);
    return ok;
}

/* ---- arguments that are not what the tool takes ---- */

/* Text that does not begin like an object is most often the value of one parameter, or NAME=VALUE. */
static void warn_not_object(Calling *c) {
    Str text = str_trim(buf_str(&c->arguments));
    if (!text.n || text.at[0] == '{' || text.at[0] == '[' || c->cli->json || text.n > 200 || memchr(text.at, '\n', text.n)) return;
    Buf line = { 0 };
    bool named = str_find_char(text, '=') > 0;
    buf_add_fmt(&line, "arguments are a JSON object, as in '{\"path\": \"x\"}'; or write --arg %s" STR_FMT, named ? "" : "NAME=", STR_ARG(text));
    cli_say(c->cli, SAY_HINT, buf_str(&line));
    buf_clear(&line);
}

static void say_unknown(Calling *c, Str tool, Str name, Str near) {
    Buf line = { 0 };
    buf_add_fmt(&line, STR_FMT " has no parameter \"" STR_FMT "\"", STR_ARG(tool), STR_ARG(name));
    if (near.n) buf_add_fmt(&line, " (did you mean \"" STR_FMT "\"?)", STR_ARG(near));
    else buf_add_fmt(&line, " (harness inspect " STR_FMT " lists them)", STR_ARG(tool));
    cli_say(c->cli, SAY_WARNING, buf_str(&line));
    buf_clear(&line);
}

/* An open schema accepts any argument. A name that it does not list is most often a misspelt one. */
static void warn_unknown(Calling *c) {
    enum { NAMES_MAX = 64 };
    const ToolEntry *e = registry_find(runtime_registry(c->open.rt), str_from(c->cli->args.operands[0]), NULL, 0);
    Value properties = e ? value_member(e->def.parameters, "properties") : VALUE_GONE;
    if (!value_is_dict(properties) || value_dict(properties)->n == 0 || c->cli->json || value_is_dict(value_member(e->def.parameters, "additionalProperties"))
        || value_is_dict(value_member(e->def.parameters, "patternProperties"))) return;
    Heap *h = heap_new(0);
    Value root;
    Error err = { 0 };
    Str names[NAMES_MAX];
    size_t n = 0;
    Entry *entry;
    for (uint32_t i = 0; n < NAMES_MAX && dict_next(value_dict(properties), &i, &entry);) names[n++] = value_str(entry->key);
    if (json_read(h, buf_str(&c->arguments), &(JsonRead){ 0 }, &root, &err) && value_is_dict(root))
        for (uint32_t i = 0; dict_next(value_dict(root), &i, &entry);)
            if (!dict_find_str(value_dict(properties), value_str(entry->key))) say_unknown(c, e->def.name, value_str(entry->key),
                str_nearest(value_str(entry->key), names, n));
    heap_free(h);
}

/* ---- trace ---- */

static void trace(void *ctx, CallStep step, int64_t ns, Str detail) {
    Calling *c = ctx;
    Buf line = { 0 };
    buf_add_fmt(&line, "%10.3f ms  %-9s ", (double)ns / 1e6, result_step_name(step));
    while (detail.n && (detail.at[detail.n - 1] == '\n' || detail.at[detail.n - 1] == ' ')) detail.n--;
    for (Str rest = detail, one; str_next_line(&rest, &one);) {
        if (one.at != detail.at) buf_add_fmt(&line, "\n%25s", "");
        for (ptrdiff_t tab; (tab = str_find_char(one, '\t')) >= 0; one = str_sub(one, (size_t)tab + 1, one.n)) {
            cli_escape(&line, str_sub(one, 0, (size_t)tab), false);
            buf_add(&line, STR(": "));
        }
        cli_escape(&line, one, false);
    }
    buf_add_char(&line, '\n');
    (void)cli_write(c->cli->log.fd, buf_str(&line), false);
    buf_clear(&line);
}

/* Without --trace: shows where a script failed unexpectedly. */
static void show_place(void *ctx, CallStep step, int64_t ns, Str detail) {
    Calling *c = ctx;
    Str place = { 0 }, why = { 0 }, line;
    (void)ns;
    if (step != STEP_TRACEBACK) return;
    while (str_next_line(&detail, &line)) {
        if (str_starts(line, STR("  "))) place = str_trim(line);
        if (str_starts(line, STR("Error: "))) why = str_sub(line, STR("Error: ").n, line.n);
    }
    Buf text = { 0 };
    buf_add_fmt(&text, STR_FMT ": " STR_FMT, STR_ARG(place), STR_ARG(why));
    if (place.n && !str_starts(why, STR("fail: "))) cli_say(c->cli, SAY_HINT, buf_str(&text));
    buf_clear(&text);
}

/* ---- the call ---- */

static void print(Cli *cli, const Run *run, const Result *r) {
    if (cli->json) {
        result_write_json(&cli->out, r);
        cli->out.n--;                                    /* its last brace */
        buf_add_fmt(&cli->out, ",\"run\":\"" STR_FMT "\"}", STR_ARG(run_id(run)));
    }
    else if (args_has(&cli->args, "--raw")) cli_add_bytes(cli, r->text);
    else result_write_value(&cli->out, r);
    buf_add_char(&cli->out, '\n');
}

/* The task continues in the background; the caller has its id and stops waiting. */
static bool leave(Calling *c, Error *err) {
    if (!task_detached_publish(c->run, err)) return false;
    bool told = cli_flush(c->cli);
    confirm_terminal_close(c->open.terminal);
    c->open.terminal = NULL;
    detached_leave(&c->detached, told ? CLI_OK : CLI_FAILED);
    return task_detached_finish(c->run);
}

static int call(Calling *c, Str session) {
    static const Person nobody = { 0 };                  /* no user is present once a task continues in the
                                                          * background */
    Cli *cli = c->cli;
    Error err = { 0 };
    RunConfig config = { .session = session, .person_itself = true };
    opening_run_config(&c->open, &config);
    if (!run_start(c->open.rt, &config, &c->run, &err)) return cli_fail(cli, CLI_FAILED, &err);
    Interrupt *interrupt = interrupt_start(run_cancel(c->run));
    interrupt_runtime(interrupt, c->open.rt);
    Call what = { .name = str_from(cli->args.operands[0]), .arguments = buf_str(&c->arguments), .wait = !args_has(&cli->args, "--no-wait"),
                  .task_person = &nobody };
    what.trace = args_has(&cli->args, "--trace") ? trace : show_place;
    what.trace_ctx = c;
    Result r = { 0 };
    int status = CLI_OK;
    bool ok = tool_call(c->run, &what, NULL, &r, &err);
    if (ok) {
        print(cli, c->run, &r);
        if (!cli->json && r.unknown_tool && r.nearest.n == 0 && cli_flush(cli))
            cli_say(cli, SAY_HINT, STR("list tools with: harness tools"));
        status = r.is_error ? CLI_FAILED : CLI_OK;
    }
    result_clear(&r);
    if (ok && c->detached.tell >= 0 && task_any(c->run) && !leave(c, &err)) {
        ok = err.kind == ERR_NONE;
        status = CLI_FAILED;
    }
    bool interrupted = interrupt_stop(interrupt);        /* before run_end(): the handler fires the run's token, which run_end() frees */
    bool ended = run_end(c->run, status == CLI_OK && ok ? RUN_COMPLETED : RUN_FAILED, ok ? &err : NULL);
    if (!ok || !ended) status = cli_fail(cli, CLI_FAILED, &err);
    return interrupted ? CLI_INTERRUPTED : status;
}

static int run(Calling *c) {
    Cli *cli = c->cli;
    Error err = { 0 };
    Str session;
    if (args_has(&cli->args, "--no-wait") && args_has(&cli->args, "--ephemeral"))
        error_set(&err, ERR_VALIDATION, "--no-wait cannot be used with --ephemeral: the result could not be queried");
    if (err.kind != ERR_NONE || !session_flag(cli, &session, &err)) return cli_fail(cli, CLI_WRONG_USE, &err);
    if (!read_arguments(c, &err)) return cli_fail(cli, CLI_FAILED, &err);
    int status = opening_open(&c->open, cli, NULL);
    if (status >= 0) return status;
    report_nothing(cli, runtime_project(c->open.rt));
    if (!agent_set_new(c->open.rt, &(AgentsConfig){ 0 }, &c->agents, &err)) return cli_fail(cli, CLI_FAILED, &err);   /* delegate is a tool too */
    mcp_remotes_list_for(c->open.servers, str_from(cli->args.operands[0]), NULL);
    if (!add_flags_to(c, &err)) return cli_fail(cli, CLI_WRONG_USE, &err);
    warn_not_object(c);
    warn_unknown(c);
    return call(c, session);
}

int command_call(Cli *cli) {
    Calling c = { .cli = cli, .open = { .events = -1 }, .detached = { -1, -1 } };
    int status;
    if (args_has(&cli->args, "--no-wait") && detached_start(&c.detached, cli, &status)) return status;
    status = run(&c);
    agent_set_free(c.agents);
    opening_close(&c.open);
    buf_clear(&c.arguments);
    detached_end(&c.detached);
    return status;
}
