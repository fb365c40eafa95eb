/* Shared by the loaders of a Construct space: its tools, hooks and agent. */
#pragma once
#include "artifact/load.h"

typedef struct Space {
    Loader *l;
    Str folder;                      /* relative to the project's root; "." is the root itself */
    Table ids;                       /* of the tools in agent/tools: any value but NULL */
} Space;

Str space_path(const Space *s, const char *inside);                  /* FOLDER/inside; in the arena */
void space_load_tool(Space *s, const LoaderPlace *at, bool from_file);   /* load_space_tool.c; a file also has a body */
void space_load_manifest(Space *s, const Document *d);               /* load_space.c: space.manifest.json, after the files */
void space_load_hooks(Space *s, const Document *d);                  /* load_space_hook.c: one agent/hooks/NAME.json */
void space_load_agent(Space *s, const Document *d);                  /* load_space_agent.c: agent/config.md */
