/* harness guard install, harness guard uninstall: the hook in another agent's configuration file. */
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/file.h"
#include "cli/command/guard_file.h"
#include "cli/replace_file.h"
#include "guard/advice.h"
#include "guard/guard.h"
#include "value/json.h"

enum { FILE_MAX = 4 << 20 };
#define BACKUP ".before-harness"

typedef struct Work {
    Cli *cli;
    GuardFile file;
    Buf before, after, backup;
    bool exists, changed;
    const char *did;
} Work;

/* ---- where ---- */

static const char *home_folder(void) {
    const char *home = getenv("HOME");
    const struct passwd *pw = home && *home == '/' ? NULL : getpwuid(getuid());
    return pw ? pw->pw_dir : home;
}

/* Follows links of the user's own home folder, which dotfile managers create. Another person may have created a project's links: their
 * targets must be in the project. */
static bool resolve(GuardFile *f, Error *err) {
    char real[PATH_MAX], part[PATH_MAX];
    struct stat st;
    if (lstat(f->full, &st) == 0 && S_ISLNK(st.st_mode) && stat(f->full, &st) != 0)
        return error_set(err, ERR_VALIDATION, "%s is a link that leads nowhere", f->full);
    memcpy(part, f->full, sizeof part);
    while (!realpath(part, real) && strrchr(part, '/') != part) *strrchr(part, '/') = 0;      /* the deepest folder that exists */
    size_t n = strlen(f->project);
    if (f->install.scope == GUARD_SCOPE_PROJECT && (strncmp(real, f->project, n) != 0 || (real[n] && real[n] != '/')))
        return error_set(err, ERR_VALIDATION, "%s leads out of the project, to %s (make it a file of the project, or use --user)", f->full, real);
    if (!realpath(f->full, f->path)) memcpy(f->path, f->full, sizeof f->path);
    return true;
}

bool guard_file_find(Cli *cli, Vendor vendor, GuardScope scope, GuardFile *f, Error *err) {
    const char *project = cli_project(cli);
    *f = (GuardFile){ .install = { .vendor = vendor, .scope = scope, .program = f->program, .project = f->project, .home = home_folder() } };
    ssize_t n = readlink("/proc/self/exe", f->program, sizeof f->program - 1);
    if (n <= 0) return error_set(err, ERR_IO, "the path of this program is not known: %m");
    f->program[n] = 0;
    if (!realpath(project ? project : ".", f->project)) return error_set(err, ERR_IO, "%s: %m", project ? project : ".");
    if (scope == GUARD_SCOPE_USER && !f->install.home) return error_set(err, ERR_CONFIG, "there is no home folder (set HOME)");
    return guard_install_path(&f->install, f->full, err) && resolve(f, err);
}

bool guard_file_vendor(const char *name, Vendor *out, Error *err) {
    size_t n;
    const Str *names = vendor_list(&n);
    if (vendor_find(str_from(name), out) && guard_vendor(*out)) return true;
    Str near = str_nearest(str_from(name), names, n);
    error_set(err, ERR_VALIDATION, "unknown agent \"%s\"", name);
    if (near.n && !str_eq(near, STR("harness"))) return error_hint(err, "did you mean \"" STR_FMT "\"?", STR_ARG(near));
    return error_hint(err, "see harness help guard install");
}

static bool find_scope(Cli *cli, GuardScope *out, Error *err) {
    bool user = args_has(&cli->args, "--user"), managed = args_has(&cli->args, "--managed");
    *out = user ? GUARD_SCOPE_USER : managed ? GUARD_SCOPE_MANAGED : GUARD_SCOPE_PROJECT;
    return !(user && managed) || error_set(err, ERR_VALIDATION, "give either --user or --managed");
}

static bool begin(Work *w, Error *err) {
    Vendor vendor;
    GuardScope scope;
    struct stat st;
    if (!guard_file_vendor(w->cli->args.operands[0], &vendor, err) || !find_scope(w->cli, &scope, err)
        || !guard_file_find(w->cli, vendor, scope, &w->file, err)) return false;
    w->exists = stat(w->file.path, &st) == 0;
    return !w->exists || file_read(w->file.path, FILE_MAX, &w->before, err) || error_wrap(err, "%s", w->file.path);
}

/* ---- writing ---- */

static bool make_folders(const char *path, Error *err) {
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%s", path);
    for (char *at = strchr(folder + 1, '/'); at; at = strchr(at + 1, '/')) {
        *at = 0;
        if (mkdir(folder, 0755) != 0 && errno != EEXIST) return error_set(err, ERR_IO, "%s: %m", folder);
        *at = '/';
    }
    return true;
}

static void backup_path(const Work *w, char out[PATH_MAX + 32]) { snprintf(out, PATH_MAX + 32, "%s" BACKUP, w->file.path); }

/* Keeps the file as it was before the first install; a later install does not replace that copy. */
static bool back_up(Work *w, Error *err) {
    char path[PATH_MAX + 32];
    GuardInstalled now;
    guard_installed_read(&w->file.install, buf_str(&w->before), &now);
    bool first = now.found == 0;
    guard_installed_clear(&now);
    backup_path(w, path);
    return !w->exists || !first || replace_file(path, buf_str(&w->before), 0600, err);
}

static bool write_file(Work *w, Error *err) {
    mode_t mode = w->file.install.scope == GUARD_SCOPE_USER ? 0600 : 0644;
    return make_folders(w->file.path, err) && replace_file(w->file.path, buf_str(&w->after), mode, err);
}

/* If nothing was changed since install, restores the file from before it, byte for byte. */
static bool restore(Work *w) {
    char path[PATH_MAX + 32];
    Buf again = { 0 };
    Error ignored = { 0 };
    backup_path(w, path);
    bool same = file_read(path, FILE_MAX, &w->backup, &ignored) && guard_install_text(&w->file.install, buf_str(&w->backup), &again, &ignored) &&
                str_eq(buf_str(&again), buf_str(&w->before));
    buf_clear(&again);
    if (!same) return false;
    buf_reset(&w->after);
    buf_add(&w->after, buf_str(&w->backup));
    return true;
}

static bool remove_entries(Work *w, Error *err) {
    char path[PATH_MAX + 32];
    bool restored = restore(w);
    if (!restored && w->after.n == 0) {
        if (unlink(w->file.path) != 0) return error_set(err, ERR_IO, "%s: %m", w->file.path);
        snprintf(path, sizeof path, "%s", w->file.path);
        rmdir(dirname(path));                /* removes a folder that install created; fails if it is not empty */
        return true;
    }
    if (!write_file(w, err)) return false;
    backup_path(w, path);
    if (restored) unlink(path);
    return true;
}

/* ---- */

static int report(Work *w, bool ok, const Error *err) {
    Buf *out = &w->cli->out;
    const char *title = w->file.install.program ? vendor_title(w->file.install.vendor) : "";
    if (!ok) {
        /* the error is reported below */
    } else if (w->cli->json) {
        buf_add(out, STR("{\"vendor\":"));
        json_write_string(out, str_from(vendor_name(w->file.install.vendor)), false);
        buf_add(out, STR(",\"file\":"));
        json_write_string(out, str_from(w->file.path), false);
        buf_add_fmt(out, ",\"changed\":%s}\n", w->changed ? "true" : "false");
    } else if (w->changed) buf_add_fmt(out, "%s %s: %s\n", w->did, title, w->file.path);
    else buf_add_fmt(out, "nothing to do for %s: %s\n", title, w->file.path);
    buf_clear(&w->before);
    buf_clear(&w->after);
    buf_clear(&w->backup);
    return ok ? CLI_OK : cli_fail(w->cli, CLI_FAILED, err);
}

static void say_next(const Work *w) {
    const char *next = guard_advice(w->file.install.vendor)->next;
    if (*next) cli_say(w->cli, SAY_HINT, str_from(next));
}

int command_guard_install(Cli *cli) {
    Work w = { .cli = cli, .did = "installed the guard for" };
    Error err = { 0 };
    bool ok = begin(&w, &err) && (guard_install_text(&w.file.install, buf_str(&w.before), &w.after, &err) || error_wrap(&err, "%s", w.file.path));
    if (ok && args_has(&cli->args, "--print")) {
        cli_add_bytes(cli, buf_str(&w.after));
        buf_clear(&w.before);
        buf_clear(&w.after);
        return CLI_OK;
    }
    w.changed = ok && !(w.exists && str_eq(buf_str(&w.before), buf_str(&w.after)));
    if (w.changed) ok = back_up(&w, &err) && write_file(&w, &err);
    if (ok) say_next(&w);
    return report(&w, ok, &err);
}

int command_guard_uninstall(Cli *cli) {
    Work w = { .cli = cli, .did = "removed the guard of" };
    Error err = { 0 };
    bool ok = begin(&w, &err) && (!w.exists || guard_uninstall_text(&w.file.install, buf_str(&w.before), &w.after, &err)
        || error_wrap(&err, "%s", w.file.path));
    w.changed = ok && w.exists && !str_eq(buf_str(&w.before), buf_str(&w.after));
    if (w.changed) ok = remove_entries(&w, &err);
    return report(&w, ok, &err);
}
