#include "tool/record.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/mem.h"
#include "sandbox/mark.h"
#include "store/store.h"

static void make_folder(const char *path) {
    char *p = mem_dup(path, strlen(path));
    for (char *c = p + 1; *c; c++)
        if (*c == '/') *c = 0, (void)mkdir(p, 0700), *c = '/';
    (void)mkdir(p, 0700);
    free(p);
}

/* A home that is not there (a service's /nonexistent) is not made. */
static bool has_home(void) {
    struct stat st;
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    return (state && state[0] == '/') || (home && stat(home, &st) == 0 && S_ISDIR(st.st_mode));
}

/* …/harness/PROJECT-ID/harness.db → …/harness/rules: one for all projects, so that ones that keep nothing leave no folders. */
static void default_place(Buf *out) {
    if (!has_home() || !store_default_path(STR("/"), out, NULL)) return buf_reset(out);
    for (int i = 0; i < 2; i++)
        while (out->n && out->at[--out->n] != '/') {}
    buf_add(out, STR("/rules"));
}

void record_places(const char *state, RecordPlaces *out) {
    Buf first = { 0 }, second = { 0 };
    char here[PATH_MAX];
    if (!state || !state[0]) state = getenv("HARNESS_STATE");
    if (state && state[0]) {
        if (state[0] != '/' && getcwd(here, sizeof here)) buf_add_fmt(&first, "%s/", here);
        buf_add_fmt(&first, "%s-rules", state);
    } else {
        default_place(&first);
    }
    buf_add_fmt(&second, "/tmp/harness-%u/rules", (unsigned)geteuid());
    *out = (RecordPlaces){ { first.n ? buf_take(&first) : NULL, buf_take(&second) } };
    buf_clear(&first);
}

void record_places_clear(RecordPlaces *p) {
    for (size_t i = 0; i < RECORD_FOLDERS; i++) free(p->at[i]);
    *p = (RecordPlaces){ 0 };
}

/* In /tmp, the second place, anybody could have made the folder. */
static bool is_ours(const RecordPlaces *p, size_t i) {
    struct stat st;
    char above[PATH_MAX];
    const char *path = p->at[i], *slash = strrchr(path, '/');
    if (i == 0) return true;
    snprintf(above, sizeof above, "%.*s", (int)(slash - path), path);
    return lstat(above, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() && (st.st_mode & 022) == 0;
}

bool record_recover(const RecordPlaces *p, const char *root, bool look_only, Buf *told, Error *err) {
    for (size_t i = 0; i < RECORD_FOLDERS; i++)
        if (p->at[i] && is_ours(p, i) && !mark_recover(p->at[i], root, root, look_only, told, err)) return false;
    return true;
}

static bool within(const char *path, const char *const *reach) {
    for (; reach && *reach; reach++) {
        size_t n = strlen(*reach);
        if (n == 1 || (strncmp(path, *reach, n) == 0 && (path[n] == '/' || path[n] == 0))) return true;
    }
    return false;
}

/* Where nothing may be made below the folder, because it is inside, none is. */
const char *record_folder(const RecordPlaces *p, const char *const *reach, Error *err) {
    char real[PATH_MAX];
    const char *inside = NULL;
    for (size_t i = 0; i < RECORD_FOLDERS; i++) {
        if (!p->at[i]) continue;
        if (within(p->at[i], reach)) {
            inside = p->at[i];
            continue;
        }
        make_folder(p->at[i]);
        if (!realpath(p->at[i], real) || access(real, W_OK | X_OK) != 0 || !is_ours(p, i)) continue;
        if (!within(real, reach)) return p->at[i];
        inside = p->at[i];
    }
    if (inside) error_set(err, ERR_SANDBOX, "what is at work cannot be put on record: %s lies where tools can write", inside);
    else error_set(err, ERR_SANDBOX, "what is at work cannot be put on record: %s cannot be written", p->at[0] ? p->at[0] : p->at[1]);
    error_hint(err, "set HARNESS_STATE to a file in a folder that can be written, outside of the workspace");
    return NULL;
}
