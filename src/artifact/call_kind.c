#include "artifact/call_kind.h"

static const struct { const char *name, *argument; } kinds[] = {
    { "", "" },
#define CALL_KIND(id, name, argument) { name, argument },
#include "artifact/call_kinds.def"
#undef CALL_KIND
};

static const Str kind_names[] = {
#define CALL_KIND(id, name, argument) { name, sizeof name - 1 },
#include "artifact/call_kinds.def"
#undef CALL_KIND
};

static const Str tool_names[] = {
#define CALL_TOOL(name, kind) { name, sizeof name - 1 },
#include "artifact/call_tools.def"
#undef CALL_TOOL
};

static const CallKind tool_kinds[] = {
#define CALL_TOOL(name, kind) CALL_##kind,
#include "artifact/call_tools.def"
#undef CALL_TOOL
};

static const Str vendor_names[] = {
#define VENDOR(id, name, title) { name, sizeof name - 1 },
#include "artifact/vendors.def"
#undef VENDOR
};

static const char *const vendor_titles[] = {
#define VENDOR(id, name, title) title,
#include "artifact/vendors.def"
#undef VENDOR
};

#define COUNT(list) (sizeof(list) / sizeof *(list))

static size_t index_of(Str name, const Str *list, size_t n) {
    size_t i = 0;
    while (i < n && !str_eq(list[i], name)) i++;
    return i;
}

const char *call_kind_name(CallKind kind) { return kinds[kind].name; }
const char *call_kind_argument(CallKind kind) { return kinds[kind].argument; }

CallKind call_kind_find(Str name) {
    size_t i = index_of(name, kind_names, COUNT(kind_names));
    return i < COUNT(kind_names) ? (CallKind)(i + 1) : CALL_KIND_NONE;
}

const Str *call_kind_list(size_t *n) { return *n = COUNT(kind_names), kind_names; }

CallKind call_kind_of_tool(Str name) {
    if (str_starts(name, STR("mcp:"))) return CALL_MCP;
    size_t i = index_of(name, tool_names, COUNT(tool_names));
    return i < COUNT(tool_names) ? tool_kinds[i] : CALL_KIND_NONE;
}

const Str *call_kind_tools(size_t *n) { return *n = COUNT(tool_names), tool_names; }

const char *vendor_name(Vendor v) { return vendor_names[v].at; }
const char *vendor_title(Vendor v) { return vendor_titles[v]; }

bool vendor_find(Str name, Vendor *out) {
    size_t i = index_of(name, vendor_names, COUNT(vendor_names));
    return i < COUNT(vendor_names) && (*out = (Vendor)i, true);
}

const Str *vendor_list(size_t *n) { return *n = COUNT(vendor_names), vendor_names; }
