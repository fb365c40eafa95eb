#include "schema/folder.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include "base/file.h"
#include "base/mem.h"
#include "base/table.h"
#include "value/json.h"

#define FILE_MAX ((size_t)64 << 20)

/* `known` maps a URI to its document, so that all schemas share one parse of a file. */
struct SchemaFolder { char *prefix, *dir; Heap *heap; Arena arena; Table known; };

SchemaFolder *schema_folder_new(Str prefix, const char *dir) {
    SchemaFolder *f = mem_zero(1, sizeof *f);
    f->prefix = str_dup(prefix);
    f->dir = str_dup(str_from(dir));
    f->heap = heap_new(0);
    return f;
}

void schema_folder_free(SchemaFolder *f) {
    if (!f) return;
    free(f->prefix);
    free(f->dir);
    heap_free(f->heap);
    arena_clear(&f->arena);
    table_clear(&f->known);
    free(f);
}

/* Accepts plain path segments only, so that a path cannot leave the folder. */
static bool path_ok(Str rest) {
    if (rest.n == 0 || memchr(rest.at, 0, rest.n)) return false;
    for (size_t at = 0; at <= rest.n;) {
        size_t end = at;
        while (end < rest.n && rest.at[end] != '/') end++;
        Str segment = str_sub(rest, at, end);
        if (segment.n == 0 || str_eq(segment, STR(".")) || str_eq(segment, STR(".."))) return false;
        at = end + 1;
    }
    return true;
}

bool schema_folder_resolve(void *folder, Str uri, Value *out, Error *err) {
    SchemaFolder *f = folder;
    Str prefix = str_from(f->prefix);
    const Value *known = table_get(&f->known, uri);
    *out = VALUE_GONE;
    if (known) return *out = *known, true;
    if (!str_starts(uri, prefix) || !path_ok(str_sub(uri, prefix.n, uri.n))) return true;
    char *path = arena_fmt(&f->arena, "%s/" STR_FMT, f->dir, STR_ARG(str_sub(uri, prefix.n, uri.n)));
    struct stat info;
    if (stat(path, &info) != 0 && (errno == ENOENT || errno == ENOTDIR)) return true;
    Buf text = { 0 };
    Value *kept = ARENA_NEW(&f->arena, Value);
    bool ok = file_read(path, FILE_MAX, &text, err) && json_read(f->heap, buf_str(&text), NULL, kept, err);
    buf_clear(&text);
    if (!ok) return false;
    table_put(&f->known, arena_str(&f->arena, uri), kept);
    return *out = *kept, true;
}
