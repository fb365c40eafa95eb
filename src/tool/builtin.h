/* Built-in tools as data. Each builtin_X.c describes its tools in one constant table; builtin.c registers what a project asks
 * for. To add a tool: a row in its file's table, and the table in builtin.c's list. */
#pragma once
#include "tool/kind.h"

typedef struct BuiltinDef {
    const char *name, *title, *description;
    const char *parameters;              /* JSON Schema, as text */
    const char *output;                  /* the same for its value; NULL: none */
    int64_t timeout_ms;
    Safety safety;
    ToolExecute *execute;
    ToolInspect *inspect;                /* NULL: none */
    bool service;                        /* always there, but only shown when something needs it */
} BuiltinDef;

extern const BuiltinDef builtin_services[];          /* builtin_service.c: tasks and artifacts; ends with a NULL name */
