#include "cli/command_flags.h"
#include "cli/completion_names.h"

const Flag command_flags_global[] = {
    { "--chdir", "-C", "DIR", NULL, "work in DIR" },
    { "--config", "-c", "FILE", NULL, "use FILE as the project file ($HARNESS_CONFIG)" },
    { "--json", NULL, NULL, NULL, "machine-readable output" },
    { "--verbose", "-v", NULL, NULL, "log more (level debug)" },
    { "--quiet", "-q", NULL, NULL, "log errors only" },
    { "--log-level", NULL, "LEVEL", "debug|info|warn|error", "minimum level to log ($HARNESS_LOG_LEVEL)" },
    { "--log-format", NULL, "FORMAT", "text|json", "log format ($HARNESS_LOG_FORMAT)" },
    { "--color", NULL, "WHEN", "auto|always|never", "colours on a terminal (also $NO_COLOR)" },
    { "--help", "-h", NULL, NULL, "show help" },
    { 0 },
};

const Flag command_flags_schema_test[] = {
    { "--remotes", NULL, "DIR", NULL, "DIR replaces http://localhost:1234/" },
    { "--assert-format", NULL, NULL, NULL, "format is an assertion" },
    { 0 },
};

const Flag command_flags_starlark[] = {
    { "--eval", "-e", "CODE", NULL, "run CODE; print an expression's value" },
    { "--check", NULL, NULL, NULL, "parse and resolve only" },
    { "--bench", NULL, NULL, NULL, "call each FN three times, print the best time" },
    { "--allow-recursion", NULL, NULL, NULL, "functions may call themselves" },
    { "--allow-while", NULL, NULL, NULL, "while loops" },
    { "--allow-toplevel", NULL, NULL, NULL, "for, if and rebinding at top level" },
    { 0 },
};

/* For commands that only read: see cli/opening.c. */
#define LIVE_FLAG { "--live", NULL, NULL, NULL, "ask the MCP servers for their tools; needs trust" }

const Flag command_flags_validate[] = {
    { "--strict", NULL, NULL, NULL, "unknown descriptive keys are errors too" },
    { "--lenient", NULL, NULL, NULL, "skip invalid tools, as run --lenient does" },
    { 0 },
};

const Flag command_flags_tools[] = {
    LIVE_FLAG,
    { "--format", NULL, "FORMAT", "openai|anthropic|mcp", "the schemas as a model or client gets them" },
    { 0 },
};

const Flag command_flags_inspect[] = {
    LIVE_FLAG,
    { "--type", NULL, "TYPE", "tool|hook|agent|rule", "if several have the name" },
    { "--graph", NULL, NULL, NULL, "the guards of each tool, for each agent" },
    { "--dot", NULL, NULL, NULL, "the same for Graphviz" },
    { 0 },
};

/* For every command that makes calls: see cli/opening.c. */
#define SESSION_FLAGS \
    { "--yes", NULL, NULL, NULL, "confirm everything that needs confirmation" }, \
    { "--approve", NULL, "TOOL", NULL, "confirm calls of TOOL; repeatable" }, \
    { "--events", NULL, "FILE", NULL, "append the events to FILE, as JSON lines" }, \
    { "--allow-domain", NULL, "HOST", NULL, "add to network.allowed_domains; repeatable" }, \
    { "--timeout", NULL, "SECONDS", NULL, "time limit of tools that set none" }

const Flag command_flags_call[] = {
    { "--arg", NULL, "NAME=VALUE", NULL, "one argument, as text or JSON; repeatable" },
    { "--session", NULL, "ID", NULL, "keep reads, approvals and cache between calls" },
    { "--no-wait", NULL, NULL, NULL, "do not wait for a background task; print its id" },
    { "--raw", NULL, NULL, NULL, "print the text that a model would see" },
    { "--trace", NULL, NULL, NULL, "each step with its time, on standard error" },
    SESSION_FLAGS,
    { "--ask", NULL, NULL, NULL, "questions wait for harness approvals or console" },
    { "--ephemeral", NULL, NULL, NULL, "store nothing" },
    { "--lenient", NULL, NULL, NULL, "skip invalid tools with a warning; guards never" },
    { 0 },
};

#define AGENT_FLAGS \
    { "--model", NULL, "MODEL", NULL, "a profile of harness.md, or a model's name" }, \
    { "--effort", NULL, "LEVEL", "none|minimal|low|medium|high", "how hard the model thinks" }, \
    { "--agent", NULL, "AGENT", NULL, "talk to this agent instead" }, \
    { "--only", NULL, "TOOLS", NULL, "offer only these tools: A,B,C" }, \
    { "--tools", NULL, "FILE", NULL, "also the tools of this tools.json manifest" }, \
    { "--max-turns", NULL, "N", NULL, "at most N replies of the model" }, \
    { "--record", NULL, "FILE", NULL, "record requests and replies" }, \
    { "--replay", NULL, "FILE", NULL, "answer from a recording" }, \
    { "--file", NULL, "FILE", NULL, "send this image or PDF too; again for more" }, \
    SESSION_FLAGS, \
    { "--ask", NULL, NULL, NULL, "questions wait for harness approvals or console" }, \
    { "--ephemeral", NULL, NULL, NULL, "store nothing" }, \
    { "--lenient", NULL, NULL, NULL, "skip invalid tools with a warning; guards never" }, \
    { 0 }

const Flag command_flags_run[] = {
    { "-p", NULL, "TEXT", NULL, "one job: send TEXT, print the answer; -: from stdin" },
    { "--continue", NULL, NULL, NULL, "continue the last conversation" },
    { "--queue", NULL, NULL, NULL, "a worker does it: print the id of the run" },
    { "--priority", NULL, "N", NULL, "higher ones first: -1000 to 1000, default 0" },
    { "--at", NULL, "TIME", NULL, "not before 2026-01-02T03:04:05Z, or in 15m" },
    { "--wait", NULL, NULL, NULL, "follow the queued run to its end, print its answer" },
    AGENT_FLAGS,
};

const Flag command_flags_worker[] = {
    { "--concurrency", NULL, "N", NULL, "at most N runs at a time; default 1" },
    { "--poll", NULL, "TIME", NULL, "look this often without a hint (30s); else 4/s" },
    { "--once", NULL, NULL, NULL, "take one run, work on it, and end" },
    SESSION_FLAGS,
    { "--lenient", NULL, NULL, NULL, "skip invalid tools with a warning; guards never" },
    { 0 },
};

const Flag command_flags_runs_resume[] = {
    { "-p", NULL, "TEXT", NULL, "one job: send TEXT, print the answer; -: from stdin" },
    { "--adopt", NULL, NULL, NULL, "let any host take a stranded run, without its files" },
    AGENT_FLAGS,
};

const Flag command_flags_runs_fork[] = {
    { "--at", NULL, "TURN", NULL, "after this turn; else after the last one that ended" },
    { "-p", NULL, "TEXT", NULL, "one job: send TEXT, print the answer; -: from stdin" },
    AGENT_FLAGS,
};

const Flag command_flags_runs[] = {
    { "--all", NULL, NULL, NULL, "also those of harness call and of MCP clients" },
    { "--limit", NULL, "N", NULL, "at most N" },
    { "--status", NULL, "STATUS", NULL, "only running, completed, interrupted, …" },
    { "--since", NULL, "AGE", NULL, "only younger ones: 90s, 15m, 12h, 7d" },
    { "--search", NULL, "TEXT", NULL, "only those whose prompt or agent contains it" },
    { 0 },
};

const Flag command_flags_runs_prune[] = {
    { "--older-than", NULL, "AGE", NULL, "those that ended longer ago: 12h, 30d" },
    { "--interrupted", NULL, NULL, NULL, "also interrupted ones, counted from their start" },
    { "--dry-run", NULL, NULL, NULL, "only list them" },
    { 0 },
};

const Flag command_flags_runs_verify[] = {
    { "--all", NULL, NULL, NULL, "all runs of the project" },
    { 0 },
};

const Flag command_flags_runs_show[] = {
    { "--all", NULL, NULL, NULL, "outputs and changes in full" },
    { "--waterfall", NULL, NULL, NULL, "calls as bars over time" },
    { "--html", NULL, "FILE", NULL, "write one page for a browser, without scripts" },
    { 0 },
};

#define GUARD_SCOPE_FLAGS \
    { "--user", NULL, NULL, NULL, "the user's file, for every project" }, \
    { "--managed", NULL, NULL, NULL, "the machine's file, for every user; needs root" }

const Flag command_flags_guard_install[] = {
    GUARD_SCOPE_FLAGS,
    { "--print", NULL, NULL, NULL, "print the new file instead of writing it" },
    { 0 },
};

const Flag command_flags_guard_uninstall[] = { GUARD_SCOPE_FLAGS, { 0 } };

const Flag command_flags_approve[] = {
    { "--yes", NULL, NULL, NULL, "approve without a terminal" },
    { "--args", NULL, "JSON", NULL, "run the call with these arguments instead" },
    { 0 },
};

const Flag command_flags_deny[] = {
    { "--because", NULL, "TEXT", NULL, "the reason, for the model" },
    { 0 },
};

const Flag command_flags_models[] = {
    { "--check", NULL, NULL, NULL, "ask each model for one word" },
    { 0 },
};

const Flag command_flags_completion[] = {
    { "--list", NULL, "KIND", COMPLETION_KINDS, "print the names of this kind, one a line" },
    { 0 },
};

const Flag command_flags_mcp_add[] = {
    { "--url", NULL, "URL", NULL, "a server at an HTTP URL, instead of CMD" },
    { "--env", NULL, "NAME=VALUE", NULL, "for the program, ${NAME} is expanded; repeatable" },
    { "--header", NULL, "NAME: VALUE", NULL, "for the URL, ${NAME} is expanded; repeatable" },
    { "--network", NULL, NULL, NULL, "the program may use the network (npx, uvx, docker)" },
    { "--no-network", NULL, NULL, NULL, "it needs no network: do not ask" },
    { "--read-root", NULL, "DIR", NULL, "another folder it may read; repeatable" },
    { "--no-probe", NULL, NULL, NULL, "do not start it now" },
    { 0 },
};

const Flag command_flags_mcp_approve[] = {
    { "--yes", NULL, NULL, NULL, "approve without a terminal" },
    { "--all", NULL, NULL, NULL, "every server of the project" },
    { 0 },
};

#define MCP_PEER_FLAGS \
    { "--protocol", NULL, "VERSION", NULL, "use only this protocol version: 2025-11-25" }, \
    { "--header", NULL, "NAME: VALUE", NULL, "for a URL: send this header; repeatable" }, \
    { "--oauth", NULL, "JSON|FILE", NULL, "for a URL: how to get a token, as in harness.md" }

const Flag command_flags_mcp_call[] = {
    { "--elicit", NULL, "HOW", "accept|decline", "accept the server's forms with defaults, or decline" },
    MCP_PEER_FLAGS,
    { "--yes", NULL, NULL, NULL, "confirm everything that needs confirmation" },
    { "--approve", NULL, "TOOL", NULL, "confirm calls of TOOL; repeatable" },
    { "--timeout", NULL, "SECONDS", NULL, "time limit of tools that set none" },
    { "--ephemeral", NULL, NULL, NULL, "store nothing" },
    { 0 },
};

const Flag command_flags_mcp_tools[] = {
    MCP_PEER_FLAGS,
    { 0 },
};

const Flag command_flags_mcp_logout[] = {
    { "--oauth", NULL, "JSON|FILE", NULL, "for a URL: how its token was obtained" },
    { 0 },
};

const Flag command_flags_mcp_serve[] = {
    { "--http", NULL, "ADDR", NULL, "serve http://ADDR/mcp instead: 127.0.0.1:8080" },
    { "--no-auth", NULL, NULL, NULL, "require no token; on this machine only" },
    { "--allow-remote", NULL, NULL, NULL, "ADDR may be reached from other machines" },
    { "--origin", NULL, "URL", NULL, "allow web pages of URL; repeatable" },
    { "--host", NULL, "NAME", NULL, "a host name of this server; repeatable" },
    { "--auth-server", NULL, "URL", NULL, "accept access tokens issued by URL" },
    { "--scope", NULL, "SCOPE", NULL, "scope that they must have" },
    { "--resource-url", NULL, "URL", NULL, "the URL of this server, as clients see it" },
    { "--rate", NULL, "N", NULL, "at most N requests a minute from one client" },
    { "--sse-poll", NULL, "SECONDS", NULL, "close responses that are silent this long" },
    SESSION_FLAGS,
    { 0 },
};

const Flag command_flags_console[] = {
    { "--http", NULL, "ADDR", NULL, "listen on ADDR instead of 127.0.0.1:7717" },
    { "--open", NULL, NULL, NULL, "open it in your browser" },
    { "--allow-remote", NULL, NULL, NULL, "ADDR may be reached from other machines" },
    { "--token-file", NULL, "FILE", NULL, "the token is in FILE, which only you can read" },
    { "--host", NULL, "NAME", NULL, "a host name of this server; repeatable" },
    { "--origin", NULL, "URL", NULL, "the origin of a proxy in front; repeatable" },
    { 0 },
};

const Flag command_flags_context[] = {
    LIVE_FLAG,
    { "--agent", NULL, "AGENT", NULL, "for this agent" },
    { "--model", NULL, "MODEL", NULL, "a profile of harness.md, or a model's name" },
    { 0 },
};

const Flag command_flags_sandbox[] = {
    { "--profile", NULL, "AGENT", NULL, "run an agent of another vendor behind the guard" },
    { "--network", NULL, NULL, NULL, "open the network" },
    { "--allow-domain", NULL, "HOST", NULL, "HTTP(S) to HOST, *.HOST or HOST:PORT; repeatable" },
    { "--read", NULL, "DIR", NULL, "DIR may be read; repeatable" },
    { "--write", NULL, "DIR", NULL, "DIR may be read and written; repeatable" },
    { "--timeout", NULL, "S", NULL, "end it after S seconds, with status 124" },
    { "--mounts", NULL, "WHEN", NULL, "private mounts: required, auto (the default) or off" },
    { "--best-effort", NULL, NULL, NULL, "run with less where the kernel lacks a layer" },
    { "--explain", NULL, NULL, NULL, "the layers and, after a failure, what was denied" },
    { 0 },
};

const Flag command_flags_test[] = {
    { "--junit", NULL, "FILE", NULL, "write the results to FILE, as JUnit XML" },
    SESSION_FLAGS,
    { 0 },
};

const Flag command_flags_hooks[] = {
    { "--stats", NULL, NULL, NULL, "calls, blocks, failures and mean time of each" },
    { 0 },
};

const Flag command_flags_guard[] = {
    { "--project", NULL, "DIR", NULL, "the project that judges, wherever the agent works" },
    { "--event", NULL, "NAME", NULL, "the agent's event, if its envelope does not name it" },
    { 0 },
};

const Flag command_flags_guard_log[] = {
    { "--follow", NULL, NULL, NULL, "wait for more decisions" },
    { "--verify", NULL, NULL, NULL, "check the chain of hashes" },
    { "--user", NULL, NULL, NULL, "decisions outside of projects" },
    { 0 },
};

const Flag command_flags_guard_replay[] = {
    { "--project", NULL, "DIR", NULL, "the project that judges (default: this folder's)" },
    { 0 },
};

const Flag command_flags_help[] = {
    { "--markdown", NULL, NULL, NULL, "the whole reference, as a page" },
    { "--starlark-markdown", NULL, NULL, NULL, "everything a script can use, as a page" },
    { 0 },
};

const Flag command_flags_trust[] = {
    { "--print", NULL, NULL, NULL, "print the digest for HARNESS_TRUST" },
    { "--diff", NULL, NULL, NULL, "show what changed since, or during a call" },
    { "--displaced", NULL, NULL, NULL, "list the versions of files that were displaced" },
    { "--accept", NULL, "DIGEST", NULL, "trust without asking: the digest of --print" },
    { "--tools", NULL, "FILE", NULL, "also the tools of this tools.json manifest" },
    { 0 },
};
