/* Loads one definition that a running program supplies instead of a file, with the same loaders and rules. */
#include "artifact/load.h"
#include "value/list.h"

static const DefinitionInfo infos[] = {
#define DEFINITION(id, kind, list, event) [DEFINITION_##id] = { kind, list, event },
#include "artifact/definitions.def"
#undef DEFINITION
};

const DefinitionInfo *project_definition(DefinitionKind kind) { return &infos[kind]; }

static void load_items(Loader *l, const Document *d, DefinitionKind kind) {
    const char *list = infos[kind].list;
    LoaderPlace at = loader_file_place(l, d, SOURCE_INLINE);
    Value *items = value_is_dict(d->root) ? dict_find_str(value_dict(d->root), str_from(list)) : NULL;
    for (uint32_t i = 0; items && value_is_list(*items) && i < value_list(*items)->n; i++) {
        LoaderPlace item = loader_item_place(l, &at, list, *items, i);
        switch (kind) {
        case DEFINITION_TOOL: load_tool(l, &item); break;
        case DEFINITION_HOOK: load_hook(l, &item); break;
        default: load_agent(l, &item); break;
        }
    }
}

bool project_define(const ProjectInput *in, DefinitionKind kind, Str definition, Project **out, Problems *problems) {
    Loader l;
    Document d;
    Buf text = { 0 };
    size_t errors = problems->errors;
    bool ready = loader_start(&l, in, -1, problems);
    l.defining = true;
    if (ready && in->within) l.project->settings.secrets = in->within->settings.secrets;
    buf_add_fmt(&text, "{\"%s\":[" STR_FMT "]}", infos[kind].list, STR_ARG(definition));
    if (ready && document_parse(&l.docs, "definition", str_from(infos[kind].list), DOCUMENT_JSON, buf_str(&text), &d)) {
        load_items(&l, &d, kind);
        document_clear(&d);
    }
    buf_clear(&text);
    *out = loader_finish(&l, problems->errors == errors);
    return *out != NULL;
}
