#include "cli/cli.h"
#include "value/json.h"

/* Text up to 1 GiB, and enough memory for its values. */
#define TEXT_MAX ((size_t)1 << 30)
#define HEAP_MAX ((size_t)8 << 30)

int command_json_check(Cli *cli) {
    const char *path = cli->args.operands[0];
    Error err = { 0 };
    Buf text = { 0 };
    Heap *heap = heap_new(HEAP_MAX);
    Value value;
    int status = CLI_OK;
    if (!cli_read(path, TEXT_MAX, &text, &err)) {
        status = cli_fail(cli, CLI_FAILED, &err);
    } else if (!json_read(heap, buf_str(&text), &(JsonRead){ 0 }, &value, &err)) {
        error_place(&err, strcmp(path, "-") == 0 ? "<stdin>" : path, err.line, err.column);
        status = cli_fail(cli, CLI_FAILED, &err);
    } else if (cli->json) {
        buf_add(&cli->out, STR("{\"ok\":true}\n"));
    }
    heap_free(heap);
    buf_clear(&text);
    return status;
}
