#include "cli/cli.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
#include "artifact/project_find.h"
#include "cli/terminal/screen.h"
#include "cli/terminal/width.h"
#include "cli/terminal/wrap.h"
#include "policy/credentials.h"
#include "policy/redact.h"
#include "tool/secrets.h"
#include "value/json.h"

enum { READ_CHUNK = 1 << 16, FAIL_TEXT_MAX = 2048 };

static const char *env(const char *name) {
    const char *value = getenv(name);
    return value && *value ? value : NULL;               /* an empty variable counts as unset */
}

static bool wants_color(const char *when, int fd) {
    if (when && strcmp(when, "always") == 0) return true;
    if (when && strcmp(when, "never") == 0) return false;
    const char *term = env("TERM");
    return !env("NO_COLOR") && term && strcmp(term, "dumb") != 0 && isatty(fd);
}

/* The flag overrides -v and -q, and those override the environment. */
static bool init_log(Cli *cli, Error *err) {
    const char *level = args_value(&cli->args, "--log-level"), *twin = env("HARNESS_LOG_LEVEL");
    const char *format = args_value(&cli->args, "--log-format"), *format_twin = env("HARNESS_LOG_FORMAT");
    cli->log = (Log){ .fd = STDERR_FILENO, .level = LOG_INFO, .format = LOG_TEXT, .clean = credentials_mask,
                       .write = isatty(STDERR_FILENO) ? screen_write : NULL };
    if (twin && !log_level_parse(str_from(twin), &cli->log.level))
        return error_set(err, ERR_VALIDATION, "HARNESS_LOG_LEVEL: \"%s\" is not one of debug|info|warn|error", twin);
    if (format_twin && !log_format_parse(str_from(format_twin), &cli->log.format))
        return error_set(err, ERR_VALIDATION, "HARNESS_LOG_FORMAT: \"%s\" is not one of text|json", format_twin);
    if (args_has(&cli->args, "--verbose")) cli->log.level = LOG_DEBUG;
    if (args_has(&cli->args, "--quiet")) cli->log.level = LOG_ERROR;
    if (level) log_level_parse(str_from(level), &cli->log.level);
    if (format) log_format_parse(str_from(format), &cli->log.format);
    return true;
}

bool cli_init(Cli *cli, Error *err) {
    const char *when = args_value(&cli->args, "--color"), *dir = args_value(&cli->args, "--chdir");
    cli->json = args_has(&cli->args, "--json");
    cli->color_out = wants_color(when, STDOUT_FILENO);
    cli->color_err = wants_color(when, STDERR_FILENO);
    cli->terminal_out = isatty(STDOUT_FILENO);
    cli->config = args_value(&cli->args, "--config");
    if (!cli->config) cli->config = env("HARNESS_CONFIG");
    if (!init_log(cli, err)) return false;
    if (dir && chdir(dir) != 0) return error_set(err, ERR_IO, "-C %s: %m", dir);
    return true;
}

const char *cli_project(Cli *cli) {
    char found[PATH_MAX];
    if (cli->looked || cli->config || project_here(".")) return cli->project;
    cli->looked = true;
    if (!project_above(".", found)) return NULL;
    cli->project = str_dup(str_from(found));
    Buf line = { 0 };
    buf_add_fmt(&line, "project %s (found above this folder)", found);
    if (!args_has(&cli->args, "--quiet")) cli_say(cli, SAY_HINT, buf_str(&line));
    buf_clear(&line);
    return cli->project;
}

void cli_clear(Cli *cli) {
    free(cli->project);
    args_clear(&cli->args);
    buf_clear(&cli->out);
    redact_free(cli->secrets);
    cli->secrets = NULL;
}

static void add_secret(void *ctx, Str value) { redact_add_value(ctx, value); }

void cli_know(Cli *cli, const Project *project) {
    if (!cli->secrets) cli->secrets = redact_new();
    secrets_literal(project, true, add_secret, cli->secrets);
}

static void hide_known(const Cli *cli, Buf *text) {
    if (!cli->secrets || !text->n || redact_empty(cli->secrets)) return;
    if (cli->json) redact_json(cli->secrets, text);
    else redact_text(cli->secrets, text);
}

void cli_hide_json(const Cli *cli, Buf *json) {
    if (json->n) credentials_mask(json);
    if (cli->secrets && json->n && !redact_empty(cli->secrets)) redact_json(cli->secrets, json);
}

void cli_mask(const Cli *cli, Buf *text) {
    credentials_mask(text);
    hide_known(cli, text);
}

void cli_say(const Cli *cli, SayLevel level, Str text) {
    static const char *const color[] = { "1;31", "1;33", "1;36" };
    Buf line = { 0 }, safe = { 0 };
    buf_add(&safe, text);
    cli_mask(cli, &safe);
    if (cli->color_err) buf_add_fmt(&line, "\033[%smharness:\033[0m ", color[level]);
    else buf_add(&line, STR("harness: "));
    cli_escape(&line, buf_str(&safe), false);
    buf_reset(&safe);
    wrap_message(&safe, buf_str(&line), width_if_known(STDERR_FILENO));
    cli_write(STDERR_FILENO, buf_str(&safe), cli->color_err);   /* a failure cannot be reported */
    buf_clear(&line);
    buf_clear(&safe);
}

bool cli_flush(Cli *cli) {
    if (cli->listing && cli->out.n) credentials_mask(&cli->out);
    hide_known(cli, &cli->out);
    bool ok = cli_write(STDOUT_FILENO, buf_str(&cli->out), cli->color_out);
    if (!ok) {
        Error err = { 0 };
        char text[FAIL_TEXT_MAX];
        error_set(&err, ERR_IO, "write standard output: %m");
        error_format(&err, text, sizeof text);
        cli_say(cli, SAY_ERROR, str_from(text));
    }
    buf_reset(&cli->out);
    return ok;
}

void cli_add_bytes(Cli *cli, Str text) {
    if (cli->terminal_out) cli_escape_all(&cli->out, text, true);
    else buf_add(&cli->out, text);
}

static void add_text_or_null(Buf *out, const char *key, const char *text) {
    buf_add_fmt(out, ",\"%s\":", key);
    if (*text) json_write_string(out, str_from(text), false);
    else buf_add(out, STR("null"));
}

static void add_number_or_null(Buf *out, const char *key, uint32_t number) {
    buf_add_fmt(out, ",\"%s\":", key);
    if (number) buf_add_fmt(out, "%u", number);
    else buf_add(out, STR("null"));
}

static void add_error(Buf *out, const Error *err) {
    buf_add_fmt(out, "{\"error\":{\"kind\":\"%s\"", error_kind_name(err->kind));
    add_text_or_null(out, "message", err->msg);
    add_text_or_null(out, "file", err->file);
    add_number_or_null(out, "line", err->line);
    add_number_or_null(out, "column", err->column);
    add_text_or_null(out, "hint", err->hint);
    buf_add(out, STR("}}\n"));
}

int cli_fail(Cli *cli, int status, const Error *err) {
    buf_reset(&cli->out);
    if (cli->json) {
        add_error(&cli->out, err);
        credentials_mask(&cli->out);
        return status;
    }
    char text[FAIL_TEXT_MAX];
    error_format(err, text, sizeof text);
    cli_say(cli, SAY_ERROR, str_from(text));
    return status;
}

bool cli_read(const char *path, size_t limit, Buf *out, Error *err) {
    bool is_stdin = strcmp(path, "-") == 0, ok = false;
    int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0) return error_set(err, ERR_IO, "open %s: %m", path);
    for (;;) {
        char *room = buf_room(out, READ_CHUNK);
        ssize_t n = read(fd, room, READ_CHUNK);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) { error_set(err, ERR_IO, "read %s: %m", is_stdin ? "standard input" : path); break; }
        if (n == 0) { ok = true; break; }
        buf_commit(out, (size_t)n);
        if (out->n > limit) { error_set(err, ERR_LIMIT, "read %s: larger than %zu bytes", path, limit); break; }
    }
    if (!is_stdin) close(fd);
    return ok;
}
