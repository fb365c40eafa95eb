#include "cli/listing.h"
#include "cli/report.h"
#include "value/json.h"

/* For a person the schema is spread over lines: the same text, read and written again. */
static bool add_schema(Cli *cli, const Project *p, const char *format, Error *err) {
    Buf text = { 0 };
    Heap *heap = heap_new(0);
    Value v;
    bool ok = listing_schema(&text, p, format, err);
    if (ok && cli->json) buf_add(&cli->out, buf_str(&text));
    else if (ok)
        ok = json_read(heap, buf_str(&text), &(JsonRead){ 0 }, &v, err) && json_write(&cli->out, v, &(JsonWrite){ .indent = 2 }, err);
    buf_add_char(&cli->out, '\n');
    heap_free(heap);
    buf_clear(&text);
    return ok;
}

static void add_verbose(Cli *cli, const Project *p) {
    for (size_t i = 0, shown = 0; i < p->n_tools; i++) {
        if (p->tools[i].agent.n) continue;
        if (shown++) buf_add_char(&cli->out, '\n');
        listing_tool(&cli->out, &p->tools[i], false, cli->color_out);
    }
}

int command_tools(Cli *cli) {
    const char *format = args_value(&cli->args, "--format");
    Error err = { 0 };
    Project *p = report_project(cli);
    if (!p) return CLI_FAILED;
    bool ok = true;
    if (format) ok = add_schema(cli, p, format, &err);
    else if (cli->json) ok = listing_json_tools(&cli->out, p, &err), buf_add_char(&cli->out, '\n');
    else if (args_has(&cli->args, "--verbose")) add_verbose(cli, p);
    else listing_tools(&cli->out, p, 0, cli->color_out);
    project_free(p);
    return ok ? CLI_OK : cli_fail(cli, CLI_FAILED, &err);
}
