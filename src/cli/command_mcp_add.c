/* harness mcp add: writes a server's entry into the project's file and leaves every other byte of it as it was. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/file.h"
#include "cli/mcp_direct.h"
#include "cli/report.h"
#include "cli/trust_prompt.h"
#include "value/json.h"

enum { FILE_MAX = 1 << 20 };

typedef struct Adding { Cli *cli; Str name; char path[4096]; bool yaml; const char *end; Buf before, after; } Adding;

/* ---- the entry ---- */

static bool is_plain(Str s) {
    static const char *const words[] = { "true", "false", "null", "yes", "no", "on", "off" };
    for (size_t i = 0; i < s.n; i++) {
        char c = s.at[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '/';
        if (!letter && (i == 0 || !((c >= '0' && c <= '9') || strchr("._-@", c)))) return false;
    }
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (s.n == strlen(words[i]) && strncasecmp(s.at, words[i], s.n) == 0) return false;
    return s.n > 0;
}

static void add_scalar(Buf *b, Str s) {
    if (is_plain(s)) buf_add(b, s);
    else json_write_string(b, s, false);
}

/* `step` is one level of the file's own indentation. */
static void add_line(Adding *a, Buf *b, Str step, int level, const char *key, Str value) {
    for (int i = 0; i < level; i++) buf_add(b, step);
    buf_add(b, str_from(key));
    buf_add(b, STR(": "));
    buf_add(b, value);
    buf_add(b, str_from(a->end));
}

static bool add_pairs(Adding *a, Buf *b, Str step, const char *flag, const char *key, char between, Error *err) {
    const Args *args = &a->cli->args;
    bool any = false;
    for (size_t i = 0; i < args->n_flags; i++) {
        if (strcmp(args->flags[i].flag->name, flag) != 0) continue;
        Str text = str_from(args->flags[i].value);
        ptrdiff_t at = str_find_char(text, between);
        if (at <= 0) return error_set(err, ERR_VALIDATION, "%s: expected NAME%cVALUE, got \"" STR_FMT "\"", flag, between, STR_ARG(text));
        if (!any) {
            buf_add(b, step), buf_add(b, step);
            buf_add_fmt(b, "%s:%s", key, a->end);
        }
        any = true;
        for (int k = 0; k < 3; k++) buf_add(b, step);
        add_scalar(b, str_trim(str_sub(text, 0, (size_t)at)));
        buf_add(b, STR(": "));
        json_write_string(b, str_trim(str_sub(text, (size_t)at + 1, text.n)), false);
        buf_add(b, str_from(a->end));
    }
    return true;
}

static bool make_entry(Adding *a, Str step, Buf *b, Error *err) {
    const Args *args = &a->cli->args;
    const char *url = args_value(args, "--url");
    Buf value = { 0 };
    buf_add(b, step);
    add_scalar(b, a->name);
    buf_add_fmt(b, ":%s", a->end);
    add_scalar(&value, str_from(url ? url : args->operands[1]));
    add_line(a, b, step, 2, url ? "url" : "command", buf_str(&value));
    buf_reset(&value);
    for (size_t i = 2; i < args->n_operands; i++) {
        buf_add(&value, i > 2 ? STR(", ") : STR("["));
        json_write_string(&value, str_from(args->operands[i]), false);
    }
    if (value.n) buf_add_char(&value, ']'), add_line(a, b, step, 2, "args", buf_str(&value));
    buf_clear(&value);
    return add_pairs(a, b, step, "--env", "env", '=', err) && add_pairs(a, b, step, "--header", "headers", ':', err);
}

/* ---- where it goes ---- */

static bool find_file(Adding *a, const Project *p) {
    snprintf(a->path, sizeof a->path, STR_FMT "/" STR_FMT, STR_ARG(p->root), STR_ARG(p->settings.file.n ? p->settings.file : STR("harness.md")));
    if (p->settings.file.n && p->settings.file.at[0] == '/') snprintf(a->path, sizeof a->path, STR_FMT, STR_ARG(p->settings.file));
    a->yaml = str_ends(p->settings.file, STR(".yaml")) || str_ends(p->settings.file, STR(".yml"));
    return p->settings.file.n > 0;
}

/* What is known of the file's frontmatter by its lines. Offsets into the text. */
typedef struct Places { size_t end, key, key_end, block_end; Str step; bool found; Str rest; } Places;

static bool is_fence(Str line) { return str_starts(line, STR("---")) && str_trim(line).n == 3; }

static void look(const Adding *a, Str text, Places *out) {
    size_t at = 0, lines = 0;
    bool inside = false, stepped = false;
    *out = (Places){ .step = STR("  "), .end = text.n };
    for (Str rest = text, line; str_next_line(&rest, &line); at = (size_t)(rest.at - text.at), lines++) {
        if (!a->yaml && lines == 0) continue;                     /* the opening fence */
        if (!a->yaml && is_fence(line)) {
            out->end = at;
            break;
        }
        bool blank = str_trim(line).n == 0, comment = !blank && str_trim(line).at[0] == '#', deep = line.n && (line.at[0] == ' ' || line.at[0] == '\t');
        if (inside && !blank && !comment && !deep) inside = false;
        if (inside && deep && !blank) {
            Str trimmed = str_trim(line);
            if (!stepped && !comment) out->step = (Str){ line.at, (size_t)(trimmed.at - line.at) }, stepped = true;
            out->block_end = (size_t)(rest.at - text.at);
        }
        if (!deep && str_starts(line, STR("mcp_servers:"))) {
            inside = out->found = true;
            out->key = at;
            out->key_end = out->block_end = (size_t)(rest.at - text.at);
            out->rest = str_trim(str_sub(line, 12, line.n));
        }
    }
}

static bool is_nothing(Str rest) {
    return rest.n == 0 || rest.at[0] == '#' || str_eq(rest, STR("{}")) || str_eq(rest, STR("null")) || str_eq(rest, STR("~"));
}

static bool compose(Adding *a, Error *err) {
    Str text = buf_str(&a->before);
    Places p;
    Buf entry = { 0 };
    a->end = str_find(text, STR("\r\n")) >= 0 ? "\r\n" : "\n";
    look(a, text, &p);
    bool ok = make_entry(a, p.step, &entry, err);
    if (ok && p.found && !is_nothing(p.rest)) {
        ok = error_set(err, ERR_CONFIG, "mcp_servers of %s is written in one line: add the entry by hand", a->path);
    } else if (ok && p.found) {
        bool empty = p.rest.n && p.rest.at[0] != '#';             /* {} gives way to the block */
        buf_add(&a->after, str_sub(text, 0, empty ? p.key : p.block_end));
        if (empty) buf_add_fmt(&a->after, "mcp_servers:%s", a->end);
        else if (a->after.n && a->after.at[a->after.n - 1] != '\n') buf_add(&a->after, str_from(a->end));
        buf_add(&a->after, buf_str(&entry));
        buf_add(&a->after, str_sub(text, empty ? p.key_end : p.block_end, text.n));
    } else if (ok) {
        buf_add(&a->after, str_sub(text, 0, p.end));
        if (a->after.n && a->after.at[a->after.n - 1] != '\n') buf_add(&a->after, str_from(a->end));
        buf_add_fmt(&a->after, "mcp_servers:%s", a->end);
        buf_add(&a->after, buf_str(&entry));
        buf_add(&a->after, str_sub(text, p.end, text.n));
    }
    buf_clear(&entry);
    return ok;
}

/* ---- writing ---- */

/* Whole or not at all; keeps the mode. */
static bool write_file(const char *path, Str text, Error *err) {
    char temp[4200];
    struct stat st;
    mode_t mode = stat(path, &st) == 0 ? st.st_mode & 0777 : 0644;
    snprintf(temp, sizeof temp, "%s.%d.new", path, (int)getpid());
    int fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (fd < 0) return error_set(err, ERR_IO, "%s: %m", temp);
    bool ok = fchmod(fd, mode) == 0;
    for (size_t done = 0; ok && done < text.n;) {
        ssize_t n = write(fd, text.at + done, text.n - done);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) ok = false;
        else done += (size_t)n;
    }
    ok = ok && fsync(fd) == 0;
    close(fd);
    ok = ok && rename(temp, path) == 0;
    if (!ok) error_set(err, ERR_IO, "%s: %m", path), unlink(temp);
    return ok;
}

static bool has_server(const Project *p, Str name) {
    for (size_t i = 0; i < p->n_servers; i++)
        if (str_eq(p->servers[i].name, name)) return true;
    return false;
}

/* What was written must be what was meant: else the old file comes back. */
static bool verify(Adding *a, bool existed, Error *err) {
    Problems problems = { 0 };
    Project *p = NULL;
    bool ok = report_load(a->cli, false, &p, &problems) && has_server(p, a->name);
    if (!ok) {
        Error ignored;
        error_set(err, ERR_CONFIG, "the entry does not fit into %s: %s", a->path, problems.n ? problems.at[0].message.at : "it cannot be found again");
        if (existed) (void)write_file(a->path, buf_str(&a->before), &ignored);
        else (void)unlink(a->path);
    }
    project_free(p);
    problems_clear(&problems);
    return ok;
}

static bool check_use(const Adding *a, Error *err) {
    const Args *args = &a->cli->args;
    const char *url = args_value(args, "--url");
    if ((url != NULL) == (args->n_operands > 1)) return error_set(err, ERR_VALIDATION, "say what to start (-- CMD...) or where it is (--url URL), one of both");
    if (url && !mcp_direct_is_url(url)) return error_set(err, ERR_VALIDATION, "--url: must start with https:// or http://");
    if (url && args_value(args, "--env")) return error_set(err, ERR_VALIDATION, "--env is for a program; a URL takes --header");
    if (!url && args_value(args, "--header")) return error_set(err, ERR_VALIDATION, "--header is for a URL; a program takes --env");
    return true;
}

/* The person has just said what to add: a project that was trusted before, or needed no trust, stays so. */
static bool was_trusted(Cli *cli, bool *out, Error *err) {
    Runtime *rt = trust_prompt_read(cli, NULL, err);
    bool ok = rt && trust_prompt_trusted(rt, out, err);
    runtime_close(rt);
    return ok;
}

static bool keep_trust(Cli *cli, Error *err) {
    Runtime *rt = trust_prompt_read(cli, NULL, err);
    bool ok = rt && trust_give(runtime_trust_subject(rt), false, err);
    runtime_close(rt);
    return ok;
}

static void say_next(const Adding *a) {
    Buf line = { 0 };
    buf_add_fmt(&line, "next: harness mcp tools " STR_FMT, STR_ARG(a->name));
    if (!args_has(&a->cli->args, "--quiet")) cli_say(a->cli, SAY_HINT, buf_str(&line));
    buf_clear(&line);
}

static int add(Adding *a, const Project *p) {
    Error err = { 0 };
    if (has_server(p, a->name)) {
        error_set(&err, ERR_CONFIG, "server \"" STR_FMT "\" is there already", STR_ARG(a->name));
        return cli_fail(a->cli, CLI_FAILED, &err);
    }
    bool trusted, existed = find_file(a, p);
    bool ok = was_trusted(a->cli, &trusted, &err);
    ok = ok && (existed ? file_read(a->path, FILE_MAX, &a->before, &err) : (buf_add(&a->before, STR("---\n---\n")), true));
    ok = ok && compose(a, &err) && write_file(a->path, buf_str(&a->after), &err) && verify(a, existed, &err) && (!trusted || keep_trust(a->cli, &err));
    if (!ok) return cli_fail(a->cli, CLI_FAILED, &err);
    Buf *out = &a->cli->out;
    if (a->cli->json) {
        buf_add(out, STR("{\"server\":"));
        json_write_string(out, a->name, false);
        buf_add(out, STR(",\"file\":"));
        json_write_string(out, str_from(a->path), false);
        buf_add(out, STR("}\n"));
    } else {
        buf_add_fmt(out, "added " STR_FMT " to %s\n", STR_ARG(a->name), a->path);
        cli_flush(a->cli);
        say_next(a);
    }
    return CLI_OK;
}

int command_mcp_add(Cli *cli) {
    Adding a = { .cli = cli, .name = str_from(cli->args.operands[0]) };
    Error err = { 0 };
    if (!check_use(&a, &err)) return cli_fail(cli, CLI_WRONG_USE, &err);
    Project *p = report_project(cli);
    if (!p) return CLI_FAILED;
    int status = add(&a, p);
    project_free(p);
    buf_clear(&a.before);
    buf_clear(&a.after);
    return status;
}
