/* harness mcp call SERVER|URL TOOL [JSON]: a server of the project through the whole pipeline, one at a URL
 * directly. */
#include "agent/session.h"
#include "cli/terminal/interrupt.h"
#include "cli/mcp_direct.h"
#include "mcp/remote/remotes.h"
#include "value/json.h"

enum { INPUT_MAX = 64 << 20 };

static bool read_arguments(Cli *cli, Buf *out, Error *err) {
    const char *given = cli->args.n_operands > 2 ? cli->args.operands[2] : "{}";
    if (strcmp(given, "-") == 0) return cli_read("-", INPUT_MAX, out, err);
    buf_add(out, str_from(given));
    return true;
}

/* ---- at a URL ---- */

/* A tool that is not in the list, or that the client had to remove, is not called. */
static const Value *find_tool(const List *tools, Str name) {
    for (uint32_t i = 0; i < tools->n; i++) {
        Value v = value_member(tools->at[i], "name");
        if (value_is_string(v) && str_eq(value_str(v), name)) return &tools->at[i];
    }
    return NULL;
}

static bool make_params(McpDirect *d, Value tool, Str name, Str arguments, Value *out, Error *err) {
    Value args, wants = value_member(value_member(tool, "execution"), "taskSupport");
    Dict *p = dict_new(d->heap, 3, err), *task = dict_new(d->heap, 1, err);
    if (!json_read(d->heap, arguments, &(JsonRead){ .reject_duplicates = true }, &args, err)) return error_wrap(err, "the arguments");
    if (!value_is_dict(args)) return error_set(err, ERR_VALIDATION, "the arguments must be an object");
    if (!p || !task || !dict_put_text(d->heap, p, "name", name, err) || !dict_put_str(d->heap, p, STR("arguments"), args, err)) return false;
    if (mcp_client_version(d->client) == MCP_2025_11_25 && value_is_string(wants) && str_eq(value_str(wants), STR("required"))
        && !dict_put_str(d->heap, p, STR("task"), value_from_object(task), err)) return false;
    return *out = value_from_object(p), true;
}

static void print_result(Cli *cli, Value result) {
    Value blocks = value_member(result, "content"), structured = value_member(result, "structuredContent");
    Error err;
    Buf *out = &cli->out;
    if (cli->json) {
        if (json_write(out, result, &(JsonWrite){ 0 }, &err)) buf_add_char(out, '\n');
        return;
    }
    if (!value_is_gone(structured) && json_write(out, structured, &(JsonWrite){ 0 }, &err)) {
        buf_add_char(out, '\n');
        return;
    }
    for (uint32_t i = 0; value_is_list(blocks) && i < value_list(blocks)->n; i++) {
        Value text = value_member(value_list(blocks)->at[i], "text");
        if (value_is_string(text)) cli_escape(out, value_str(text), true);
        else (void)json_write(out, value_list(blocks)->at[i], &(JsonWrite){ 0 }, &err);
        buf_add_char(out, '\n');
    }
}

static bool call_direct(Cli *cli, McpDirect *d, Str arguments, Cancel *cancel, bool *failed, Error *err) {
    Str name = str_from(cli->args.operands[1]);
    List *tools;
    Value params, result;
    bool sent;
    if (!mcp_direct_open(d, cli, cli->args.operands[0], cancel, err)
        || !mcp_client_list(d->client, STR("tools/list"), STR("tools"), cancel, d->heap, &tools, err)) return false;
    const Value *tool = find_tool(tools, name);
    if (!tool) return error_set(err, ERR_PROTOCOL, "the server has no tool \"" STR_FMT "\" that can be used", STR_ARG(name));
    if (!make_params(d, *tool, name, arguments, &params, err)
        || !mcp_client_request(d->client, STR("tools/call"), params, NULL, cancel, d->heap, &result, &sent, err)) return false;
    print_result(cli, result);
    Value error = value_member(result, "isError");
    *failed = value_is_bool(error) && value_bool(error);
    return true;
}

static int direct(Cli *cli, Str arguments) {
    McpDirect d = { 0 };
    Error err = { 0 };
    bool failed = false;
    Cancel *cancel = cancel_new(NULL, 0);
    Interrupt *interrupt = interrupt_start(cancel);
    bool ok = call_direct(cli, &d, arguments, cancel, &failed, &err);
    mcp_direct_redact(&d, &cli->out, &err);
    mcp_direct_close(&d);
    bool stopped = interrupt_stop(interrupt);
    cancel_free(cancel);
    if (ok) return failed ? CLI_FAILED : CLI_OK;
    return stopped ? CLI_INTERRUPTED : cli_fail(cli, err.kind == ERR_VALIDATION ? CLI_WRONG_USE : CLI_FAILED, &err);
}

/* ---- of the project ---- */

/* Checked first: as a tool's name it would only be reported as an unknown tool. */
static bool has_server(const Project *p, Str name, Error *err) {
    for (size_t i = 0; i < p->n_servers; i++)
        if (str_eq(p->servers[i].name, name)) return true;
    return error_set(err, ERR_VALIDATION, "no MCP server is named \"" STR_FMT "\" (see harness mcp list)", STR_ARG(name));
}

static int call_in(Cli *cli, Opening *o, Str arguments) {
    Error err = { 0 };
    RunConfig config = { 0 };
    Run *run;
    Result r = { 0 };
    Buf name = { 0 };
    if (!has_server(runtime_project(o->rt), str_from(cli->args.operands[0]), &err)) return cli_fail(cli, CLI_FAILED, &err);
    opening_run_config(o, &config);
    config.person = mcp_direct_person(cli, config.person);
    if (!run_start(o->rt, &config, &run, &err)) return cli_fail(cli, CLI_FAILED, &err);
    Interrupt *interrupt = interrupt_start(run_cancel(run));
    interrupt_runtime(interrupt, o->rt);
    buf_add_fmt(&name, "mcp:%s:%s", cli->args.operands[0], cli->args.operands[1]);
    mcp_remotes_list_for(o->servers, buf_str(&name), run_cancel(run));
    bool ok = tool_call(run, &(Call){ .name = buf_str(&name), .arguments = arguments, .wait = true }, NULL, &r, &err);
    int status = ok && !r.is_error ? CLI_OK : CLI_FAILED;
    if (ok && cli->json) result_write_json(&cli->out, &r);
    else if (ok) result_write_value(&cli->out, &r);
    if (ok) buf_add_char(&cli->out, '\n');
    result_clear(&r);
    bool interrupted = interrupt_stop(interrupt);        /* before run_end(): the handler fires the run's token, which run_end() frees */
    bool ended = run_end(run, status == CLI_OK ? RUN_COMPLETED : RUN_FAILED, ok ? &err : NULL);
    if (!ok || !ended) status = cli_fail(cli, CLI_FAILED, &err);
    buf_clear(&name);
    return interrupted ? CLI_INTERRUPTED : status;
}

/* With agents: a server may use the project's model for sampling. */
static int configured(Cli *cli, Str arguments) {
    Opening o;
    Agents *agents = NULL;
    Error err = { 0 };
    int status = opening_open(&o, cli, NULL);
    if (status < 0 && !agent_set_new(o.rt, &(AgentsConfig){ 0 }, &agents, &err)) status = cli_fail(cli, CLI_FAILED, &err);
    if (status < 0) status = call_in(cli, &o, arguments);
    agent_set_free(agents);
    opening_close(&o);
    return status;
}

int command_mcp_call(Cli *cli) {
    Buf arguments = { 0 };
    Error err = { 0 };
    int status = CLI_FAILED;
    if (!read_arguments(cli, &arguments, &err)) cli_fail(cli, CLI_FAILED, &err);
    else status = mcp_direct_is_url(cli->args.operands[0]) ? direct(cli, buf_str(&arguments)) : configured(cli, buf_str(&arguments));
    buf_clear(&arguments);
    return status;
}
