/* Creates all host modules. */
#include "artifact/host_names.h"
#include "script/script.h"

/* Finds a function in one table. */
static const NativeDef *find_in(const NativeDef *defs, size_t n, const char *name) {
    for (size_t i = 0; i < n; i++)
        if (strcmp(defs[i].name, name) == 0) return &defs[i];
    return NULL;
}

/* Finds a function by its full name. */
static const NativeDef *find(const char *name) {
    const NativeDef *found = NULL;
#define TABLE(table, heading, about) if (!found) found = find_in(script_##table, script_##table##_n, name);
#include "script/tables.def"
#undef TABLE
    return found;
}

bool host_modules_new(Heap **heap, Dict **tools, Dict **hooks, Error *err) {
    Heap *h = heap_new(0);
    HostNames names;
    if (!host_names_make(h, find, &names, err)) return heap_free(h), false;
    heap_freeze_all(h);
    *heap = h;
    *tools = names.tools;
    *hooks = names.hooks;
    return true;
}
