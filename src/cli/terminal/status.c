#include "cli/terminal/status.h"
#include <unistd.h>
#include "cli/terminal/width.h"

static void add_part(void *ctx, const SessionPart *p) {
    Status *s = ctx;
    s->tokens += p->tokens;
}

Status status_of(Session *session) {
    ModelUsage u = session_usage(session);
    Status s = { .model = session_model_name(session), .priced = u.priced, .usd = u.usd };
    Error ignored;
    if (!session_parts(session, add_part, &s, &ignored)) s.tokens = 0;
    s.limit = runtime_limits(run_runtime(session_run(session)))->context.max_tokens;
    return s;
}

static void add_tokens(Buf *out, int64_t tokens) {
    if (tokens < 1000) buf_add_fmt(out, "%lld tokens", (long long)tokens);
    else if (tokens < 999950) buf_add_fmt(out, "%.1fk tokens", (double)tokens / 1e3);
    else buf_add_fmt(out, "%.1fM tokens", (double)tokens / 1e6);
}

void status_add(Buf *out, const Status *s) {
    cli_escape_all(out, s->model, false);
    double percent = s->limit > 0 ? 100.0 * (double)s->tokens / (double)s->limit : 0;
    if (percent > 0 && percent < 1) buf_add(out, STR(" · <1 % of context"));
    else if (s->limit > 0) buf_add_fmt(out, " · %.0f %% of context", percent);
    else if (s->tokens > 0) {
        buf_add(out, STR(" · "));
        add_tokens(out, s->tokens);
    }
    if (s->priced) buf_add_fmt(out, s->usd > 0 && s->usd < 0.01 ? " · $%.4f" : " · $%.2f", s->usd);
}

void status_show(const Cli *cli, const Status *s) {
    Buf text = { 0 }, line = { 0 };
    status_add(&text, s);
    if (cli->color_err) buf_add(&line, STR("\033[2m"));
    width_add_cut(&line, buf_str(&text), width_of_terminal(STDERR_FILENO));
    buf_add(&line, cli->color_err ? STR("\033[0m\n") : STR("\n"));
    (void)cli_write(STDERR_FILENO, buf_str(&line), true);
    buf_clear(&text);
    buf_clear(&line);
}
