/* The project: what other commands print about it, its files, calls, and tests that are saved. */
#include "doors/console_private.h"
#include <stdlib.h>
#include <unistd.h>

enum { LIST_MS = 30000, CALL_S = 60, CALL_MAX_S = 600, TOOL_MAX = 200 };

void console_about(ConsoleCall *c) {
    const ConsoleConfig *config = c->console->config;
    Buf out = { 0 };
    Str root = config->root, name = root;
    for (size_t i = 0; i < root.n; i++)
        if (root.at[i] == '/') name = str_sub(root, i + 1, root.n);
    buf_add(&out, STR("{\"version\":"));
    json_write_string(&out, str_from(config->version), false);
    console_add_member(&out, "root", root);
    console_add_member(&out, "name", name);
    buf_add_fmt(&out, ",\"pid\":%ld", (long)getpid());
    console_add_member(&out, "by", buf_str(&c->console->by));
    buf_add(&out, STR(",\"simulator\":true}"));
    console_reply(c, 200, &out);
}

/* ---- what other commands print ---- */

static bool is_json(ConsoleCall *c, Str text) {
    Value v;
    return json_read(c->heap, text, NULL, &v, NULL);
}

/* Runs a command that prints JSON. */
static bool list(ConsoleCall *c, ConsoleChild *child, Error *err) {
    child->timeout_ms = LIST_MS;
    if (!console_child_run(c, child, err) || console_child_error(c, child, err)) return false;
    return is_json(c, buf_str(&child->out)) || console_child_explain(child, err);
}

static void reply_list(ConsoleCall *c, ConsoleChild *child) {
    Error err = { 0 };
    if (list(c, child, &err)) console_reply(c, 200, &child->out);
    else console_fail(c, &err);
    console_child_clear(child);
}

void console_tools(ConsoleCall *c) { reply_list(c, &(ConsoleChild){ .argv = { "tools", "--json" } }); }
void console_policy(ConsoleCall *c) { reply_list(c, &(ConsoleChild){ .argv = { "inspect", "--graph", "--json" } }); }
void console_project(ConsoleCall *c) { reply_list(c, &(ConsoleChild){ .argv = { "validate", "--json" } }); }
void console_trust(ConsoleCall *c) { reply_list(c, &(ConsoleChild){ .argv = { "trust", "--json" } }); }
void console_models(ConsoleCall *c) { reply_list(c, &(ConsoleChild){ .argv = { "models", "--json" } }); }

void console_servers(ConsoleCall *c) {
    ConsoleChild child = { .argv = { "mcp", "list", "--json" } };
    Error err = { 0 };
    Buf out = { 0 };
    bool ok = list(c, &child, &err);
    buf_add(&out, STR("{\"servers\":"));
    buf_add(&out, str_trim(buf_str(&child.out)));
    buf_add(&out, STR(",\"guarded\":"));
    ok = ok && console_guarded(c->console->config->decisions, &out, &err);
    buf_add_char(&out, '}');
    if (ok) console_reply(c, 200, &out);
    else console_fail(c, &err);
    buf_clear(&out);
    console_child_clear(&child);
}

/* ---- calls ---- */

static bool is_tool(Str name) {
    return name.n > 0 && name.n <= TOOL_MAX && name.at[0] != '-' && !memchr(name.at, '\n', name.n);
}

static void reply_called(ConsoleCall *c, ConsoleChild *child) {
    Error err = { 0 };
    Buf out = { 0 };
    Value result;
    if (console_child_error(c, child, &err)) return console_fail(c, &err);
    if (!json_read(c->heap, buf_str(&child->out), NULL, &result, NULL)) return console_child_explain(child, &err), console_fail(c, &err);
    buf_add_fmt(&out, "{\"exit\":%d,\"result\":", child->status);
    buf_add(&out, str_trim(buf_str(&child->out)));
    console_add_member(&out, "run", value_member_text(result, "run"));
    console_add_member(&out, "errors", buf_str(&child->err));
    buf_add_char(&out, '}');
    console_reply(c, 200, &out);
}

void console_call(ConsoleCall *c) {
    static const char *const known[] = { "tool", "args", "session", "timeout", NULL };
    Error err = { 0 };
    Str tool, session;
    int64_t seconds = CALL_S;
    Value args = value_member(c->body, "args");
    Buf input = { 0 };
    bool ok = console_body_known(c, known, &err) && console_body_text(c, "tool", TOOL_MAX, &tool, &err) && console_body_text(c, "session", 64, &session, &err)
        && console_body_int(c, "timeout", 1, CALL_MAX_S, &seconds, &err);
    if (ok && !is_tool(tool)) ok = error_set(&err, ERR_VALIDATION, "\"tool\" is not the name of a tool");
    if (ok && !value_is_gone(args) && !value_is_dict(args)) ok = error_set(&err, ERR_VALIDATION, "\"args\" is not an object");
    if (ok && value_is_dict(args)) ok = json_write(&input, args, &(JsonWrite){ 0 }, &err);
    else if (ok) buf_add(&input, STR("{}"));
    if (!ok) return buf_clear(&input), console_fail(c, &err);
    char *name = str_dup(tool), *given = str_dup(session);
    ConsoleChild child = { .argv = { "call", "--json", "--ask", name, "-", session.n ? "--session" : NULL, given }, .input = buf_str(&input),
                           .timeout_ms = seconds * 1000 };
    if (console_child_run(c, &child, &err)) reply_called(c, &child);
    else console_fail(c, &err);
    console_child_clear(&child);
    buf_clear(&input);
    free(name);
    free(given);
}
