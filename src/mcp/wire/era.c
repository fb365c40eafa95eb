#include "mcp/wire/era.h"

static const Str dates[MCP_NONE] = {
    [MCP_2024_11_05] = { "2024-11-05", 10 }, [MCP_2025_03_26] = { "2025-03-26", 10 }, [MCP_2025_06_18] = { "2025-06-18", 10 },
    [MCP_2025_11_25] = { "2025-11-25", 10 }, [MCP_2026_07_28] = { "2026-07-28", 10 },
};

McpVersion mcp_version(Str date) {
    for (McpVersion v = 0; v < MCP_NONE; v++)
        if (str_eq(dates[v], date)) return v;
    return MCP_NONE;
}

Str mcp_version_date(McpVersion v) { return v < MCP_NONE ? dates[v] : STR(""); }
