#include "cli/listing.h"
#include "cli/look.h"
#include "cli/report.h"
#include "tool/builtin/builtin.h"
#include "value/json.h"

/* Pretty-prints the schema for display. */
static bool add_schema(Cli *cli, Str text, Error *err) {
    Heap *heap = heap_new(0);
    Value v;
    bool ok = true;
    if (cli->json) buf_add(&cli->out, text);
    else ok = json_read(heap, text, &(JsonRead){ 0 }, &v, err) && json_write(&cli->out, v, &(JsonWrite){ .indent = 2 }, err);
    buf_add_char(&cli->out, '\n');
    heap_free(heap);
    return ok;
}

static bool add_mcp(Cli *cli, const Project *p, const Policy *policy, Error *err) {
    Buf text = { 0 };
    bool ok = listing_mcp(&text, p, policy, err) && add_schema(cli, buf_str(&text), err);
    buf_clear(&text);
    return ok;
}

/* The tools in the first request of the project's agent. */
static int show_request(Cli *cli, const char *format) {
    Look look;
    Error err = { 0 };
    int status = look_open(&look, cli);
    if (status < 0) {
        Heap *heap = heap_new(0);
        List *tools;
        Buf text = { 0 };
        bool ok = session_tools(look.session, heap, &tools, &err) && model_write_tools(format, tools, &text, &err) && add_schema(cli, buf_str(&text), &err);
        status = ok ? CLI_OK : cli_fail(cli, CLI_FAILED, &err);
        report_nothing(cli, runtime_project(look.opening.rt));
        buf_clear(&text);
        heap_free(heap);
    }
    look_close(&look);
    return status;
}

/* Lists hidden tools last, each with the rule that hides it (-v), so that the user learns why a tool is missing. */
static void add_verbose(Cli *cli, const Project *p, const Policy *policy) {
    Buf *out = &cli->out;
    size_t shown = 0, hidden = 0;
    for (size_t i = 0; i < p->n_tools; i++) {
        if (!listing_shown(&p->tools[i], policy)) continue;
        if (shown++) buf_add_char(out, '\n');
        listing_tool(out, &p->tools[i], false, cli->color_out);
    }
    for (size_t i = 0; i < p->n_tools; i++) {
        Str rule = p->tools[i].agent.n ? STR("") : listing_hidden_by(&p->tools[i], policy);
        if (!rule.n) continue;
        if (!hidden++) buf_add(out, shown ? STR("\nhidden\n") : STR("hidden\n"));
        buf_add_fmt(out, "  " STR_FMT "  ", STR_ARG(p->tools[i].name));
        cli_escape(out, rule, false);
        buf_add_char(out, '\n');
    }
}

static bool add_all(Cli *cli, const Project *p, const Policy *policy, Error *err) {
    bool ok = true;
    if (args_value(&cli->args, "--format")) ok = add_mcp(cli, p, policy, err);
    else if (cli->json) ok = listing_json_tools(&cli->out, p, policy, err), buf_add_char(&cli->out, '\n');
    else if (args_has(&cli->args, "--verbose")) add_verbose(cli, p, policy);
    else listing_tools(&cli->out, p, policy, 0, cli->color_out);
    return ok;
}

int command_tools(Cli *cli) {
    const char *format = args_value(&cli->args, "--format");
    if (format && strcmp(format, "mcp") != 0) return show_request(cli, format);
    Error err = { 0 };
    Policy *policy = NULL;
    Project *p = report_project(cli);
    if (!p) return CLI_FAILED;
    Heap *heap = heap_new(0);
    Opening o;
    int status = opening_show_servers(&o, cli, p);
    bool ok = status < 0 && builtin_append(p, heap, &err) && policy_new(p, &policy, &err) && add_all(cli, p, policy, &err);
    policy_free(policy);
    report_nothing(cli, p);
    project_free(p);
    opening_close(&o);
    heap_free(heap);
    if (status >= 0) return status;
    return ok ? CLI_OK : cli_fail(cli, CLI_FAILED, &err);
}
