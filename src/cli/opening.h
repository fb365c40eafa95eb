/* Shared by the commands that run tools: their flags (--yes, --approve, --events, --allow-domain, --timeout, --lenient,
 * --ephemeral), the terminal, and an open runtime. */
#pragma once
#include "base/vec.h"
#include "cli/terminal/confirm_terminal.h"
#include "mcp/remote/remotes.h"
#include "tool/runtime.h"

typedef struct Opening {
    Cli *cli;
    VEC(Str) approve, domains;
    Terminal *terminal;
    int events;                          /* descriptor of --events; -1: none */
    EventSink sink;                      /* of a copy of it, for the next run */
    Runtime *rt;
    McpRemotes *servers;                 /* of the project; opening starts none */
} Opening;

#define OPENING_FLAGS \
    { "--yes", NULL, NULL, NULL, "confirm everything that needs confirmation" }, \
    { "--approve", NULL, "TOOL", NULL, "confirm calls of this tool (repeatable)" }, \
    { "--events", NULL, "FILE", NULL, "append every event to FILE, as JSON lines" }, \
    { "--allow-domain", NULL, "HOST", NULL, "let tools reach HOST (repeatable)" }, \
    { "--timeout", NULL, "S", NULL, "seconds, for tools that set none" }

/* Only the flags: exit status, or -1 with a configuration that borrows from `o`. For callers that open the runtime
 * themselves. */
int opening_config(Opening *o, Cli *cli, RuntimeConfig *out);
/* For RuntimeConfig.open_files of that configuration; the context is the Opening. Opens the file of --events. */
bool opening_events(void *ctx, const Project *p, Error *err);
/* Exit status; -1: o->rt is open. `o` is zeroed first; opening_close in any case. */
int opening_open(Opening *o, Cli *cli, const char *const *writable);
/* The same. A folder without a project has the default agent, which reads freely and asks before anything else; a line on standard error says so. */
int opening_open_agent(Opening *o, Cli *cli, const char *const *writable);
/* Loads the project of opening_open_agent again into `fresh`, beside `o`. False: it is invalid (`problems`, err->kind is ERR_NONE) or something else
 * failed (*err). opening_settle must follow in any case: it closes one of the two, and `o` is the other. */
bool opening_reload(Opening *o, Opening *fresh, Problems *problems, Error *err);
void opening_settle(Opening *o, Opening *fresh, bool use_fresh);
/* For commands that only show: needs no trust, and nothing of the project is started, connected to or expanded. Otherwise like
 * opening_open. With --live it is opening_open, and the servers are asked for their tools. */
int opening_open_reading(Opening *o, Cli *cli);
void opening_close(Opening *o);
/* For commands that only display: appends the tools of the project's MCP servers to `p`, as last listed; with --live
 * the servers are asked. Without servers opens nothing. Exit status, or -1; opening_close in every case, when `p` is no
 * longer used. */
int opening_show_servers(Opening *o, Cli *cli, Project *p);
/* Tells the user which servers' tools are shown as last listed, or not at all. */
void opening_say_pinned(Opening *o);
/* Sets the part of a run's configuration that comes from the flags; the run takes ownership of the sinks. */
void opening_run_config(Opening *o, RunConfig *out);
/* For a queued run: questions are answered through the store, and the run is parked meanwhile. */
void opening_park_config(RunConfig *out);
