/* What the sandbox permits a call, for the user who is asked about it. From the same rules, roots and hosts that the call will run with. */
#include <stdlib.h>
#include "tool/pipeline/pipe.h"

typedef enum { NET_NONE, NET_LISTED, NET_PUBLIC, NET_ANY } Net;

static void add_list(Buf *out, const char *key, const char *const *paths, const char *first, const char *last) {
    size_t n = 0;
    event_data_key(out, str_from(key));
    buf_add_char(out, '[');
    if (first) json_write_string(out, str_from(first), false), n++;
    for (; paths && *paths; paths++) {
        if (n++) buf_add_char(out, ',');
        json_write_string(out, str_from(*paths), false);
    }
    if (last) {
        if (n) buf_add_char(out, ',');
        json_write_string(out, str_from(last), false);
    }
    buf_add_char(out, ']');
}

/* Functions of scripts and built-in tools reach the listed hosts or, without a list, public ones. Programs have the network of the sandbox. */
static Net network_of(const ToolEntry *e, const SandboxRules *rules, bool listed) {
    Net net = !e->safety.networked ? NET_NONE : listed ? NET_LISTED : NET_PUBLIC;
    if (!e->safety.process) return net;
    if (rules->mode == SANDBOX_OFF || rules->net == SANDBOX_NET_OPEN) return NET_ANY;
    return rules->net == SANDBOX_NET_PROXY && net < NET_LISTED ? NET_LISTED : net;
}

static void add_network(const Runtime *rt, const ToolEntry *e, const SandboxRules *rules, Buf *out) {
    static const char *const names[] = { "none", "listed", "public", "any" };
    const StrList *domains = &rt->limits.domains;
    size_t n = 0;
    Net net = network_of(e, rules, rt->limits.has_domains || rt->config.n_allow_domains > 0);
    event_data_str(out, "network", str_from(names[net]));
    event_data_key(out, STR("hosts"));
    buf_add_char(out, '[');
    for (size_t i = 0; net == NET_LISTED && i < domains->n + rt->config.n_allow_domains; i++) {
        if (n++) buf_add_char(out, ',');
        json_write_string(out, i < domains->n ? domains->at[i] : rt->config.allow_domains[i - domains->n], false);
    }
    buf_add_char(out, ']');
}

static void add_confined(const Pipe *p, Buf *out) {
    static const char *const modes[] = { [SANDBOX_STRICT] = "strict", [SANDBOX_BEST_EFFORT] = "best-effort", [SANDBOX_OFF] = "off" };
    static const char *const files[] = { [SAFETY_FILES_NONE] = "none", [SAFETY_FILES_READ] = "read", [SAFETY_FILES_WRITE] = "write" };
    const ToolEntry *e = p->f.entry;
    const char *reads[2];
    SandboxRules rules;
    runtime_rules_look(p->f.runtime, &rules);
    confine_rules(p->root, NULL, &rules, reads);
    bool some = e->safety.files != SAFETY_FILES_NONE, write = e->safety.files == SAFETY_FILES_WRITE, open = e->safety.process && rules.mode == SANDBOX_OFF;
    event_data_str(out, "files", open ? STR("any") : str_from(files[e->safety.files]));
    add_list(out, "write", write ? rules.write_roots : NULL, write ? rules.workspace : NULL, write && e->safety.process && rules.real_home ? getenv("HOME") : NULL);
    add_list(out, "read", some ? rules.read_roots : NULL, some && !write ? rules.workspace : NULL, NULL);
    add_network(p->f.runtime, e, &rules, out);
    event_data_bool(out, "programs", e->safety.process);
    if (e->safety.process) event_data_str(out, "sandbox", str_from(modes[rules.mode]));
}

void pipe_permits(const Pipe *p, Buf *out) {
    const ToolEntry *e = p->f.entry;
    event_data_start(out);
    switch (e->def.kind) {
    case TOOL_MCP:
        event_data_str(out, "runs", STR("server"));
        event_data_str(out, "server", e->def.server);
        break;
    case TOOL_NATIVE: event_data_str(out, "runs", STR("program")); break;
    case TOOL_DELEGATE: event_data_str(out, "runs", STR("agent")); break;
    case TOOL_BRIDGE: event_data_str(out, "runs", STR("user")); break;
    case TOOL_STARLARK: case TOOL_COMMAND: case TOOL_ARGV: case TOOL_BUILTIN:
        event_data_str(out, "runs", STR("sandbox"));
        add_confined(p, out);
        break;
    }
    event_data_bool(out, "destructive", e->safety.destructive);
    event_data_end(out);
}
