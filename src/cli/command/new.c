/* harness new KIND NAME: writes one commented file of that kind into the project. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "cli/cli.h"
#include "cli/mcp_entry.h"
#include "cli/new_files.h"
#include "cli/scaffold.h"
#include "value/json.h"

static bool check_name(const NewFile *f, const char *name, Error *err) {
    bool skill = strcmp(f->kind, "skill") == 0, ok = *name && strlen(name) <= 64;
    for (const char *c = name; *c; c++) {
        bool small = (*c >= 'a' && *c <= 'z') || (*c >= '0' && *c <= '9') || *c == '-';
        ok = ok && (small || (!skill && ((*c >= 'A' && *c <= 'Z') || *c == '_')));
    }
    if (ok) return true;
    error_set(err, ERR_VALIDATION, "new: a %s cannot be named \"%s\"", f->kind, name);
    return error_hint(err, "a name has 1 to 64 characters of %s, and no file ending", skill ? "a-z, 0-9 and -" : "A-Z, a-z, 0-9, _ and -");
}

static void fill(const char *text, const char *name, Buf *out) {
    for (const char *at; (at = strstr(text, "@NAME@")); text = at + 6) {
        buf_add(out, (Str){ text, (size_t)(at - text) });
        buf_add(out, str_from(name));
    }
    buf_add(out, str_from(text));
}

static bool write_file(Cli *cli, const char *path, const char *text, Error *err) {
    const char *root = cli_project(cli);
    int fd = open(root ? root : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return error_set(err, ERR_IO, "open %s: %m", root ? root : ".");
    ScaffoldOutcome outcome = { 0 };
    bool ok = scaffold_write_one(fd, &(ScaffoldFile){ path, text }, &outcome, err);
    close(fd);
    if (ok && outcome.kept) {
        error_set(err, ERR_IO, "%s exists already, and was left as it is", path);
        ok = error_hint(err, "choose another name, or edit the file");
    }
    return ok;
}

static void print(Cli *cli, const NewFile *f, const char *name, const char *path) {
    Buf line = { 0 };
    if (cli->json) {
        buf_add_fmt(&cli->out, "{\"kind\":\"%s\",\"name\":\"%s\",\"file\":\"%s\"}\n", f->kind, name, path);
        return;
    }
    buf_add_fmt(&cli->out, "created  %s\n", path);
    cli_flush(cli);
    buf_add(&line, STR("next: edit it; then "));
    fill(f->next, name, &line);
    if (!args_has(&cli->args, "--quiet")) cli_say(cli, SAY_HINT, buf_str(&line));
    buf_clear(&line);
}

int command_new(Cli *cli) {
    const char *name = cli->args.operands[1];
    const NewFile *f = new_files_find(cli->args.operands[0]);
    Error err = { 0 };
    char path[256];
    Buf text = { 0 };
    if (!f || !check_name(f, name, &err)) return cli_fail(cli, CLI_WRONG_USE, &err);
    snprintf(path, sizeof path, "%s/%s%s", f->folder, name, f->file);
    fill(f->text, name, &text);
    Error ignored = { 0 };
    bool trusted = false, known = mcp_entry_trusted(cli, &trusted, &ignored);      /* a project that does not load can get a file too */
    bool ok = write_file(cli, path, text.at, &err);
    if (ok && known && trusted) (void)mcp_entry_keep_trust(cli, &ignored);
    buf_clear(&text);
    if (!ok) return cli_fail(cli, CLI_FAILED, &err);
    print(cli, f, name, path);
    return CLI_OK;
}
