#include "tool/resource.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "artifact/document.h"
#include "tool/pipeline/pipe.h"
#include "value/json.h"

/* ---- scripts ---- */

static const char parameters[] =
    "{\"type\":\"object\",\"properties\":{\"uri\":{\"type\":\"string\"},\"params\":{\"type\":\"object\"}},\"required\":[\"uri\",\"params\"]}";

static bool execute(ToolCallFrame *f, Error *err) {
    Dict *d = value_dict(f->args);
    Value args[] = { *dict_find_str(d, STR("uri")), *dict_find_str(d, STR("params")) }, out = VALUE_NONE;
    Buf text = { 0 };
    if (!module_call(f->worker->vm, f->entry->def.script, STR("read"), args, 2, &out, err)) return false;
    bool ok = json_write(&text, out, &(JsonWrite){ .cancel = f->cancel }, err) || error_wrap(err, "read returned a value that has no JSON form");
    buf_clear(&text);
    if (ok) f->value = out;
    return ok;
}

bool tool_resources_register(Runtime *rt, Error *err) {
    const Project *p = rt->project;
    Value root = VALUE_GONE;
    Schema *schema = NULL;
    for (size_t i = 0; i < p->n_resources; i++) {
        const ResourceDef *r = &p->resources[i];
        if (!r->script) continue;
        if (!schema) {
            if (!json_read(rt->heap, STR(parameters), &(JsonRead){ 0 }, &root, err)) return false;
            value_freeze(root);
            if (!schema_compile(&(SchemaInput){ .root = root }, &schema, err)) return false;
            VEC_PUSH(&rt->schemas, schema);
        }
        ToolEntry e = { .execute = execute, .scope = TOOL_RESOURCES,
                        .def = { .name = str_from(arena_fmt(&rt->arena, "resource:" STR_FMT, STR_ARG(r->name))), .description = r->description,
                                 .kind = TOOL_STARLARK, .origin = r->origin, .parameters = root, .schema = schema, .output_schema = VALUE_GONE,
                                 .timeout_ms = -1, .safety = VALUE_GONE, .retry = VALUE_GONE, .environment = VALUE_GONE, .script = r->script } };
        safety_detect(&e.def, &e.safety);
        if (!registry_add(rt->registry, &e, err)) return false;
    }
    return true;
}

bool tool_resource_call(const ResourceDef *r, Str uri, Value params, Buf *text, Buf *name, Call *out, Error *err) {
    buf_add(text, STR("{\"uri\":"));
    json_write_string(text, uri, false);
    buf_add(text, STR(",\"params\":"));
    if (!json_write(text, params, &(JsonWrite){ 0 }, err)) return false;
    buf_add_char(text, '}');
    buf_add_fmt(name, "resource:" STR_FMT, STR_ARG(r->name));
    *out = (Call){ .name = buf_str(name), .arguments = buf_str(text), .scope = TOOL_RESOURCES, .wait = true };
    return true;
}

/* ---- files ---- */

static bool guarded(Runtime *rt, const char *real) {
    pthread_mutex_lock(&rt->lock);
    if (!rt->guarded) rt->guarded = runtime_protected(rt, false);
    const char *const *list = rt->guarded;
    pthread_mutex_unlock(&rt->lock);
    Arena arena = { 0 };
    bool found = false;
    for (size_t i = 0; !found && list[i]; i++) {
        const char *const both[] = { list[i], runtime_moved(rt, list[i], &arena) };
        for (size_t k = 0; k < 2; k++) {
            size_t n = strlen(both[k]);
            found |= strncmp(real, both[k], n) == 0 && (real[n] == 0 || real[n] == '/');
        }
    }
    arena_clear(&arena);
    return found;
}

/* Checks the resolved path, not the name. */
static bool allowed(Runtime *rt, int fd, Str path, Str within, bool listed, Error *err) {
    char link[64], real[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, real, sizeof real - 1);
    if (n < 0) return error_set(err, ERR_IO, STR_FMT ": %m", STR_ARG(path));
    real[n] = 0;
    Str below = str_from(real);
    if (str_starts(below, runtime_root(rt))) below = str_sub(below, runtime_root(rt).n, below.n);
    if (approval_sensitive(path) || approval_sensitive(below))
        return error_set(err, ERR_POLICY, STR_FMT ": refusing to serve a file with a sensitive name", STR_ARG(path));
    if (within.n && !(str_starts(below, STR("/")) && str_starts(str_sub(below, 1, below.n), within) && below.n > within.n + 1 && below.at[within.n + 1] == '/'))
        return error_set(err, ERR_POLICY, STR_FMT ": it leads out of " STR_FMT, STR_ARG(path), STR_ARG(within));
    if (listed && guarded(rt, real)) return error_set(err, ERR_POLICY, STR_FMT ": refusing to serve a file of the project's rules", STR_ARG(path));
    return true;
}

static int open_file(Runtime *rt, Str path, Str within, bool listed, struct stat *st, Error *err) {
    DocumentContext c = { .root_fd = open(runtime_root(rt).at, O_PATH | O_DIRECTORY | O_CLOEXEC) };
    int fd = c.root_fd < 0 ? -1 : document_open(&c, path, O_RDONLY);
    bool ok = fd >= 0 && fstat(fd, st) == 0;
    if (!ok) error_set(err, ERR_IO, STR_FMT ": %s", STR_ARG(path), errno == EXDEV ? "it leads out of the project" : strerror(errno));
    if (ok && !S_ISREG(st->st_mode)) ok = error_set(err, ERR_IO, STR_FMT ": not a regular file", STR_ARG(path));
    if (ok) ok = allowed(rt, fd, path, within, listed, err);
    if (c.root_fd >= 0) close(c.root_fd);
    if (!ok && fd >= 0) close(fd);
    return ok ? fd : -1;
}

bool tool_resource_stat(Runtime *rt, Str path, bool listed, int64_t *size, Error *err) {
    struct stat st;
    int fd = open_file(rt, path, (Str){ 0 }, listed, &st, err);
    if (fd < 0) return false;
    close(fd);
    return *size = st.st_size, true;
}

static bool read_file(Runtime *rt, Str path, Str within, bool listed, Buf *out, Error *err) {
    struct stat st;
    int fd = open_file(rt, path, within, listed, &st, err);
    if (fd < 0) return false;
    bool ok = true;
    for (ssize_t n = 1; ok && n > 0;) {
        char *room = buf_room(out, 65536);
        n = read(fd, room, 65536);
        if (n < 0 && errno == EINTR) {
            n = 1;
            continue;
        }
        if (n < 0) ok = error_set(err, ERR_IO, STR_FMT ": %m", STR_ARG(path));
        else buf_commit(out, (size_t)n);
        if (out->n > JAIL_FILE_MAX) ok = error_set(err, ERR_LIMIT, STR_FMT ": larger than %d MiB", STR_ARG(path), JAIL_FILE_MAX >> 20);
    }
    close(fd);
    return ok;
}

bool tool_resource_file(Runtime *rt, Str path, bool listed, Buf *out, Error *err) { return read_file(rt, path, (Str){ 0 }, listed, out, err); }

bool tool_resource_below(Runtime *rt, Str folder, Str path, Buf *out, Error *err) {
    Buf whole = { 0 };
    buf_add_fmt(&whole, STR_FMT "/" STR_FMT, STR_ARG(folder), STR_ARG(path));
    bool ok = read_file(rt, buf_str(&whole), folder, false, out, err);
    buf_clear(&whole);
    return ok;
}

/* ---- folders ---- */

static int by_name(const void *a, const void *b) { return str_cmp(((const ResourceEntry *)a)->name, ((const ResourceEntry *)b)->name); }

static bool take_entry(int folder, const char *name, ResourceEntry *out) {
    struct stat st;
    if (name[0] == '.' || approval_sensitive(str_from(name)) || fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) != 0) return false;
    *out = (ResourceEntry){ .folder = S_ISDIR(st.st_mode), .size = st.st_size };
    return out->folder || S_ISREG(st.st_mode);
}

bool tool_resource_list(Runtime *rt, Str folder, Arena *arena, ResourceEntry **out, size_t *n, Error *err) {
    DocumentContext c = { .root_fd = open(runtime_root(rt).at, O_PATH | O_DIRECTORY | O_CLOEXEC) };
    int fd = c.root_fd < 0 ? -1 : document_open(&c, folder, O_RDONLY | O_DIRECTORY);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    VEC(ResourceEntry) all = { 0 };
    ResourceEntry e;
    if (c.root_fd >= 0) close(c.root_fd);
    if (!d) {
        error_set(err, ERR_IO, STR_FMT ": %m", STR_ARG(folder));
        if (fd >= 0) close(fd);
        return false;
    }
    for (struct dirent *at; all.n < TOOL_RESOURCE_ENTRIES_MAX && (at = readdir(d));)
        if (take_entry(fd, at->d_name, &e)) e.name = arena_str(arena, str_from(at->d_name)), VEC_PUSH(&all, e);
    closedir(d);
    if (all.n) qsort(all.at, all.n, sizeof *all.at, by_name);
    *out = ARENA_ARRAY(arena, ResourceEntry, all.n + 1);
    if (all.n) memcpy(*out, all.at, all.n * sizeof *all.at);
    *n = all.n;
    VEC_CLEAR(&all);
    return true;
}
