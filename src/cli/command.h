/* The commands, as data. One row per command gives its help, its completion, its flags and
 * the function that does the work; nothing else lists them.
 *
 * A name may have two words ("json check"): then the first word alone is a group. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

typedef struct Cli Cli;

typedef struct Flag {
    const char *name;            /* "--log-level"; NULL ends a list */
    const char *letter;          /* "-v", or NULL */
    const char *value;           /* its value, as shown in help ("DIR"); NULL: none */
    const char *choices;         /* the only allowed values, "auto|always|never"; NULL: any */
    const char *help;
} Flag;

typedef struct Command {
    const char *name;
    const char *operands;        /* as shown in usage: "FILE"; "" for none */
    const char *choices;         /* the only allowed values of the first operand, "bash|zsh|fish"; NULL: any */
    int min, max;                /* how many operands */
    const char *summary;         /* one line, for the list */
    const char *about;           /* a paragraph or two for its own help, lines under 80 columns */
    const char *example;         /* one or more lines */
    const char *json;            /* what --json prints, for the reference; NULL: nothing specific */
    const Flag *flags;           /* its own flags; may be NULL */
    int (*run)(Cli *cli);        /* returns the exit status */
} Command;

extern const Command command_table[];
extern const size_t command_count;

const Command *command_find(const char *name);         /* by full name; NULL if there is none */
bool command_is_group(const char *word);               /* true if a two-word name starts with it */
const Flag *command_flag(const Flag *list, const char *name, size_t n); /* by name or letter; list may be NULL */

int command_agents(Cli *cli);
int command_models(Cli *cli);
int command_approvals(Cli *cli);
int command_console(Cli *cli);
int command_approvals_approve(Cli *cli);
int command_approvals_deny(Cli *cli);
int command_approvals_kept(Cli *cli);
int command_approvals_revoke(Cli *cli);
int command_call(Cli *cli);
int command_completion(Cli *cli);
int command_context(Cli *cli);
int command_doctor(Cli *cli);
int command_guard(Cli *cli);
int command_guard_log(Cli *cli);
int command_guard_replay(Cli *cli);
int command_guard_doctor(Cli *cli);
int command_guard_export(Cli *cli);
int command_guard_install(Cli *cli);
int command_guard_uninstall(Cli *cli);
int command_help(Cli *cli);
int command_hooks(Cli *cli);
int command_init(Cli *cli);
int command_inspect(Cli *cli);
int command_json_check(Cli *cli);
int command_mcp_add(Cli *cli);
int command_mcp_approve(Cli *cli);
int command_mcp_logout(Cli *cli);
int command_mcp_call(Cli *cli);
int command_mcp_list(Cli *cli);
int command_mcp_remove(Cli *cli);
int command_mcp_request(Cli *cli);
int command_mcp_skill(Cli *cli);
int command_mcp_serve(Cli *cli);
int command_mcp_tools(Cli *cli);
int command_new(Cli *cli);
int command_run(Cli *cli);
int command_runs(Cli *cli);
int command_runs_cancel(Cli *cli);
int command_runs_fork(Cli *cli);
int command_runs_prune(Cli *cli);
int command_store_check(Cli *cli);
int command_store_copy(Cli *cli);
int command_store_migrate(Cli *cli);
int command_runs_resume(Cli *cli);
int command_runs_say(Cli *cli);
int command_runs_show(Cli *cli);
int command_runs_verify(Cli *cli);
int command_scaffold(Cli *cli);
int command_schema_test(Cli *cli);
int command_schema_validate(Cli *cli);
int command_pull(Cli *cli);
int command_sandbox(Cli *cli);
int command_simulate(Cli *cli);
int command_starlark(Cli *cli);
int command_test(Cli *cli);
int command_tools(Cli *cli);
int command_trust(Cli *cli);
int command_trust_forget(Cli *cli);
int command_trust_list(Cli *cli);
int command_validate(Cli *cli);
int command_version(Cli *cli);
int command_worker(Cli *cli);
int command_workers(Cli *cli);
