/* harness mcp request SERVER|URL METHOD [JSON]: sends one request unchanged, to examine a server. Tool calls go through
 * the pipeline instead: harness mcp call. */
#include "cli/terminal/interrupt.h"
#include "cli/mcp_direct.h"
#include "mcp/remote/remotes.h"
#include "value/json.h"

static bool read_params(Cli *cli, Heap *heap, Value *out, Error *err) {
    *out = VALUE_GONE;
    if (cli->args.n_operands < 3) return true;
    if (!json_read(heap, str_from(cli->args.operands[2]), &(JsonRead){ .reject_duplicates = true }, out, err)) return error_wrap(err, "the params");
    return value_is_dict(*out) || error_set(err, ERR_VALIDATION, "the params must be an object");
}

static bool send_direct(Cli *cli, Str method, Value params, Cancel *cancel, Heap *heap, Value *out, Error *err) {
    McpDirect d = { 0 };
    bool sent, ok = mcp_direct_open(&d, cli, cli->args.operands[0], cancel, err)
        && mcp_client_request(d.client, method, params, NULL, cancel, heap, out, &sent, err);
    Buf text = { 0 };
    if (ok && json_write(&text, *out, &(JsonWrite){ 0 }, err)) {
        mcp_direct_redact(&d, &text, err);
        ok = json_read(heap, buf_str(&text), &(JsonRead){ 0 }, out, err);
    } else {
        mcp_direct_redact(&d, &text, err);
    }
    buf_clear(&text);
    mcp_direct_close(&d);
    return ok;
}

static int print(Cli *cli, bool ok, Value result, bool stopped, Error *err) {
    ok = ok && json_write(&cli->out, result, &(JsonWrite){ .indent = cli->json ? 0 : 2 }, err);
    if (!ok) return stopped ? CLI_INTERRUPTED : cli_fail(cli, CLI_FAILED, err);
    buf_add_char(&cli->out, '\n');
    return CLI_OK;
}

int command_mcp_request(Cli *cli) {
    Str method = str_from(cli->args.operands[1]);
    bool direct = mcp_direct_is_url(cli->args.operands[0]);
    Error err = { 0 };
    Heap *heap = heap_new(0);
    Value params, result = VALUE_GONE;
    Opening o = { .events = -1 };
    int status = -1;
    if (!read_params(cli, heap, &params, &err)) status = cli_fail(cli, CLI_WRONG_USE, &err);
    else if (!direct && str_eq(method, STR("tools/call"))) {
        error_set(&err, ERR_VALIDATION, "tools of the project's servers are called by: harness mcp call %s TOOL JSON", cli->args.operands[0]);
        status = cli_fail(cli, CLI_WRONG_USE, &err);
    } else if (!direct) status = opening_open(&o, cli, NULL);
    if (status < 0) {
        Cancel *cancel = cancel_new(NULL, 0);
        Interrupt *interrupt = interrupt_start(cancel);
        interrupt_runtime(interrupt, direct ? NULL : o.rt);
        bool ok = direct ? send_direct(cli, method, params, cancel, heap, &result, &err)
                         : mcp_remotes_request(o.servers, str_from(cli->args.operands[0]), method, params, cancel, heap, &result, &err);
        bool stopped = interrupt_stop(interrupt);
        cancel_free(cancel);
        status = print(cli, ok, result, stopped, &err);
    }
    opening_close(&o);
    heap_free(heap);
    return status;
}
