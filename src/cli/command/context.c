/* harness context: what the model will see, part by part. */
#include <stdio.h>
#include "cli/look.h"
#include "value/json.h"

typedef struct Showing { Cli *cli; int64_t total; size_t n; } Showing;

static void show(void *ctx, const SessionPart *p) {
    Showing *s = ctx;
    Buf *b = &s->cli->out;
    s->total += p->tokens;
    if (s->cli->json) {
        buf_add(b, s->n++ ? STR(",\n  {\"part\":") : STR("  {\"part\":"));
        json_write_string(b, str_from(session_part_name(p->what)), false);
        buf_add(b, STR(",\"name\":"));
        json_write_string(b, p->name, false);
        buf_add_fmt(b, ",\"tokens\":%lld,\"text\":", (long long)p->tokens);
        json_write_string(b, p->text, false);
        buf_add_char(b, '}');
        return;
    }
    s->n++;
    buf_add_fmt(b, "%7lld  %s " STR_FMT "\n", (long long)p->tokens, session_part_name(p->what), STR_ARG(p->name));
    if (!log_on(&s->cli->log, LOG_DEBUG)) return;
    cli_escape(b, p->text, true);
    buf_add_char(b, '\n');
}

int command_context(Cli *cli) {
    Look look;
    Error err = { 0 };
    int status = look_open(&look, cli);
    Showing s = { .cli = cli };
    if (status < 0) {
        if (cli->json) buf_add(&cli->out, STR("[\n"));
        bool ok = session_parts(look.session, show, &s, &err);
        Str model = session_model_name(look.session);
        if (ok && cli->json) buf_add(&cli->out, STR("\n]\n"));
        else if (ok) buf_add_fmt(&cli->out, "%7lld  total, estimated (model " STR_FMT ")\n", (long long)s.total, STR_ARG(model.n ? model : STR("not chosen")));
        status = ok ? CLI_OK : cli_fail(cli, CLI_FAILED, &err);
    }
    look_close(&look);
    return status;
}
