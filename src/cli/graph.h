/* `harness inspect --graph` and `--dot`: agents, the tools of each, and the guards that cover each tool. */
#pragma once
#include "agent/session.h"
#include "cli/cli.h"

typedef struct GraphGuard { const char *kind, *effect; Str name, when, file; uint32_t line; } GraphGuard;
typedef struct GraphTool { Str name, kind, file, server; uint32_t line; bool denied; VEC(GraphGuard) guards; } GraphTool;
typedef struct GraphAgent { Str name, file; uint32_t line; VEC(GraphTool) tools; } GraphAgent;    /* name "": the project's own */

typedef struct Graph {
    Arena arena;                         /* all texts */
    VEC(GraphAgent) agents;
    VEC(Str) idle;                       /* hooks on tool events that cover none of these tools */
    const Limits *limits;                /* limits of every call; borrowed */
} Graph;

/* Fills a zeroed graph; graph_clear in any case. `only`: one tool, of all agents, or one agent; empty: everything. ERR_CONFIG: there is no such tool
 * or agent. */
bool graph_build(Graph *g, Session *s, const Limits *limits, const Project *p, Str only, Error *err);
void graph_clear(Graph *g);

/* `width`: columns of the terminal; 0: lines are not cut. */
void graph_write_text(const Graph *g, Buf *out, size_t width, bool color);
void graph_write_dot(const Graph *g, Buf *out);
void graph_write_json(const Graph *g, Buf *out);
