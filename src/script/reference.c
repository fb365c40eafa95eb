/* Written from the tables that implement it, so that it cannot say something else. */
#include "script/reference.h"

#include "script/script.h"
#include "starlark/universe.h"

static const char head[] =
    "# What scripts can use\n\n"
    "Written by `harness help --starlark-markdown` from the tables of functions; `make docs` renews it.\n\n"
    "Scripts of tools and of hooks have everything on this page, except that hooks have nothing marked *tools only*; `when:` and\n"
    "`condition:` have the built-in functions and methods alone. A `?` marks a parameter that may be left out. Parameters of host modules can be\n"
    "given by position or by name. None of the host modules' functions may be called at the top level of a script.\n\n"
    "## runtime\n\n"
    "A frozen dict of the values that the tool's `injected` lists: `runtime[\"run_id\"]`. Empty when there are none. Not available at the top level.\n\n";

/* "|" would end the cell, and "*" or "_" could start something. */
static void add_cell(Buf *out, const char *text) {
    for (; *text; text++) {
        if (strchr("|*<", *text)) buf_add_char(out, '\\');
        buf_add_char(out, *text);
    }
}

static void add_signature(Buf *out, const NativeDef *def) {
    buf_add_fmt(out, "| `%s(", def->name);
    if (def->flags & NATIVE_VARIADIC) buf_add(out, STR("…"));
    for (uint16_t i = 0; i < def->n_params; i++) buf_add_fmt(out, "%s%s%s", i ? ", " : "", def->params[i].name, i < def->min ? "" : "?");
    buf_add(out, STR(")` | "));
}

static bool for_hooks(const Dict *hooks, const char *name) {
    const char *dot = strchr(name, '.');
    Value *v = dict_find_str(hooks, dot ? (Str){ name, (size_t)(dot - name) } : str_from(name));
    if (!v || !dot || !native_is_module(*v)) return v != NULL;
    return dict_find_str(((NativeModule *)value_object(*v))->members, str_from(dot + 1)) != NULL;
}

/* hooks NULL: for everybody. */
static void add_table(Buf *out, const char *heading, const char *about, const NativeDef *defs, size_t n, const Dict *hooks) {
    buf_add_fmt(out, "## %s\n\n%s%s| call | does |\n|---|---|\n", heading, about, *about ? "\n\n" : "");
    for (size_t i = 0; i < n; i++) {
        add_signature(out, &defs[i]);
        add_cell(out, defs[i].doc ? defs[i].doc : "");
        if (hooks && !for_hooks(hooks, defs[i].name)) buf_add(out, STR(" *Tools only.*"));
        buf_add(out, STR(" |\n"));
    }
    buf_add_char(out, '\n');
}

bool reference_page(Buf *out, Error *err) {
    Heap *heap;
    Dict *tools, *hooks;
    if (!host_modules_new(&heap, &tools, &hooks, err)) return false;
    buf_add(out, str_from(head));
#define TABLE(name, heading, about) add_table(out, heading, about, script_##name, script_##name##_n, hooks);
#include "script/tables.def"
#undef TABLE
    heap_free(heap);
    add_table(out, "json", "", lib_json, lib_json_n, NULL);
    add_table(out, "math", "Also `math.e` and `math.pi`.", lib_math, lib_math_n, NULL);
    add_table(out, "Built-in functions", "", lib_core, lib_core_n, NULL);
    add_table(out, "Methods of strings", "", lib_string, lib_string_n, NULL);
    add_table(out, "Methods of bytes", "", lib_bytes, lib_bytes_n, NULL);
    add_table(out, "Methods of lists", "", lib_list, lib_list_n, NULL);
    add_table(out, "Methods of dicts", "", lib_dict, lib_dict_n, NULL);
    add_table(out, "Methods of sets", "", lib_set, lib_set_n, NULL);
    out->at[--out->n] = 0;                               /* one newline at the end, not two */
    return true;
}
