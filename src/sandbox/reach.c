#include "sandbox/reach.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/mem.h"
#include "sandbox/call.h"
#include "sandbox/probe.h"
#include "sandbox/sandbox.h"
#include "sandbox/path_walk.h"

enum { LINE_MAX_BYTES = 3 * PATH_MAX };

bool reach_is_below(const char *path, const char *folder) {
    size_t n = strlen(folder);
    return strcmp(folder, "/") == 0 || (strncmp(path, folder, n) == 0 && (path[n] == '/' || path[n] == 0));
}

/* `rest` does not exist: skips empty names in it, as the kernel does. */
static bool join(const char *real, const char *rest, char out[PATH_MAX]) {
    size_t n = strcmp(real, "/") == 0 ? 0 : strlen(real);
    memcpy(out, real, n);
    while (*rest) {
        size_t slashes = strspn(rest, "/"), length = strcspn(rest + slashes, "/");
        if (length && n + 1 + length >= PATH_MAX) return false;
        if (length) out[n++] = '/';
        memcpy(out + n, rest + slashes, length);
        n += length;
        rest += slashes + length;
    }
    if (!n) out[n++] = '/';
    out[n] = 0;
    return true;
}

bool reach_resolve(const char *path, char out[PATH_MAX]) {
    char head[PATH_MAX], real[PATH_MAX];
    if (snprintf(head, sizeof head, "%s", path) >= (int)sizeof head) return false;
    for (size_t cut = strlen(head);;) {
        if (realpath(cut ? head : "/", real)) return join(real, path + cut, out);
        while (cut && head[cut - 1] != '/') cut--;
        while (cut && head[cut - 1] == '/') cut--;
        if (!cut && path[0] != '/') return false;
        head[cut] = 0;
    }
}

/* ---- other names through mounts --------------------------------------------------------------------------------- */

typedef struct MountLine { char device[32], root[PATH_MAX], point[PATH_MAX]; } MountLine;

/* Spaces and the like are escaped as \040. */
static void unescape(char *text) {
    char *to = text;
    for (const char *from = text; *from; to++) {
        bool octal = from[0] == '\\' && from[1] >= '0' && from[1] <= '3' && from[2] && from[3];
        *to = octal ? (char)((from[1] - '0') << 6 | (from[2] - '0') << 3 | (from[3] - '0')) : *from;
        from += octal ? 4 : 1;
    }
    *to = 0;
}

static bool read_mount(FILE *f, MountLine *m) {
    char line[LINE_MAX_BYTES];
    while (fgets(line, sizeof line, f)) {
        if (sscanf(line, "%*s %*s %31s %4095s %4095s", m->device, m->root, m->point) != 3) continue;
        unescape(m->root);
        unescape(m->point);
        return true;
    }
    return false;
}

static const char *below_text(const char *path, const char *folder) { return path + (strcmp(folder, "/") == 0 ? 0 : strlen(folder)); }

/* The mount that shows the path: the last one with the longest prefix. */
static bool find_mount(const char *path, MountLine *out) {
    MountLine m;
    bool found = false;
    FILE *f = fopen("/proc/self/mountinfo", "re");
    while (f && read_mount(f, &m))
        if (reach_is_below(path, m.point) && (!found || strlen(m.point) >= strlen(out->point))) *out = m, found = true;
    if (f) fclose(f);
    return found;
}

bool reach_names(const char *path, ReachEach *each, void *ctx) {
    MountLine own = { 0 }, m;
    char inside[2 * PATH_MAX], other[3 * PATH_MAX];
    bool found = find_mount(path, &own), go_on = each(ctx, path);        /* `each` may mount something over it */
    if (!go_on || !found) return go_on;
    snprintf(inside, sizeof inside, "%s%s", strcmp(own.root, "/") == 0 ? "" : own.root, below_text(path, own.point));
    FILE *f = fopen("/proc/self/mountinfo", "re");
    while (f && go_on && read_mount(f, &m)) {
        if (strcmp(m.device, own.device) != 0 || !reach_is_below(inside, m.root)) continue;
        snprintf(other, sizeof other, "%s%s", strcmp(m.point, "/") == 0 ? "" : m.point, below_text(inside, m.root));
        if (strlen(other) < PATH_MAX && strcmp(other, path) != 0) go_on = each(ctx, other);
    }
    if (f) fclose(f);
    return go_on;
}

typedef struct Holder { const char *const *roots; const char *which; } Holder;

/* True: continue, no root contains this name. */
static bool is_outside(void *ctx, const char *name) {
    Holder *h = ctx;
    for (size_t i = 0; h->roots && h->roots[i]; i++)
        if (strcmp(name, h->roots[i]) != 0 && reach_is_below(name, h->roots[i])) return h->which = h->roots[i], false;
    return true;
}

bool reach_holds(const char *const *roots, const char *path, const char **which) {
    Holder h = { .roots = roots };
    bool held = !reach_names(path, is_outside, &h);
    if (held && which) *which = h.which;
    return held;
}

/* ---- the check -------------------------------------------------------------------------------------------------- */

/* A path that must be unreachable, and a path that the rules make accessible. */
typedef struct Pair { const char *kept, *what, *root; bool file; Error *err; } Pair;

static bool say_inside(const Pair *p) {
    if (p->file)
        return error_set(p->err, ERR_CONFIG, "the state file %s is inside %s %s, where tools could read it: set HARNESS_STATE to another location", p->kept, p->what, p->root);
    error_set(p->err, ERR_CONFIG, "harness's own folder %s is inside %s %s, where tools could reach it", p->kept, p->what, p->root);
    return error_hint(p->err, "open a narrower folder, or set XDG_STATE_HOME and XDG_CONFIG_HOME to other folders");
}

static bool is_apart(void *ctx, const char *name) {
    const Pair *p = ctx;
    if (reach_is_below(name, p->root)) return say_inside(p);
    if (p->file || !reach_is_below(p->root, name)) return true;
    error_set(p->err, ERR_CONFIG, "%s %s is inside %s, where harness keeps its own files", p->what, p->root, p->kept);
    return error_hint(p->err, "choose another folder");
}

/* With the real home the private folders are covered, which needs mounts and a folder that contains nothing else. */
static bool home_can_be_real(const SandboxRules *r, const Pair *p) {
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%s", p->kept);
    if (!reach_is_below(p->kept, p->root)) return true;
    if (!call_has_mounts(r)) {
        error_set(p->err, ERR_SANDBOX, "sandbox.home: real would open %s, which is inside %s, and there are no private mounts to cover it: %s", p->kept, p->root,
                  r->mounts == SANDBOX_MOUNTS_OFF ? "sandbox.mounts is off" : probe_mounts_problem());
        return error_hint(p->err, "remove sandbox.home: real, or name single folders in read_roots and write_roots");
    }
    if (!p->file) return true;
    *strrchr(folder, '/') = 0;
    return (!reach_is_below(p->root, folder) && !reach_is_below(r->workspace, folder)) || say_inside(p);
}

/* The path to a hidden folder or file, as written. */
typedef struct Passing { const char *kept, *real; const char *const *roots; bool file; } Passing;

/* If a call can exchange a link or folder on the path, the next start would use another state. A folder without links that contains the state is
 * checked elsewhere, because the state is inside it then. */
static bool is_steady(void *ctx, const PathStep *step, Error *err) {
    const Passing *p = ctx;
    const char *which;
    if ((step->kind != 'l' && reach_is_below(p->real, step->at)) || !reach_holds(p->roots, step->at, &which)) return true;
    error_set(err, ERR_CONFIG, "%s %s is reached through %s, which lies inside %s, where tools could exchange it",
              p->file ? "the state" : "harness's own folder", p->kept, step->at, which);
    return error_hint(err, "set %s to a path without links, such as %s", p->file ? "HARNESS_STATE" : "XDG_STATE_HOME or XDG_CONFIG_HOME", p->real);
}

static bool path_is_steady(const SandboxRules *r, const char *home, Passing *p, Error *err) {
    size_t n = 0, i = 0;
    PathEnd end;
    Error why = { 0 };
    while (r->write_roots && r->write_roots[n]) n++;
    const char **roots = mem_zero(n + 3, sizeof *roots);
    roots[i++] = r->workspace;
    for (size_t k = 0; k < n; k++) roots[i++] = r->write_roots[k];
    if (home) roots[i++] = home;
    p->roots = roots;
    bool walked = path_walk(p->kept, is_steady, p, &end, &why);
    bool ok = walked || errno == ENOENT || errno == ENOTDIR || errno == EACCES;      /* an unreachable path cannot be used */
    if (walked) close(end.folder);
    free(roots);
    if (!ok && err) *err = why;
    return ok;
}

static bool is_kept_apart(const SandboxRules *r, const char *kept, bool file, Error *err) {
    char real[PATH_MAX], home[PATH_MAX];
    if (!reach_resolve(kept, real)) return error_set(err, ERR_CONFIG, "%s: the path is too long", kept);
    Pair p = { .kept = real, .what = "the workspace", .root = r->workspace, .file = file, .err = err };
    if (!reach_names(real, is_apart, &p)) return false;
    p.what = "the read root";
    for (size_t i = 0; r->read_roots && (p.root = r->read_roots[i]); i++)
        if (!reach_names(real, is_apart, &p)) return false;
    p.what = "the write root";
    for (size_t i = 0; r->write_roots && (p.root = r->write_roots[i]); i++)
        if (!reach_names(real, is_apart, &p)) return false;
    bool real_home = r->real_home && r->mode != SANDBOX_OFF && getenv("HOME") && reach_resolve(getenv("HOME"), home);
    if (!path_is_steady(r, real_home ? home : NULL, &(Passing){ .kept = kept, .real = real, .file = file }, err)) return false;
    p.what = "the home folder";
    p.root = home;
    return !real_home || home_can_be_real(r, &p);
}

bool sandbox_reach(const SandboxRules *r, Error *err) {
    for (size_t i = 0; r->hidden && r->hidden[i]; i++)
        if (!is_kept_apart(r, r->hidden[i], false, err)) return false;
    return !r->state || is_kept_apart(r, r->state, true, err);
}
