/* Tools, hooks and agents defined in harness.md itself. */
#include "artifact/load.h"
#include "value/list.h"

static void load_list(Loader *l, const LoaderPlace *at, const char *key, void load(Loader *, const LoaderPlace *)) {
    Value *list = dict_find_str(value_dict(at->map), str_from(key));
    if (!list || !value_is_list(*list)) return;          /* the settings loader has checked the type */
    for (uint32_t i = 0; i < value_list(*list)->n; i++) {
        LoaderPlace item = loader_item_place(l, at, key, *list, i);
        load(l, &item);
    }
}

void load_inline(Loader *l) {
    if (!value_is_dict(l->settings.root)) return;
    LoaderPlace at = loader_file_place(l, &l->settings, SOURCE_INLINE);
    load_list(l, &at, "tools", load_tool);
    load_list(l, &at, "hooks", load_hook);
    load_list(l, &at, "agents", load_agent);
}
