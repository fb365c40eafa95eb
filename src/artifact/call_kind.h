/* The vocabulary of calls that rules, hooks and `harness guard` share: kinds of calls, names of tools, vendors. */
#pragma once
#include "base/str.h"

typedef enum CallKind {
    CALL_KIND_NONE,                      /* unknown: the tool declares no kind */
#define CALL_KIND(id, name, argument) CALL_##id,
#include "artifact/call_kinds.def"
#undef CALL_KIND
    CALL_KIND_COUNT
} CallKind;
#define CALL_KIND_BIT(kind) (1u << (kind))

const char *call_kind_name(CallKind kind);               /* "shell"; "" for CALL_KIND_NONE */
const char *call_kind_argument(CallKind kind);           /* "command"; "" if the kind has none */
CallKind call_kind_find(Str name);                       /* CALL_KIND_NONE: unknown */
/* The names of all kinds, for messages. */
const Str *call_kind_list(size_t *n);

/* The kind of a name in call_tools.def, and CALL_MCP for mcp:SERVER:TOOL. CALL_KIND_NONE: another tool. */
CallKind call_kind_of_tool(Str name);
const Str *call_kind_tools(size_t *n);                   /* the names in call_tools.def */

typedef enum Vendor {
#define VENDOR(id, name, title) VENDOR_##id,
#include "artifact/vendors.def"
#undef VENDOR
    VENDOR_COUNT
} Vendor;
#define VENDOR_BIT(vendor) (1u << (vendor))
const char *vendor_name(Vendor v);
const char *vendor_title(Vendor v);
bool vendor_find(Str name, Vendor *out);
const Str *vendor_list(size_t *n);
