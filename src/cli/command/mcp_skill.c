/* harness mcp skill SERVER|URL URI: prints one file of a skill, verified against the server's list. */
#include "base/base64.h"
#include "base/utf8.h"
#include "cli/terminal/interrupt.h"
#include "cli/mcp_direct.h"
#include "mcp/remote/remotes.h"
#include "mcp/remote/skill.h"
#include "value/json.h"

typedef struct Asking { Cli *cli; McpDirect direct; Opening open; Cancel *cancel; bool is_url; } Asking;

static bool request(void *ctx, Str method, Value params, Heap *heap, Value *out, Error *err) {
    Asking *a = ctx;
    bool sent;
    if (a->is_url) return mcp_client_request(a->direct.client, method, params, NULL, a->cancel, heap, out, &sent, err);
    return mcp_remotes_request(a->open.servers, str_from(a->cli->args.operands[0]), method, params, a->cancel, heap, out, err);
}

static void print(Cli *cli, Str uri, Str bytes) {
    if (!cli->json) {
        cli_add_bytes(cli, bytes);
        return;
    }
    Buf blob = { 0 };
    bool plain = utf8_valid(bytes);
    if (!plain) base64_encode(bytes, &blob);
    buf_add(&cli->out, STR("{\"uri\":"));
    json_write_string(&cli->out, uri, false);
    buf_add_fmt(&cli->out, ",\"%s\":", plain ? "text" : "blob");
    json_write_string(&cli->out, plain ? bytes : buf_str(&blob), false);
    buf_add(&cli->out, STR("}\n"));
    buf_clear(&blob);
}

int command_mcp_skill(Cli *cli) {
    const char *who = cli->args.operands[0];
    Str uri = str_from(cli->args.operands[1]);
    Asking a = { .cli = cli, .open = { .events = -1 }, .is_url = mcp_direct_is_url(who) };
    Error err = { 0 };
    int status = a.is_url ? -1 : opening_open(&a.open, cli, NULL);
    if (status < 0) {
        Heap *heap = heap_new(0);
        Buf bytes = { 0 };
        a.cancel = cancel_new(NULL, 0);
        Interrupt *interrupt = interrupt_start(a.cancel);
        interrupt_runtime(interrupt, a.is_url ? NULL : a.open.rt);
        bool ok = (!a.is_url || mcp_direct_open(&a.direct, cli, who, a.cancel, &err)) && skill_read(&(SkillServer){ request, &a }, uri, heap, &bytes, &err);
        if (ok) print(cli, uri, buf_str(&bytes));
        mcp_direct_close(&a.direct);
        bool stopped = interrupt_stop(interrupt);
        cancel_free(a.cancel);
        status = ok ? CLI_OK : stopped ? CLI_INTERRUPTED : cli_fail(cli, CLI_FAILED, &err);
        buf_clear(&bytes);
        heap_free(heap);
    }
    opening_close(&a.open);
    return status;
}
