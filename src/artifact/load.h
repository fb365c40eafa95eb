/* The loaders of the formats, one file each (load_*.c). Each reports problems and adds the valid definitions. */
#pragma once
#include "artifact/loader.h"

void load_settings(Loader *l);                                   /* load_settings.c: finds and reads harness.md … */
void load_settings_from(Loader *l, const Document *d);                  /* reads the settings of a parsed document */
void load_inline(Loader *l);                                     /* load_inline.c: its tools, hooks and agents, after the settings */
void load_root(Loader *l, Str folder, SourceKind source);        /* load_root.c: tools/ hooks/ agents/ plugins/ … below a folder */
void load_tool(Loader *l, const LoaderPlace *at);                /* load_tool.c: the Starlark tool schema, from any source */
void load_hook(Loader *l, const LoaderPlace *at);                /* load_hook.c */
void load_agent(Loader *l, const LoaderPlace *at);               /* load_agent.c; inline tools and hooks too */
void load_bundle(Loader *l, const Document *d, Str kind, SourceKind source);   /* load_bundle.c; kind: plugin, builtin, override */
void load_prompt(Loader *l, const Document *d, SourceKind source);            /* load_prompt.c */
void load_resource(Loader *l, const Document *d, SourceKind source);          /* load_resource.c */
void load_test(Loader *l, const Document *d);                    /* load_test.c */
void load_manifest(Loader *l, Str path);                         /* load_manifest.c: tools.json */
void load_manifest_document(Loader *l, const Document *d, Str folder);
void load_space(Loader *l, Str folder);                          /* load_space.c: agent/, space.manifest.json */
void load_servers(Loader *l, const Document *d, Value servers, bool mcp_json); /* load_server.c: mcp_servers, .mcp.json */
void load_mcp_json(Loader *l, Str path);
void load_source(Loader *l, const Document *d, Value list);      /* load_source.c: artifact_sources, from the cache */
