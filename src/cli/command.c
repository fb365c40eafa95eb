#include "cli/command.h"
#include <string.h>
#include "cli/command_flags.h"

const Command command_table[] = {
    {
        .name = "agents", .operands = "",
        .summary = "list the sub-agents of the project",
        .about = "Lists every sub-agent with its model and its file. A sub-agent without a model\n"
                 "uses the one of its parent.",
        .example = "harness agents --json",
        .json = "[{name, description, model, tools, hooks, file, line}]\n"
                "\n"
                "model is null when it is inherited. tools and hooks are lists of names.",
        .run = command_agents,
    },
    {
        .name = "approvals", .operands = "",
        .summary = "questions that wait for an answer",
        .about = "Lists the open questions about calls of this project, in every process: id,\n"
                 "tool, the rule that requires confirmation, and the main argument. The first\n"
                 "answer counts, wherever it is given.",
        .example = "harness approvals --json",
        .json = "[{id, run, call, tool, args, why, asked, rule, expires, state, answer, by, waiting, redacted}], oldest first\n"
                "\n"
                "waiting is false if the process that asked is gone and no worker will continue the run. Arguments that are redacted cannot be changed.",
        .run = command_approvals,
    },
    {
        .name = "approvals approve", .operands = "ID", .min = 1, .max = 1,
        .summary = "approve a call that waits",
        .about = "Shows the call and asks for a yes. --yes agrees without a terminal. With --args\n"
                 "the call begins again with other arguments: all rules are checked again, and the\n"
                 "model is informed. ID may be the beginning of one.",
        .example = "harness approvals approve q1f2e3d4c5b",
        .flags = command_flags_approve, .run = command_approvals_approve,
    },
    {
        .name = "approvals deny", .operands = "ID", .min = 1, .max = 1,
        .summary = "refuse a call that waits",
        .about = "The call is refused. The model is told the reason, if one is given.",
        .example = "harness approvals deny q1f2e3d4c5b --because 'not on a Friday'",
        .flags = command_flags_deny, .run = command_approvals_deny,
    },
    {
        .name = "approvals kept", .operands = "",
        .summary = "answers that apply always in this project",
        .about = "Answers given with p. Each applies to one tool as it is defined now, its exact\n"
                 "arguments and the rule that asked.",
        .example = "harness approvals kept",
        .json = "[{id, tool, args, rule, by, time_ns}]",
        .run = command_approvals_kept,
    },
    {
        .name = "approvals revoke", .operands = "ID", .min = 1, .max = 1,
        .summary = "delete a kept answer",
        .about = "The next such call is asked about again.",
        .example = "harness approvals revoke 0f1e2d3c4b5a6978",
        .run = command_approvals_revoke,
    },
    {
        .name = "call", .operands = "TOOL [JSON|-]", .min = 1, .max = 2,
        .summary = "call a tool",
        .about = "Calls one tool of the project through the whole pipeline: arguments are checked,\n"
                 "limits, policy, hooks and the sandbox apply. JSON is an object with the\n"
                 "arguments; - reads it from standard input. Prints the value as JSON. Exits 1\n"
                 "when the result is an error: {\"error\": ...}. Without a terminal, what needs\n"
                 "confirmation is refused unless --yes or --approve allows it; with --ask it waits\n"
                 "for an answer from elsewhere. A background task is waited for; with --no-wait it\n"
                 "continues, and task_poll, task_await and task_cancel with its id are about it.",
        .example = "harness call read_file '{\"path\": \"README.md\"}'\n"
                   "harness call run_command --arg command='make test' --trace",
        .json = "{tool_call_id, name, content, value, artifacts, is_error, error, provider, elapsed_ms, run}\n"
                "\n"
                "content is a list of typed blocks, value is what the tool returned. error is present only\n"
                "after a failure: {class, step, rule, message}; class is repairable, retryable or fatal.\n"
                "provider is the MCP server of the tool, task_id the started background task, if any.",
        .flags = command_flags_call, .run = command_call,
    },
    {
        .name = "completion", .operands = "bash|zsh|fish", .choices = "bash|zsh|fish", .max = 1,
        .summary = "print a completion script for a shell",
        .about = "Prints a script that completes commands and flags in your shell, and the names\n"
                 "of tools, runs, agents and servers of the project, which --list prints.",
        .example = "source <(harness completion bash)\n"
                   "harness completion fish > ~/.config/fish/completions/harness.fish",
        .flags = command_flags_completion, .run = command_completion,
    },
    {
        .name = "console", .operands = "",
        .summary = "see the runs in a browser, answer questions",
        .about = "Serves a page that shows what agents did, are doing and want to do, and prints\n"
                 "its URL. Only this machine can reach it; the token in the URL is the key to it.\n"
                 "It reads the stored runs, and writes only answers to questions and commands to\n"
                 "runs: whatever the page starts is another harness process, under the same rules\n"
                 "as at a terminal. For other machines: --allow-remote --token-file FILE, behind\n"
                 "a proxy with TLS. Ctrl-C ends it.",
        .example = "harness console --open",
        .flags = command_flags_console, .run = command_console,
    },
    {
        .name = "context", .operands = "",
        .summary = "show what the model will see",
        .about = "Draws a bar for each part of the request: the system prompt, each tool, each MCP\n"
                 "server and the messages, with an estimate of its tokens. Without a terminal the\n"
                 "same rows have no bars. --log-level debug also prints the texts. It needs no\n"
                 "key, and starts and asks nothing.",
        .example = "harness context --agent reviewer",
        .json = "[{part, name, server, tokens, text}]; only tools of MCP servers have server",
        .flags = command_flags_context, .run = command_context,
    },
    {
        .name = "doctor", .operands = "",
        .summary = "check what this machine supports",
        .about = "Checks the kernel features that the sandbox needs, the libraries that are\n"
                 "loaded on first use, and which model keys the environment holds (names only).\n"
                 "Exits 1 when something required is missing.",
        .example = "harness doctor --json",
        .json = "[{check, ok, detail}]",
        .run = command_doctor,
    },
    {
        .name = "guard", .operands = "VENDOR", .min = 1, .max = 1,
        .summary = "the hook of another agent: judge its calls by this policy",
        .about = "Reads the envelope of a hook of another agent from standard input, and answers\n"
                 "as that agent expects: VENDOR is claude, codex, cursor, copilot, vscode, gemini,\n"
                 "qwen, kimi, opencode, or auto. The rules, tools_policy and hooks of the project\n"
                 "decide, with /etc/harness/guard.md and ~/.config/harness/guard.md. Every\n"
                 "failure refuses the call. See docs/howto/guard.md for the files of each agent.",
        .example = "harness guard claude --project /srv/app < envelope.json",
        .flags = command_flags_guard, .run = command_guard,
    },
    {
        .name = "guard log", .operands = "",
        .summary = "decisions about other agents' calls",
        .about = "Lists the stored decisions of harness guard for this project (without one:\n"
                 "those without a project), oldest first. --verify checks that no row was\n"
                 "changed, removed or inserted, prints the last hash, and exits 1 if one was.\n"
                 "An audit.anchor file of guard.md is compared with the last hash. --follow waits\n"
                 "for more.",
        .example = "harness guard log --verify",
        .json = "one object for each decision and line: {n, time, vendor, session, call, event, tool, vendor_tool, subject, verdict, rule, reason, root}\n"
                "\n"
                "With --verify: {decisions, faults: [{fault, from, to}], hash}",
        .flags = command_flags_guard_log, .run = command_guard_log,
    },
    {
        .name = "guard replay", .operands = "FILE...", .min = 1, .max = 1000,
        .summary = "judge recorded envelopes again",
        .about = "Each file holds {vendor, payload} and perhaps decision and rule, or a list of\n"
                 "those. Prints the decision and the rule of each. Exits 1 where they differ from\n"
                 "what is recorded. Nothing is stored.",
        .example = "harness guard replay tests/guard/*.json",
        .json = "[{file, vendor, tool, decision, rule, reason, expected, expected_rule, ok}]",
        .flags = command_flags_guard_replay, .run = command_guard_replay,
    },
    {
        .name = "guard doctor", .operands = "[VENDOR]", .max = 1,
        .summary = "check the hooks of other agents",
        .about = "For each agent that is installed here: its version, the files with the hook,\n"
                 "whether the hook is current and can start, a trial with a call that every\n"
                 "policy refuses, and what the hook cannot stop. Exits 1 when a check fails, and\n"
                 "for a named VENDOR also when it is not guarded.",
        .example = "harness guard doctor claude",
        .json = "[{vendor, program, installed, checks: [{state, text}]}]\n"
                "\n"
                "state is ok, note, FAILS or hole.",
        .run = command_guard_doctor,
    },
    {
        .name = "guard export", .operands = "codex-rules", .choices = "codex-rules", .min = 1, .max = 1,
        .summary = "rules that deny commands, for Codex itself",
        .about = "Prints the rules of the project that deny shell commands as Codex's exec policy,\n"
                 "a second defence that works even if a hook does not run. It compares only the\n"
                 "first words of a command; a rule with a pattern becomes a comment.",
        .example = "harness guard export codex-rules > ~/.codex/rules/harness.rules",
        .run = command_guard_export,
    },
    {
        .name = "guard install", .operands = "VENDOR", .min = 1, .max = 1,
        .summary = "put the guard in front of another agent",
        .about = "Adds the hook to the agent's file: of this project, or with --user or\n"
                 "--managed. VENDOR is claude, codex, cursor, copilot, vscode, gemini, qwen, kimi\n"
                 "or opencode. Everything else in the file is unchanged; the old file is kept\n"
                 "next to it as NAME.before-harness. Doing it again changes nothing.",
        .example = "harness guard install claude\nharness guard install codex --user --print",
        .json = "{vendor, file, changed}",
        .flags = command_flags_guard_install, .run = command_guard_install,
    },
    {
        .name = "guard uninstall", .operands = "VENDOR", .min = 1, .max = 1,
        .summary = "remove the guard from another agent",
        .about = "Removes what guard install added, and nothing else. If the file was not changed\n"
                 "since, the old file is restored, byte for byte.",
        .example = "harness guard uninstall claude",
        .json = "{vendor, file, changed}",
        .flags = command_flags_guard_uninstall, .run = command_guard_uninstall,
    },
    {
        .name = "help", .operands = "[COMMAND]", .max = 2,
        .summary = "show help for harness or one command",
        .about = "Shows the list of commands, or the help of one.",
        .example = "harness help json check\n"
                   "harness help --markdown > docs/reference/cli.md",
        .flags = command_flags_help,
        .run = command_help,
    },
    {
        .name = "hooks", .operands = "",
        .summary = "list the hooks and rules of the project",
        .about = "Lists every hook with its event and its file, in the order in which they run:\n"
                 "by priority, then by file. A hook marked on_error: allow lets a call pass when\n"
                 "it fails itself. The rules follow; they decide before the hooks of tool.pre.\n"
                 "--stats shows what the store has counted over all runs.",
        .example = "harness hooks --json\n"
                   "harness hooks --stats",
        .json = "[{name, kind, event, priority, when, on_error, timeout_ms, file, line}]\n"
                "\n"
                "kind is starlark or command, on_error is block or allow, when is null for always.\n"
                "With --stats: [{name, calls, blocks, errors, mean_us}]",
        .flags = command_flags_hooks, .run = command_hooks,
    },
    {
        .name = "init", .operands = "[NAME]", .max = 1,
        .summary = "create a project here, or in the folder NAME",
        .about = "Writes a project that works as it is: harness.md, four tools (read_file,\n"
                 "write_file, list_files, run_command), two guards, a sub-agent, a test, and a\n"
                 "model that answers offline. Never changes a file that exists: it lists those\n"
                 "and writes the others. Exits 1 when all of them exist.",
        .example = "harness init\n"
                   "harness init demo && cd demo && harness run",
        .json = "{root, created, existing}\n"
                "\n"
                "Two lists of paths, relative to root.",
        .run = command_init,
    },
    {
        .name = "inspect", .operands = "[NAME]", .max = 1,
        .summary = "show one tool, hook, agent or rule in full",
        .about = "Shows everything about one tool (by its name or an alias), hook, sub-agent or\n"
                 "rule, with its parameters and its script. Finds those that are private to a\n"
                 "sub-agent too. --graph shows for each agent its tools and what guards each:\n"
                 "policy, hooks, limits; with NAME only that tool or agent.",
        .example = "harness inspect run_command\n"
                   "harness inspect reviewer --type agent --json\n"
                   "harness inspect --graph",
        .json = "{type, name, ...}\n"
                "\n"
                "type is tool, hook, agent or rule; then the fields of the object in `harness tools`,\n"
                "`hooks` or `agents`, and more: for a tool output_schema, retry, idempotency, injected,\n"
                "async, confirm, calls, agent, bundle, script, command, argv, env_passthrough, environment, folder,\n"
                "server, server_tool; for a hook agent, script, command, folder, tools; for an agent title,\n"
                "provider, prompt, blocked_tools, mcp, verify, max_iterations.\n"
                "\n"
                "With --graph {agents, limits, idle_hooks}: an agent is {name, file, line, tools}, a tool\n"
                "{name, kind, file, line, server, denied, guards}, a guard {kind, name, effect, when, file, line};\n"
                "idle_hooks names the hooks for tools that cover none of them.",
        .flags = command_flags_inspect, .run = command_inspect,
    },
    {
        .name = "json check", .operands = "FILE", .min = 1, .max = 1,
        .summary = "check that a file is valid JSON",
        .about = "Exits 0 when FILE is valid RFC 8259 JSON. Otherwise exits 1 and says what is\n"
                 "wrong, with line and column. A FILE of - reads standard input.",
        .example = "harness json check package.json",
        .json = "{ok: true}",
        .run = command_json_check,
    },
    {
        .name = "mcp add", .operands = "NAME [-- CMD...]", .min = 1, .max = 100000,
        .summary = "add an MCP server to the project's file",
        .about = "Writes an entry of mcp_servers into harness.md and leaves everything else in it\n"
                 "as it is, comments too. Without a harness.md one is made. Then the server is\n"
                 "started once and its tools are counted; a failure shows what it printed.",
        .example = "harness mcp add files --network -- npx -y some-mcp-server .\n"
                   "harness mcp add wiki --url https://wiki.example/mcp --header \"X-Team: core\"",
        .json = "{server, file}",
        .flags = command_flags_mcp_add, .run = command_mcp_add,
    },
    {
        .name = "mcp approve", .operands = "[SERVER]", .max = 1,
        .summary = "approve the changed tools of a server",
        .about = "If the description or schema of a tool changes after it was first listed, the\n"
                 "tool cannot be called until you approve it. This command shows the changes and\n"
                 "asks. Needs a terminal, or --yes.",
        .example = "harness mcp approve files",
        .json = "[{server, approved}]; approved is the text that is shown",
        .flags = command_flags_mcp_approve, .run = command_mcp_approve,
    },
    {
        .name = "mcp call", .operands = "SERVER|URL TOOL [JSON]", .min = 2, .max = 3,
        .summary = "call a tool of an MCP server",
        .about = "A SERVER of the project is called through the whole pipeline, as any tool. A URL\n"
                 "is called directly: no project, no policy, no hooks. JSON - is read from\n"
                 "standard input. Exit status 1 when the tool fails.",
        .example = "harness mcp call files read_file '{\"path\": \"README.md\"}'\n"
                   "harness mcp call http://127.0.0.1:8080/mcp echo '{\"text\": \"hi\"}'",
        .json = "for a SERVER the result object as in harness call; for a URL the server's own result.",
        .flags = command_flags_mcp_call, .run = command_mcp_call,
    },
    {
        .name = "mcp list", .operands = "",
        .summary = "list the MCP servers of the project",
        .about = "Each with its transport, state, number of tools and target; below it, why it\n"
                 "failed when it was last started. Starts no server: shows what was pinned when\n"
                 "the server was last asked.",
        .example = "harness mcp list",
        .json = "[{name, transport, target, state, trusted, tools, held, file, instructions, problem}];\n"
                "state is ready, held, failed, not seen yet or not trusted; problem is why it\n"
                "failed when it was last started, or null.",
        .run = command_mcp_list,
    },
    {
        .name = "mcp logout", .operands = "SERVER|URL", .min = 1, .max = 1,
        .summary = "forget the token of an MCP server",
        .about = "Revokes the token that is kept for the SERVER of the project, or for the URL,\n"
                 "where its authorization server offers that, and forgets it here in any case;\n"
                 "says when it was not revoked. Starts no server. The next program that needs a\n"
                 "token has to get a new one.",
        .example = "harness mcp logout wiki\n"
                   "harness mcp logout https://mcp.example/mcp",
        .json = "{server, forgotten, revoked, reason}; forgotten is false when none was kept,\n"
                "reason says why it was not revoked.",
        .flags = command_flags_mcp_logout, .run = command_mcp_logout,
    },
    {
        .name = "mcp remove", .operands = "NAME", .min = 1, .max = 1,
        .summary = "remove an MCP server from the project's file",
        .about = "Removes the entry NAME of mcp_servers from the project's file and leaves\n"
                 "everything else in it as it is. A server of .mcp.json is removed there.",
        .example = "harness mcp remove files",
        .json = "{server, file}",
        .run = command_mcp_remove,
    },
    {
        .name = "mcp request", .operands = "SERVER|URL METHOD [JSON]", .min = 2, .max = 3,
        .summary = "send one request to an MCP server",
        .about = "Prints the unmodified result, to examine a server: resources/list,\n"
                 "prompts/get, completion/complete and so on. Tools of a SERVER are called by\n"
                 "mcp call.",
        .example = "harness mcp request wiki resources/list\n"
                   "harness mcp request wiki prompts/get '{\"name\": \"summary\"}'",
        .json = "the server's result.",
        .flags = command_flags_mcp_tools, .run = command_mcp_request,
    },
    {
        .name = "mcp serve", .operands = "",
        .summary = "serve the project to MCP clients",
        .about = "Serves the Model Context Protocol on standard input and output, or with --http,\n"
                 "which requires the token HARNESS_MCP_TOKEN or one that it prints. Every call\n"
                 "goes through the whole pipeline; confirmation is asked by elicitation.",
        .example = "harness mcp serve --http 127.0.0.1:8080",
        .flags = command_flags_mcp_serve, .run = command_mcp_serve,
    },
    {
        .name = "mcp skill", .operands = "SERVER|URL URI", .min = 2, .max = 2,
        .summary = "read a file of an MCP server's skill",
        .about = "Prints a file of a skill, such as skill://NAME/SKILL.md, once it has the size\n"
                 "and the digest that the server's list of skills gives for it, and SKILL.md its\n"
                 "frontmatter. One that differs is not shown: exit status 1.",
        .example = "harness mcp skill wiki skill://summary/SKILL.md",
        .json = "{uri, text} or {uri, blob}.",
        .flags = command_flags_mcp_tools, .run = command_mcp_skill,
    },
    {
        .name = "mcp tools", .operands = "SERVER|URL", .min = 1, .max = 1,
        .summary = "ask an MCP server for its tools",
        .about = "Starts the SERVER of the project, or connects to the URL, and shows what it\n"
                 "offers now. A tool of a SERVER that changed since it was first listed is held.",
        .example = "harness mcp tools files\n"
                   "harness mcp tools https://mcp.example/mcp --json",
        .json = "of a SERVER the tools as inspect shows them, with held; of a URL {protocol, server, tools}.",
        .flags = command_flags_mcp_tools, .run = command_mcp_tools,
    },
    {
        .name = "models", .operands = "",
        .summary = "list the models of the project and how each is reached",
        .about = "Lists the profiles of harness.md, the default one first: provider and wire,\n"
                 "server, the variable that holds the key and whether it is set (never the key\n"
                 "itself), and whether a price is known. Without profiles, the model that the\n"
                 "environment selects. --check asks each model for one word; that costs a few\n"
                 "tokens. Exits 1 when one does not answer.",
        .example = "harness models\n"
                   "harness models --check --json",
        .json = "[{name, provider, wire, server, key, key_set, priced}]\n"
                "\n"
                "server and key are null when there is none. --check adds answers and error, which\n"
                "is null when the model answered.",
        .flags = command_flags_models, .run = command_models,
    },
    {
        .name = "new", .operands = "KIND NAME", .choices = "tool|hook|agent|test|skill", .min = 2, .max = 2,
        .summary = "write one tool, hook, agent, test or skill",
        .about = "Writes a commented file of that kind, which works as it is, below .harness/ of\n"
                 "the project. Never changes a file that exists.",
        .example = "harness new tool count_words\n"
                   "harness new hook no_secrets",
        .json = "{kind, name, file}",
        .run = command_new,
    },
    {
        .name = "pull", .operands = "",
        .summary = "fetch pinned artifact sources",
        .about = "Fetches the git repositories under artifact_sources of harness.md, at the commit\n"
                 "or tag they are pinned to, into the cache ($XDG_STATE_HOME/harness/sources), and\n"
                 "checks every checksum. Existing sources are not fetched again. This is the\n"
                 "only command that uses the network for artifacts; HARNESS_OFFLINE=1 forbids it.",
        .example = "harness pull",
        .json = "[{type, url, path, ref, commit, status, files}]",
        .run = command_pull,
    },
    {
        .name = "run", .operands = "[PROMPT]", .max = 1,
        .summary = "work with the project's agent",
        .about = "A conversation that begins with PROMPT: /help lists its commands, Ctrl-C stops\n"
                 "the step, Ctrl-D leaves. With -p, or PROMPT and no terminal, one job, whose\n"
                 "answer goes to standard output; else each line of standard input is a message.",
        .example = "harness run -p 'What does this project do?'\n"
                   "harness run --tools tools.json 'Which files changed?'",
        .json = "{run, status, response, reason, turns, tool_calls, usage}\n"
                "\n"
                "One such line for each message. reason only when status is not completed. turns\n"
                "(replies of the model to the main agent), tool_calls (those of scripts and\n"
                "sub-agents too) and usage are those of the whole run so far. usage: {input,\n"
                "output, cached, written, reasoning, usd}; input includes cached (read from the\n"
                "provider's cache) and written (to it), output includes reasoning.",
        .flags = command_flags_run, .run = command_run,
    },
    {
        .name = "runs", .operands = "",
        .summary = "list the runs of this project",
        .about = "The runs of the project, newest first: the end of its id, its age, how it ended,\n"
                 "its agent and first prompt, turns, calls and cost. Other commands take the whole\n"
                 "id, its beginning or its end, or `last`.",
        .example = "harness runs --since 2d --search deploy",
        .json = "[{id, status, started, ended, agent, title, tool, cost, turns, tool_calls, usage, parent, session}], newest first\n"
                "tool: the first tool of a run without a prompt, else empty\n"
                "\n"
                "turns and tool_calls count as in harness run --json. parent is the run that it was forked from.",
        .flags = command_flags_runs, .run = command_runs,
    },
    {
        .name = "runs cancel", .operands = "RUN", .min = 1, .max = 1,
        .summary = "stop a run of another process",
        .about = "The run stops as if Ctrl-C had been pressed there, and can be resumed. One that\n"
                 "waits in the queue ends at once.",
        .example = "harness runs cancel last",
        .run = command_runs_cancel,
    },
    {
        .name = "runs fork", .operands = "RUN", .min = 1, .max = 1,
        .summary = "start a new run from a turn of an earlier one",
        .about = "The new run begins with the conversation up to the end of a turn, and continues\n"
                 "like `runs resume`, also with another model or agent. The earlier run is not\n"
                 "changed. Approvals are not inherited. Without -p and without a terminal, only\n"
                 "prints the id of the new run.",
        .example = "harness runs fork last --at 2 -p 'try it the other way'",
        .json = "{run, status, response, reason, turns, tool_calls, usage}; without -p {run}",
        .flags = command_flags_runs_fork, .run = command_runs_fork,
    },
    {
        .name = "runs prune", .operands = "",
        .summary = "remove old runs",
        .about = "Removes whole runs that ended longer ago than AGE: events, artifacts, tasks,\n"
                 "media and questions. The number and the hash of the last event of each stay.\n"
                 "Running runs are never removed, interrupted ones only with --interrupted.",
        .example = "harness runs prune --older-than 30d --dry-run",
        .json = "{dry_run, removed: [ID], kept: [{id, why}]}; why: running or interrupted",
        .flags = command_flags_runs_prune, .run = command_runs_prune,
    },
    {
        .name = "runs resume", .operands = "RUN", .min = 1, .max = 1,
        .summary = "continue an interrupted run",
        .about = "Continues where the run stopped. Nothing is done twice: results come\n"
                 "from the journal, calls that only read or can be repeated are repeated, and of\n"
                 "the others the model learns that their outcome is unknown. At a terminal shows\n"
                 "the conversation so far, and continues it. --adopt: see docs/howto/scale.md.",
        .example = "harness runs resume 0198c2",
        .json = "{run, status, response, reason, turns, tool_calls, usage}",
        .flags = command_flags_runs_resume, .run = command_runs_resume,
    },
    {
        .name = "runs say", .operands = "RUN TEXT", .min = 2, .max = 2,
        .summary = "send a message to a run of another process",
        .about = "The agent gets TEXT as a message of the user before its next reply.",
        .example = "harness runs say last 'use the other branch'",
        .run = command_runs_say,
    },
    {
        .name = "runs show", .operands = "RUN", .min = 1, .max = 1,
        .summary = "what a run did",
        .about = "The run, one line a step: what was called, the verdict and the rule that gave\n"
                 "it, the time, and the beginning of the output or what changed. --json prints\n"
                 "the events. --html writes a page that runs no script and loads nothing.",
        .example = "harness runs show last\n"
                   "harness runs show last --html run.html",
        .json = "{id, status, events: [{seq, time, run, agent, depth, parent, type, data}], usage}\n"
                "\n"
                "usage as in harness run --json, of all replies in the events.",
        .flags = command_flags_runs_show, .run = command_runs_show,
    },
    {
        .name = "runs verify", .operands = "[RUN...]", .max = 100000,
        .summary = "check that stored runs were not changed",
        .about = "Every stored event holds a hash of itself and of the event before. verify finds\n"
                 "events that were changed, removed or inserted, and then exits with 1. A program\n"
                 "that can write the state file can also compute new hashes: keep the hash that\n"
                 "--json prints elsewhere to find that too. Runs of earlier versions have no\n"
                 "hashes: they are \"not chained\".",
        .example = "harness runs verify --all",
        .json = "{ok, runs: [{id, state, events, unchained, hash, breaks}], strays, pruned}\n"
                "\n"
                "state: whole, broken, not chained, partly chained. breaks: [{what, from, to}] with\n"
                "the numbers of events; what: changed, removed, inserted, head. strays: events\n"
                "without a run. pruned: [{run, last, hash}].",
        .flags = command_flags_runs_verify, .run = command_runs_verify,
    },
    {
        .name = "sandbox", .operands = "-- CMD...", .min = 1, .max = 100000,
        .summary = "run a command confined to this folder",
        .about = "Runs CMD in the current folder as a tool's command would run: no network,\n"
                 "nothing else writable, only the system's folders readable, a private HOME and\n"
                 "TMPDIR, limits on memory, time, files and processes. Exits with CMD's status,\n"
                 "128 + N for signal N, 124 after --timeout, 127 if it could not be run.\n"
                 "With --profile CMD is an agent such as claude: its HOME holds the hook of\n"
                 "harness guard, and it reaches its vendor's hosts. See docs/howto/guard.md.",
        .example = "harness sandbox --allow-domain github.com --explain -- git fetch",
        .flags = command_flags_sandbox, .run = command_sandbox,
    },
    {
        .name = "scaffold", .operands = "NAME", .min = 1, .max = 2,
        .summary = "create a project in a new folder",
        .about = "Like init, in the folder NAME, which must not exist yet.",
        .example = "harness scaffold demo && harness -C demo validate --strict",
        .json = "{root, created, existing}",
        .run = command_scaffold,
    },
    {
        .name = "schema test", .operands = "FILE...", .min = 1, .max = 1000,
        .summary = "run JSON Schema test suite files",
        .about = "Runs files in the format of the JSON-Schema-Test-Suite, draft 2020-12. Lists\n"
                 "each failure as FILE: GROUP: TEST; the last line is N passed, M failed. The\n"
                 "meta-schemas of 2020-12 are built in; nothing is fetched from a network.",
        .example = "harness schema test --remotes remotes tests/draft2020-12/*.json",
        .json = "{passed, failed, failures}",
        .flags = command_flags_schema_test, .run = command_schema_test,
    },
    {
        .name = "schema validate", .operands = "SCHEMA INSTANCE", .min = 2, .max = 2,
        .summary = "validate JSON against a JSON Schema",
        .about = "Validates the JSON file INSTANCE against SCHEMA (draft 2020-12). Exits 0 when it\n"
                 "is valid, 1 when it is not, with one line for each problem: a JSON pointer, a\n"
                 "colon, the message. Exits 2 when the schema is bad. References may lead to files\n"
                 "beside SCHEMA and below, never to a network. An INSTANCE of - reads standard\n"
                 "input.",
        .example = "harness schema validate tool.schema.json arguments.json",
        .json = "{valid, problems: [{path, message, schema}]}",
        .run = command_schema_validate,
    },
    {
        .name = "simulate", .operands = "[FILE]", .max = 1,
        .summary = "judge recorded calls by a draft of the rules",
        .about = "Judges the newest recorded calls, at most 1000, by the project as it is and by a\n"
                 "draft of its files, and prints JSON: the verdict on each before and after, and\n"
                 "the rule that decides. FILE (- for standard input) holds the draft: {files:\n"
                 "{PATH: TEXT}, limit: N}; null instead of TEXT removes a file. Without FILE the\n"
                 "recorded verdicts are compared with the project as it is. Calls of agents under\n"
                 "harness guard are judged as harness guard judges them. No tool is executed,\n"
                 "nothing is stored or written, no program or server is started: a hook that\n"
                 "needs one fails, and so does one that calls http, env or another tool.",
        .example = "harness simulate draft.json",
        .json = "{calls, guarded, without_args, changed, truncated, elapsed_ms, problems:\n"
                "[{message, file, line, hint}], rows: [{run, seq, time, id, tool, agent, vendor,\n"
                "args, redacted, recorded, before, after, changed}]}\n"
                "\n"
                "guarded counts the calls of other agents, whose rows have vendor_tool, session\n"
                "and test too; without_args counts those whose arguments were not stored.\n"
                "recorded, before and after are {decision, step, rule, reason, file, line};\n"
                "decision is allow, ask or deny. With problems the draft does not load, and\n"
                "nothing was judged.",
        .run = command_simulate,
    },
    {
        .name = "starlark", .operands = "[FILE [FN...]]", .max = 1000,
        .summary = "run Starlark",
        .about = "Runs a Starlark file, an expression (-e), or without either a prompt. print\n"
                 "writes to standard error. A failure prints the traceback and Error: TEXT on\n"
                 "standard error and exits 1. json and math are predeclared.",
        .example = "harness starlark -e 'sorted([3, 1, 2])'\n"
                   "harness starlark --bench sieve.star run",
        .flags = command_flags_starlark, .run = command_starlark,
    },
    {
        .name = "store check", .operands = "",
        .summary = "check the store: format, chains of events",
        .about = "Opens the store, verifies every run as `runs verify --all` does, and says where\n"
                 "the store is. Exits with 1 if something does not fit.",
        .example = "harness store check",
        .json = "{store, runs, broken, strays, ok}",
        .run = command_store_check,
    },
    {
        .name = "store copy", .operands = "SQLITE URL", .min = 2, .max = 2,
        .summary = "copy a state file into a database",
        .about = "Copies all runs with their events, artifacts, tasks, notes and questions, in\n"
                 "one transaction. The project must have no runs in the database. The file stays\n"
                 "as it is. Tokens of MCP servers and decisions of guard are not copied: they\n"
                 "stay on this machine.",
        .example = "harness store copy old.db postgresql://harness@db.example.com/harness",
        .json = "{runs, events, artifacts}",
        .run = command_store_copy,
    },
    {
        .name = "store migrate", .operands = "",
        .summary = "create or update the tables of a database",
        .about = "For the database that HARNESS_STATE or store.url names. harness never changes\n"
                 "its tables in any other command. Safe to repeat, and while others do the same.",
        .example = "HARNESS_STATE=postgresql://harness@/harness harness store migrate",
        .json = "{store, from, to}; formats, from 0: there were no tables",
        .run = command_store_migrate,
    },
    {
        .name = "test", .operands = "[FILE...]", .max = 1000,
        .summary = "run the tests of the project",
        .about = "Runs .harness/tests/*.md and *.yaml, or those that are named (file or name),\n"
                 "each in a copy of the workspace, a few at a time, without network and store.\n"
                 "A test that fails shows the expected and the\n"
                 "actual outcome; the last line is N passed, M failed. Exits 1 when one failed.",
        .example = "harness test\n"
                   "harness test guard_commands --junit results.xml",
        .json = "{passed, failed, tests: [{name, file, ok, elapsed_ms, failures: [{check, expected, got}]}]}\n"
                "\n"
                "check is the expectation that failed, such as expect.tool_called. expected is empty when\n"
                "the test itself is wrong or could not be run; got says why.",
        .flags = command_flags_test, .run = command_test,
    },
    {
        .name = "tools", .operands = "",
        .summary = "list the tools of the project",
        .about = "Lists every tool with its kind and its file; -v adds parameters, safety and\n"
                 "time limits, and names the tools that tools_policy hides, which are left out\n"
                 "otherwise. --format openai and anthropic print the tools exactly as the\n"
                 "project's agent gets them with its first request, delegate included; --format\n"
                 "mcp prints {\"tools\": [...]}, as an MCP client gets them. No model and no key\n"
                 "is needed. Tools that are private to a sub-agent are not listed (see harness\n"
                 "inspect). Nothing is started: MCP tools are shown as they were last listed.",
        .example = "harness tools -v\n"
                   "harness tools --format openai",
        .json = "[{name, title, aliases, kind, file, line, description, parameters, safety,\n"
                "  category, icon, timeout_ms}]\n"
                "\n"
                "parameters is the JSON Schema; safety is the effective one, declared and detected\n"
                "together. title, category and icon are null when not given; timeout_ms is 0 for no limit, and null when only a run can know it. file and line\n"
                "are null for built-in tools. With --format, the schemas on one line.",
        .flags = command_flags_tools, .run = command_tools,
    },
    {
        .name = "trust", .operands = "[DIR]", .max = 1,
        .summary = "see what a project asks for, and agree to it",
        .about = "Shows what the project of this folder (or of DIR) asks for beyond the defaults:\n"
                 "programs that it starts, variables of your environment, hosts, files outside,\n"
                 "a weaker sandbox, higher limits. Then asks whether to trust it. Nothing of a\n"
                 "project that asks for more runs before that; one that asks for nothing needs\n"
                 "no trust. You are asked again when it asks for more, and when its files change\n"
                 "if it uses secrets, files outside or no sandbox. On build machines,\n"
                 "HARNESS_TRUST names a digest (--print) or an absolute folder whose projects\n"
                 "are trusted.",
        .example = "harness trust\n"
                   "harness trust --accept $(harness trust --print)",
        .json = "{root, state, digest, grants: [{group, what, value, file, line, key}]}\n"
                "\n"
                "state is \"not needed\", \"trusted\", \"not trusted\", \"asks for more\" or \"files changed\".\n"
                "With --displaced: [{when, project, path, copy}].",
        .flags = command_flags_trust, .run = command_trust,
    },
    {
        .name = "trust forget", .operands = "[DIR]", .max = 1,
        .summary = "withdraw the trust in a project",
        .about = "Forgets that the project of this folder (or of DIR) is trusted.",
        .example = "harness trust forget ~/src/demo",
        .run = command_trust_forget,
    },
    {
        .name = "trust list", .operands = "",
        .summary = "list the projects that you trust",
        .about = "Lists every project that you agreed to, with the day and the number of grants.",
        .example = "harness trust list --json",
        .json = "[{root, given, always, grants}]",
        .run = command_trust_list,
    },
    {
        .name = "validate", .operands = "",
        .summary = "load everything and report all problems",
        .about = "Loads the project of this folder (or of -c FILE) and reports every problem at\n"
                 "once, each as FILE:LINE:COL: MESSAGE (HINT), on standard error; errors with the\n"
                 "line of the file, warnings and hints marked. Then lists tools, hooks, agents\n"
                 "and rules, and counts the built-in tools. Exits 1 when there is an error.\n"
                 "Nothing is run, and no server is contacted. A restriction that is misspelt (a\n"
                 "key, a type, a file's name) is an error here and in every other command.",
        .example = "harness validate --strict\n"
                   "harness validate --json | jq .problems",
        .json = "{ok, problems: [{severity, file, line, column, message, hint}],\n"
                " tools, hooks, agents, rules}\n"
                "\n"
                "severity is error, warning or hint; hint may be null. The lists hold the objects of\n"
                "`harness tools`, `hooks` and `agents`; they are empty when the project is not valid. A rule\n"
                "is {name, decide, otherwise, because, vendors, kinds, tool, shell, paths, host, url, file,\n"
                "line}; empty lists are no condition.",
        .flags = command_flags_validate, .run = command_validate,
    },
    {
        .name = "version", .operands = "",
        .summary = "print the version",
        .about = "Prints the version, the commit it was built from, and the linked libraries.",
        .example = "harness version --json",
        .json = "{version, commit, libraries}",
        .run = command_version,
    },
    {
        .name = "worker", .operands = "",
        .summary = "work on queued runs",
        .about = "Takes runs that `harness run --queue` put into the database, and works on them\n"
                 "until it is stopped. A process for each run holds a lease; when it is killed,\n"
                 "another worker continues the run, and a call that was running is not repeated:\n"
                 "its outcome is unknown. SIGTERM or Ctrl-C: each run finishes its step and is\n"
                 "handed back. A run that needs an answer of a user waits without a process until\n"
                 "harness approvals or the console gives it. queue.workspace in harness.md says\n"
                 "where the files of a run are: in its own folder (host), in that of the project\n"
                 "(shared), or nowhere (none).",
        .example = "harness worker --concurrency 4\n"
                   "harness worker --once --json",
        .json = "{run, status, workspace}; one such line for each run\n"
                "\n"
                "workspace: the folder with the files of a run that changed some; else absent.\n"
                "status as in harness run --json, or waiting: it needs an answer; handed back; given up: the run was lost to another worker.",
        .flags = command_flags_worker, .run = command_worker,
    },
    {
        .name = "workers", .operands = "",
        .summary = "list the processes that hold runs in a database",
        .about = "Host, process id, kind, age, and the ends of the ids of its runs. kind: worker\n"
                 "looks at the queue, run works on a queued run, process is any other harness.",
        .example = "harness workers --json",
        .json = "[{id, host, pid, kind, since, lease_ms, runs}], oldest first\n"
                "\n"
                "lease_ms: the lease ends after so many milliseconds, unless it is renewed.",
        .run = command_workers,
    },
};
const size_t command_count = sizeof command_table / sizeof *command_table;

const Command *command_find(const char *name) {
    for (size_t i = 0; i < command_count; i++)
        if (strcmp(command_table[i].name, name) == 0) return &command_table[i];
    return NULL;
}

bool command_is_group(const char *word) {
    size_t n = strlen(word);
    for (size_t i = 0; i < command_count; i++)
        if (strncmp(command_table[i].name, word, n) == 0 && command_table[i].name[n] == ' ') return true;
    return false;
}

const Flag *command_flag(const Flag *list, const char *name, size_t n) {
    for (const Flag *f = list; f && f->name; f++) {
        if (strlen(f->name) == n && memcmp(f->name, name, n) == 0) return f;
        if (f->letter && strlen(f->letter) == n && memcmp(f->letter, name, n) == 0) return f;
    }
    return NULL;
}
