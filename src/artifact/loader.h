/* Inside of loading: what the loaders of the formats (load_*.c) share. One Loader per
 * project_load(); it fills the Project, and everything it reports goes to one Problems.
 *
 * Order: settings, then every file of .harness/ and the other roots, bundles, spaces, manifests, servers;
 * then, with everything known: overrides, names, references, policy hints. Scripts, templates and schemas are
 * compiled where they are read, so that their errors stand beside the rest. */
#pragma once
#include "artifact/pattern.h"
#include "artifact/project.h"
#include "base/table.h"
#include "base/vec.h"

/* A name that must exist once everything is loaded. */
typedef enum { REFERENCE_TOOL, REFERENCE_HOOK, REFERENCE_SERVER, REFERENCE_AGENT } LoaderReferenceKind;
typedef struct LoaderReference { LoaderReferenceKind kind; Str agent, name, file; Place place; } LoaderReference;
/* A tool's name in a rule. One that no tool has is a warning: the tool may come at run time. `where` says which rule. */
typedef struct LoaderRule { Str where, name, file; Place place; } LoaderRule;
/* A file or folder that no loader reads, and what to do about it. `path` is relative to the project; empty: outside of it. */
typedef struct LoaderStray { Str path, shown, hint; const char *message; bool folder; } LoaderStray;

typedef struct Loader {
    const ProjectInput *in;
    Project *project;
    DocumentContext docs;            /* of the project's root; for another folder, root_fd and shown are changed for a while */
    Str config;                      /* -c FILE, relative to the root; empty: look for it */
    Document settings;               /* harness.md; places are gone when there is none */
    Dict *predeclared;               /* for scripts of tools */
    Dict *hook_predeclared;          /* for scripts of hooks */
    Vm *vm;                          /* runs the top level of scripts, in project->script_heap */
    Dict *interned;                  /* strings of all scripts, in project->script_heap */
    ResolverErrors *script_errors;   /* room for those of one script */
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
    Grants grants;
    LoadedFiles files;
    VEC(Str) looked_at;              /* protected paths */
    VEC(LoaderReference) references;
    VEC(LoaderRule) rules;
    VEC(LoaderStray) strays;
    size_t guard_errors;             /* errors in hooks so far: what contains them is not forgiven */
    VEC(LoaderReference) unread;     /* what files that could not be read would define: kind and name */
} Loader;

/* Where a definition stands: in a file of its own, or inside another document. */
typedef struct LoaderPlace {
    const Document *document;
    Value map;                       /* the definition */
    const char *path;                /* prefix of messages, "tools[0]"; "" for a file of its own */
    Str name;                        /* known name; empty: read `name` from the map */
    Origin origin;                   /* where the definition stands */
    Str agent;                       /* inline in this agent, else empty */
    const Bundle *bundle;
    bool overriding;
} LoaderPlace;

/* A Loader with an empty project; false when not even that can be made (reported). root_fd is borrowed. loader_finish ends
 * it in any case: the project, sealed, when `keep`, else NULL. */
bool loader_start(Loader *l, const ProjectInput *in, int root_fd, Problems *problems);
Project *loader_finish(Loader *l, bool keep);

/* ---- shared pieces (loader.c, loader_script.c, loader_parameters.c, loader_governance.c) ---- */

/* A definition that is a whole file, and one that is item i of a list: "KEY[i]" below `path`. */
LoaderPlace loader_file_place(Loader *l, const Document *d, SourceKind source);
LoaderPlace loader_item_place(Loader *l, const LoaderPlace *parent, const char *key, Value list, size_t i);
FieldInput loader_input(Loader *l, const LoaderPlace *at);       /* for field_read over at->map */
/* Reads the fields; false when errors were reported. at->map may be anything: "PATH: expected map, got TYPE". Unknown keys
 * are errors; loader_read_open says otherwise for maps that only describe. */
bool loader_read(Loader *l, const LoaderPlace *at, const Field *fields, size_t n, void *out);
bool loader_read_open(Loader *l, const LoaderPlace *at, UnknownKeys unknown, const Field *fields, size_t n, void *out);

/* Name of an inline definition, or at->name. False (reported) when it is empty ("tools[0].name cannot be empty") or
 * malformed. `what` is tool, hook, agent …, `list` what a list of them is called. */
bool loader_name(Loader *l, const LoaderPlace *at, const char *what, const char *list, Str *out);
bool loader_name_ok(Loader *l, const LoaderPlace *at, const char *what, Str name);            /* [A-Za-z0-9_-]{1,64} */

/* Errors and warnings at a key of at->map, or at the definition itself when `key` is NULL or absent. */
void loader_error(Loader *l, const LoaderPlace *at, const char *key, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
void loader_warn(Loader *l, const LoaderPlace *at, const char *key, const char *hint, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
/* "PATH.KEY: expected a, b or c, got "x"" unless `value` is one of `known` (NULL-terminated) or empty. */
extern const char *const loader_efforts[];             /* how hard a model thinks; NULL ends the list */
bool loader_choice(Loader *l, const LoaderPlace *at, const char *key, Str value, const char *const *known);
/* Checks a map whose values may hold ${NAME}: names, types, the form of references. GONE is fine. */
bool loader_env(Loader *l, const LoaderPlace *at, const char *key, Value map, bool headers);  /* load_env.c */
/* What is wrong with one such value; NULL: nothing. */
const char *loader_env_problem(Loader *l, Str text, bool header);
/* May this variable of harness's own environment be handed on? Model keys and tokens only when sandbox.env_allow says so. */
bool loader_env_allowed(Loader *l, Str name);
void loader_look_at(Loader *l, Str path);                        /* remembers a protected path */

/* Remembers a tool's name in a rule, to be looked up when all tools are known. Patterns are passed over. */
void loader_rule(Loader *l, const LoaderPlace *at, Str where, Str name, Place place);
/* Reports the items of the list `key` of at->map that can match no tool (artifact/pattern.h); loader_rules does so too. */
bool loader_patterns(Loader *l, const LoaderPlace *at, const char *key, PatternKind kind, StrList names);
void loader_rules(Loader *l, const LoaderPlace *at, const char *key, StrList names);          /* the list `key` of at->map */
void loader_when(Loader *l, const LoaderPlace *at, const char *what);                         /* load_when.c: the names in a hook's `when` */

/* For --lenient: `before` is a copy of *l->docs.problems made earlier; what was reported as an error since then becomes a
 * warning. True when there was something and it was forgiven. Never for hooks and settings. */
bool loader_forgive(Loader *l, const Problems *before);

/* Scripts, expressions over parameters, templates, schemas. NULL: reported. `what` is the definition as messages name it,
 * `tool "x"`. Empty text of an expression or script gives NULL without a report. */
Module *loader_script(Loader *l, const LoaderPlace *at, const char *key, const char *what, Dict *predeclared);
Module *loader_expression(Loader *l, const LoaderPlace *at, const char *key, const char *what, const Str *params, size_t n);
/* Is `name` a function that takes n positional arguments? Else reports `WHAT: script must define SIGNATURE`. */
bool loader_function(Loader *l, const LoaderPlace *at, const char *key, const Module *m, const char *what, const char *signature,
                     uint32_t n_args);
Template *loader_template(Loader *l, const LoaderPlace *at, const char *key, Str text);       /* plain; key NULL: the body */
Template *loader_command(Loader *l, const LoaderPlace *at, const char *key, const TemplateCommand *options);
Schema *loader_schema(Loader *l, const LoaderPlace *at, const char *key, Value schema);
/* Reports what schema_compile said, as "PATH.to.the.place: …", at that place below `schema` or at `place`. */
void loader_schema_error(Loader *l, const LoaderPlace *at, const char *path, Value schema, Place place, const Error *err);

/* map name → parameter, or (list form, of spaces) [{name, type, …}], to a JSON Schema; GONE: reported. Absent: no parameters. */
Value loader_parameters(Loader *l, const LoaderPlace *at, const char *key, bool list_form);
/* schema_keys.c: are all keywords in the schemas of a parameter's `items` and `properties` (GONE: none) known? False: reported. */
bool loader_schema_keys(Loader *l, const LoaderPlace *at, Value items, Value properties);

/* safety, retry, idempotency, injected, confirm, aliases, title and output_schema: every Markdown format of tools has them. False: reported. */
bool loader_governance(Loader *l, const LoaderPlace *at, ToolDef *t);
bool loader_hidden(Loader *l, const LoaderPlace *at, const ToolDef *t);  /* no parameter is also injected: a call that sends it would be refused */
bool loader_retry(Loader *l, const LoaderPlace *at, Value map);   /* the key `retry` of at->map; GONE is fine */
#define LOADER_GOVERNANCE_FIELDS \
    { KEY(tool, safety), .flags = FIELD_IGNORED }, { KEY(tool, retry), .flags = FIELD_IGNORED }, \
    { KEY(tool, idempotency), .flags = FIELD_IGNORED }, { KEY(tool, injected), .flags = FIELD_IGNORED }, \
    { KEY(tool, confirm), .flags = FIELD_IGNORED }, { KEY(tool, aliases), .flags = FIELD_IGNORED }, \
    { KEY(tool, title), .flags = FIELD_IGNORED }, { KEY(tool, output_schema), .flags = FIELD_IGNORED }
