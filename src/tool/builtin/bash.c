/* The tool bash: a command line, checked by the guard, run in the sandbox. */
#include <stdio.h>
#include <unistd.h>
#include "tool/builtin/builtin.h"
#include "tool/builtin/guard.h"
#include "tool/pipeline/pipe.h"
#include "value/int.h"

enum { DEFAULT_MS = 30000, LONGEST_MS = 600000, COMMAND_MAX = (128 << 10) - 1 };   /* the kernel's limit of one
                                                                                    * argument */

static bool check_command(Str command, Error *err) {
    if (str_trim(command).n == 0) return error_set(err, ERR_VALIDATION, "command is empty");
    if (memchr(command.at, 0, command.n)) return error_set(err, ERR_VALIDATION, "command contains a NUL character");
    if (command.n > COMMAND_MAX) return error_set(err, ERR_LIMIT, "command is longer than %d bytes: write it to a file and run that", COMMAND_MAX);
    return true;
}

/* The folder must be in the workspace after resolving links. */
static bool find_folder(const ToolCallFrame *f, Arena *arena, const char **out, Error *err) {
    Str given = builtin_arg_text(f, "cwd", STR("."));
    JailPlace place;
    if (!jail_place(f->host->jail, given, false, arena, &place, err)) return error_wrap(err, "cwd");
    if (builtin_name(f, place.absolute).at[0] == '/') return error_set(err, ERR_SANDBOX, "cwd: " STR_FMT ": outside the workspace", STR_ARG(given));
    int fd = jail_open_dir(f->host->jail, given, err);
    if (fd < 0) return error_wrap(err, "cwd");
    close(fd);
    *out = place.absolute.at;
    return true;
}

static bool inspect_bash(ToolCallFrame *f, ToolInspection *out, Error *err) {
    Str command = builtin_arg_text(f, "command", STR("")), reason, cwd = builtin_arg_text(f, "cwd", STR(""));
    if (!check_command(command, err)) return false;
    Arena arena = { 0 };
    GuardVerdict verdict = guard_command(command, &arena, &reason);
    if (verdict == GUARD_CONFIRM) snprintf(out->why, sizeof out->why, STR_FMT, STR_ARG(reason));
    bool ok = verdict != GUARD_REFUSE || error_set(err, ERR_POLICY, "destructive command refused: " STR_FMT, STR_ARG(reason));
    arena_clear(&arena);
    if (cwd.n) buf_add_fmt(&out->shown, "cd " STR_FMT "\n", STR_ARG(cwd));
    buf_add(&out->shown, command);
    return ok;
}

static int64_t timeout_ms(const ToolCallFrame *f) {
    Value v = builtin_arg(f, "timeout");
    double s = value_is_int(v) ? int_to_double(v) : value_is_float(v) ? value_float(v) : DEFAULT_MS / 1000.0;
    return (int64_t)(s * 1000);
}

static bool run_bash(ToolCallFrame *f, Error *err) {
    Arena arena = { 0 };
    SandboxResult r = { 0 };
    const char *cwd, *shell = access("/bin/bash", X_OK) == 0 ? "/bin/bash" : "/bin/sh";
    Str command = builtin_arg_text(f, "command", STR(""));
    bool ok = check_command(command, err) && find_folder(f, &arena, &cwd, err);
    if (ok) {
        const char *argv[] = { shell, "-c", arena_str(&arena, command).at, NULL };
        ok = kind_run_program(f, &(SandboxCommand){ .argv = argv, .cwd = cwd, .timeout_ms = timeout_ms(f) }, &r, err) && kind_process_value(f, &r, err);
    }
    sandbox_result_clear(&r);
    arena_clear(&arena);
    return builtin_end(f, ok, err);
}

const BuiltinDef builtin_bash[] = {
    { .name = "bash", .title = "Run a shell command",
      .description = "Runs a command with bash in the workspace and returns its stdout, stderr and exit code; a non-zero exit code is an error. Every call "
                     "starts a new shell: no directory or variable is kept. The command cannot write outside the workspace, and has no network unless the "
                     "project opens it. Destructive commands (rm -rf, git push --force, mkfs …) are refused. To look at files, prefer read, grep and glob.",
      .parameters = "{\"type\":\"object\",\"properties\":{"
                    "\"command\":{\"type\":\"string\",\"minLength\":1,\"description\":\"The command line, as it would be typed into bash.\"},"
                    "\"cwd\":{\"type\":\"string\",\"description\":\"Folder to run it in, relative to the workspace. Default: the workspace.\"},"
                    "\"timeout\":{\"type\":\"number\",\"minimum\":0.1,\"maximum\":600,\"description\":\"Seconds after which it is ended. Default: 30.\"}},"
                    "\"required\":[\"command\"],\"additionalProperties\":false}",
      .timeout_ms = LONGEST_MS, .execute = run_bash, .inspect = inspect_bash },
    { 0 },
};
