/* Inside of loading: what the loaders of the formats (load_*.c) share. One Loader per
 * project_load(); it fills the Project, and everything it reports goes to one Problems.
 *
 * Order: settings, then every file of .harness/ and the other roots, bundles, spaces, manifests, servers;
 * then, with everything known: overrides, names, references, policy hints. Scripts, templates and schemas are
 * compiled where they are read, so that their errors stand beside the rest. */
#pragma once
#include "artifact/project.h"
#include "base/table.h"
#include "base/vec.h"

typedef struct Loader {
    const ProjectInput *in;
    Project *project;
    DocumentContext docs;
    Dict *predeclared;               /* for scripts of tools */
    Dict *hook_predeclared;          /* for scripts of hooks */
    Vm *vm;                          /* runs the top level of scripts */
    VEC(ToolDef) tools;
    VEC(HookDef) hooks;
    VEC(AgentDef) agents;
    VEC(Bundle *) bundles;
    VEC(PromptDef) prompts;
    VEC(ResourceDef) resources;
    VEC(TestDef) tests;
    VEC(ServerDef) servers;
    VEC(SourceDef) sources;
    VEC(Module *) modules;           /* all that were compiled; sealed and owned by the project at the end */
    VEC(Template *) templates;
    VEC(Schema *) schemas;
    VEC(Str) looked_at;              /* protected paths */
} Loader;

/* Where a definition stands: in a file of its own, or inside another document. */
typedef struct LoaderPlace {
    const Document *document;
    Value map;                       /* the definition */
    const char *path;                /* prefix of messages; "" for a file of its own */
    Str name;                        /* known name; empty: read `name` from the map */
    Origin origin;
    Str agent;                       /* inline in this agent, else empty */
    const Bundle *bundle;
    bool overriding;
} LoaderPlace;

/* Shared pieces. */
Module *loader_script(Loader *l, const LoaderPlace *at, const char *key, Dict *predeclared);  /* compiled and loaded; NULL: reported */
Module *loader_expression(Loader *l, const LoaderPlace *at, const char *key, const Str *params, size_t n);
bool loader_function(Loader *l, const LoaderPlace *at, Module *m, Str name, uint32_t n_args, const char *fmt, ...)
    __attribute__((format(printf, 6, 7)));                       /* is it there, and takes that many? else reports fmt */
Schema *loader_schema(Loader *l, const LoaderPlace *at, const char *key, Value schema);       /* NULL: reported */
bool loader_name_ok(Loader *l, const LoaderPlace *at, const char *what, Str name);            /* [A-Za-z0-9_-]{1,64} */
/* map name → parameter, or (list form, of spaces) [{name, type, …}], to a JSON Schema; GONE: reported. */
Value loader_parameters(Loader *l, const LoaderPlace *at, const char *key, bool list_form);
void loader_error(Loader *l, const LoaderPlace *at, const char *key, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
void loader_warn(Loader *l, const LoaderPlace *at, const char *key, const char *hint, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
void loader_look_at(Loader *l, Str path);                        /* remembers a protected path */

void loader_resolve(Loader *l);                                  /* loader_resolve.c: overrides, duplicates, aliases, references, hints */
