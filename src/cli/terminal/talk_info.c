/* /tools, /hooks, /context, /cost and /model. */
#include "cli/terminal/talk_private.h"
#include "cli/terminal/width.h"
#include "cli/report.h"

enum { NAME_COLUMN = 23 };

static Runtime *runtime_of(const Talk *t) { return run_runtime(session_run(t->session)); }
static const Project *project_of(const Talk *t) { return runtime_project(runtime_of(t)); }

static Str first_line(Str text) {
    Str line = { 0 };
    text = str_trim(text);
    str_next_line(&text, &line);
    return line;
}

static void add_row(Doing *d, Str name, Str text) {
    Buf left = { 0 }, right = { 0 };
    cli_escape_all(&left, name, false);
    cli_escape_all(&right, text, false);
    talk_row(d, NAME_COLUMN, buf_str(&left), buf_str(&right));
    buf_clear(&left);
    buf_clear(&right);
}

/* ---- /tools and /hooks ---- */

static void show_tool(void *ctx, const SessionPart *p) {
    Doing *d = ctx;
    if (p->what != PART_TOOL) return;
    const ToolEntry *e = registry_find(runtime_registry(runtime_of(d->t)), p->name, NULL, 0);
    add_row(d, p->name, e ? first_line(e->def.description) : STR(""));
}

void talk_tools(Doing *d) {
    Error err = { 0 };
    if (!session_parts(d->t->session, show_tool, d, &err)) {
        talk_fail(d->t, &err);
        return;
    }
    if (d->out.n == 0) buf_add(&d->out, STR("  none\n"));
    if (run_planning(session_run(d->t->session))) buf_add(&d->out, STR("plan mode: only tools that change nothing; /go ends it\n"));
}

void talk_hooks(Doing *d) {
    const Project *p = project_of(d->t);
    for (size_t i = 0; i < p->n_hooks; i++) {
        const HookDef *h = &p->hooks[i];
        Buf text = { 0 };
        buf_add_fmt(&text, STR_FMT ", " STR_FMT, STR_ARG(h->event), STR_ARG(h->origin.file));
        add_row(d, h->name, buf_str(&text));
        buf_clear(&text);
    }
    if (p->n_hooks == 0) buf_add(&d->out, STR("  none\n"));
}

/* ---- /context and /cost ---- */

typedef struct Sums { int64_t system, tools, messages; size_t n_tools, n_messages; } Sums;

static void add_part(void *ctx, const SessionPart *p) {
    Sums *s = ctx;
    if (p->what == PART_TOOL) s->tools += p->tokens, s->n_tools++;
    else if (p->what == PART_MESSAGE) s->messages += p->tokens, s->n_messages++;
    else s->system += p->tokens;
}

void talk_context(Doing *d) {
    Error err = { 0 };
    Sums s = { 0 };
    if (!session_parts(d->t->session, add_part, &s, &err)) {
        talk_fail(d->t, &err);
        return;
    }
    int64_t total = s.system + s.tools + s.messages, most = runtime_limits(runtime_of(d->t))->context.max_tokens;
    buf_add_fmt(&d->out, "%8lld  system prompt\n%8lld  %zu tools\n%8lld  %zu messages\n%8lld  tokens in total, estimated\n", (long long)s.system,
                (long long)s.tools, s.n_tools, (long long)s.messages, s.n_messages, (long long)total);
    if (most > 0) buf_add_fmt(&d->out, "%7lld%%  of context.max_tokens (%lld)\n", (long long)(total * 100 / most), (long long)most);
}

void talk_cost(Doing *d) {
    Run *run = session_run(d->t->session);
    ModelUsage u = session_usage(d->t->session);
    buf_add_fmt(&d->out, "%10lld  tokens in", (long long)u.input);
    if (u.cached) buf_add_fmt(&d->out, ", %lld of them cached", (long long)u.cached);
    buf_add_fmt(&d->out, "\n%10lld  tokens out", (long long)u.output);
    if (u.reasoning) buf_add_fmt(&d->out, ", %lld of them reasoning", (long long)u.reasoning);
    buf_add_fmt(&d->out, "\n%10lld  answers of the model\n%10lld  tool calls\n", (long long)run_replies(run), (long long)run_calls(run));
    if (u.priced || u.usd > 0) buf_add_fmt(&d->out, "%10.4f  US dollars, estimated\n", u.usd);
    else buf_add(&d->out, STR("   unknown  cost: no price is known\n"));
}

/* ---- /model ---- */

static void add_profiles(Doing *d) {
    const Settings *s = &project_of(d->t)->settings;
    for (size_t i = 0; i < s->n_models; i++) {
        bool now = str_eq(s->models[i].name, session_model_name(d->t->session));
        Buf text = { 0 };
        buf_add_fmt(&text, "%s%s", project_provider_name(s->models[i].provider), now ? ", in use" : "");
        add_row(d, s->models[i].name, buf_str(&text));
        buf_clear(&text);
    }
    if (s->n_models == 0) buf_add(&d->out, STR("  the project has no other profiles; /model NAME also takes\n  a name that tells its provider, such as gpt-… or claude-…\n"));
}

void talk_model(Doing *d) {
    Error err = { 0 };
    if (d->rest.n && !session_model(d->t->session, d->rest, &err)) {
        talk_fail(d->t, &err);
        add_profiles(d);
        return;
    }
    buf_add(&d->out, STR("model "));
    cli_escape_all(&d->out, session_model_name(d->t->session), false);
    buf_add_char(&d->out, '\n');
    if (d->rest.n == 0) add_profiles(d);
}
