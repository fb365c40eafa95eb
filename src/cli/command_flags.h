/* The flags of the commands, as data: each list ends with a row without a name. */
#pragma once
#include "cli/command.h"

extern const Flag command_flags_global[];              /* of every command */
extern const Flag command_flags_approve[], command_flags_call[], command_flags_completion[], command_flags_console[],
    command_flags_context[], command_flags_deny[],
    command_flags_guard[], command_flags_guard_install[], command_flags_guard_log[], command_flags_guard_replay[], command_flags_guard_uninstall[],
    command_flags_help[], command_flags_hooks[], command_flags_inspect[], command_flags_mcp_add[], command_flags_mcp_approve[],
    command_flags_mcp_call[], command_flags_mcp_logout[], command_flags_mcp_serve[], command_flags_mcp_tools[], command_flags_models[],
    command_flags_run[], command_flags_runs[], command_flags_runs_fork[], command_flags_runs_prune[], command_flags_runs_resume[],
    command_flags_runs_show[], command_flags_runs_verify[], command_flags_sandbox[], command_flags_schema_test[], command_flags_starlark[],
    command_flags_test[], command_flags_tools[], command_flags_trust[], command_flags_validate[], command_flags_worker[];
