/* Creates all host modules. */
#include "artifact/host_names.h"
#include "base/table.h"
#include "script/script.h"

static void add_all(Table *to, const NativeDef *defs, size_t n) {
    for (size_t i = 0; i < n; i++) table_put(to, str_from(defs[i].name), (void *)(uintptr_t)&defs[i]);
}

bool host_modules_new(Heap **heap, Dict **tools, Dict **hooks, Error *err) {
    Heap *h = heap_new(0);
    HostNames names;
    Table functions = { 0 };
#define TABLE(table, heading, about) add_all(&functions, script_##table, script_##table##_n);
#include "script/tables.def"
#undef TABLE
    bool ok = host_names_make(h, &functions, &names, err);
    table_clear(&functions);
    if (!ok) return heap_free(h), false;
    heap_freeze_all(h);
    *heap = h;
    *tools = names.tools;
    *hooks = names.hooks;
    return true;
}
