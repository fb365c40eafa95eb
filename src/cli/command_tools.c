#include "cli/listing.h"
#include "cli/opening.h"
#include "cli/report.h"
#include "tool/builtin.h"
#include "value/json.h"

/* For a person the schema is spread over lines: the same text, read and written again. */
static bool add_schema(Cli *cli, const Project *p, const Policy *policy, const char *format, Error *err) {
    Buf text = { 0 };
    Heap *heap = heap_new(0);
    Value v;
    bool ok = listing_schema(&text, p, policy, format, err);
    if (ok && cli->json) buf_add(&cli->out, buf_str(&text));
    else if (ok)
        ok = json_read(heap, buf_str(&text), &(JsonRead){ 0 }, &v, err) && json_write(&cli->out, v, &(JsonWrite){ .indent = 2 }, err);
    buf_add_char(&cli->out, '\n');
    heap_free(heap);
    buf_clear(&text);
    return ok;
}

/* Hidden ones last, each with its rule: -v is for whoever wonders where a tool is. */
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
    const char *format = args_value(&cli->args, "--format");
    bool ok = true;
    if (format) ok = add_schema(cli, p, policy, format, err);
    else if (cli->json) ok = listing_json_tools(&cli->out, p, policy, err), buf_add_char(&cli->out, '\n');
    else if (args_has(&cli->args, "--verbose")) add_verbose(cli, p, policy);
    else listing_tools(&cli->out, p, policy, 0, cli->color_out);
    return ok;
}

int command_tools(Cli *cli) {
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
