#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/new_files.h"
#include "cli/scaffold.h"
#include "cli/terminal/table.h"
#include "value/json.h"

static void add_json(Buf *out, const char *root, const ScaffoldOutcome *outcome) {
    buf_add(out, STR("{\"root\":"));
    json_write_string(out, str_from(root), false);
    for (int kept = 0; kept < 2; kept++) {
        bool first = true;
        buf_add(out, kept ? STR(",\"existing\":[") : STR(",\"created\":["));
        for (size_t i = 0; i < scaffold_count; i++) {
            const char *path = kept ? outcome[i].kept : outcome[i].created;
            if (!path) continue;
            if (!first) buf_add_char(out, ',');
            json_write_string(out, str_from(path), false);
            first = false;
        }
        buf_add_char(out, ']');
    }
    buf_add(out, STR("}\n"));
}

static void add_text(Cli *cli, const char *root, const ScaffoldOutcome *outcome) {
    Table t = { .columns = 2 };
    bool here = strcmp(root, ".") == 0;
    for (size_t i = 0; i < scaffold_count; i++) {
        const char *path = outcome[i].created ? outcome[i].created : outcome[i].kept;
        table_add(&t, outcome[i].created ? STR("created") : STR("exists"));
        table_add_fmt(&t, "%s%s%s", here ? "" : root, here ? "" : "/", path);
    }
    table_write(&t, &cli->out, 0, false);
}

static void say_next(Cli *cli, const char *root) {
    Buf line = { 0 };
    bool here = strcmp(root, ".") == 0;
    if (here) buf_add(&line, STR("next: harness run"));
    else buf_add_fmt(&line, "next: cd %s && harness run", root);
    if (!args_has(&cli->args, "--quiet")) cli_say(cli, SAY_HINT, buf_str(&line));
    buf_clear(&line);
}

static size_t count_created(const ScaffoldOutcome *outcome) {
    size_t n = 0;
    for (size_t i = 0; i < scaffold_count; i++) n += outcome[i].created != NULL;
    return n;
}

/* All files exist: lists them, and returns a status that says nothing was done. */
static int nothing_to_do(Cli *cli, const char *root, const ScaffoldOutcome *outcome) {
    Error err = { 0 };
    error_set(&err, ERR_IO, "nothing was written: all %zu files already exist", scaffold_count);
    if (cli->json) return cli_fail(cli, CLI_FAILED, &err);
    add_text(cli, root, outcome);
    cli_flush(cli);                                      /* print the list before the message */
    cli_say(cli, SAY_ERROR, str_from(err.msg));
    return CLI_FAILED;
}

static int write_project(Cli *cli, const char *root, int fd) {
    Error err = { 0 };
    ScaffoldOutcome *outcome = mem_zero(scaffold_count, sizeof *outcome);
    int status = CLI_OK;
    bool ok = scaffold_write(fd, outcome, &err);
    size_t n = count_created(outcome);
    if (!ok) {
        if (n) error_hint(&err, "%zu of %zu files were written; run it again to complete them", n, scaffold_count);
        status = cli_fail(cli, CLI_FAILED, &err);
    } else if (n == 0) {
        status = nothing_to_do(cli, root, outcome);
    } else if (cli->json) {
        add_json(&cli->out, root, outcome);
    } else {
        add_text(cli, root, outcome);
        if (cli_flush(cli)) say_next(cli, root);
        else status = CLI_FAILED;
    }
    free(outcome);
    return status;
}

/* True for a link, which init refuses: a tool of another project may have created it to redirect the files. */
static bool is_link(const char *root) {
    struct stat st;
    size_t n = strlen(root);
    while (n > 1 && root[n - 1] == '/') n--;
    char *path = str_dup((Str){ root, n });
    bool link = lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
    free(path);
    return link;
}

static int make_project(Cli *cli, const char *root, bool must_be_new) {
    Error err = { 0 };
    bool made = false;
    if (is_link(root)) {
        error_set(&err, ERR_IO, "%s is a symbolic link", root);
        error_hint(&err, "name the folder that it leads to");
        return cli_fail(cli, CLI_FAILED, &err);
    }
    if (strcmp(root, ".") != 0) {
        made = mkdir(root, 0777) == 0;
        if (!made && (errno != EEXIST || must_be_new)) {
            bool there = errno == EEXIST;
            scaffold_cannot_create(root, &err);
            if (there) error_hint(&err, "harness init %s adds what is missing there", root);
            return cli_fail(cli, CLI_FAILED, &err);
        }
    }
    int fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        error_set(&err, ERR_IO, "open %s: %m", root);
        return cli_fail(cli, CLI_FAILED, &err);
    }
    int status = write_project(cli, root, fd);
    close(fd);
    if (made && status != CLI_OK) (void)!rmdir(root);    /* removed only if it is empty */
    return status;
}

int command_init(Cli *cli) {
    const char *name = cli->args.n_operands ? cli->args.operands[0] : ".";
    return make_project(cli, *name ? name : ".", false);
}

int command_scaffold(Cli *cli) {
    const Args *a = &cli->args;
    if (a->n_operands > 1) {
        Error err = { 0 };
        error_set(&err, ERR_VALIDATION, "scaffold: unexpected \"%s\"", a->operands[1]);
        if (new_files_is(a->operands[0])) error_hint(&err, "harness new %s %s writes one %s", a->operands[0], a->operands[1], a->operands[0]);
        else error_hint(&err, "see harness scaffold --help");
        return cli_fail(cli, CLI_WRONG_USE, &err);
    }
    return make_project(cli, cli->args.operands[0], true);
}
