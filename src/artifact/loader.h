/* Shared by the loaders of the formats (load_*.c). One Loader per project_load(); it fills the Project and
 * reports to one Problems.
 *
 * Order: settings, then every file of .harness/ and the other roots, bundles, spaces, manifests, servers;
 * then, with everything loaded: overrides, names, references, policy hints. Scripts, templates and schemas
 * are compiled where they are read, so that their errors appear with the others. */
#pragma once
#include "artifact/pattern.h"
#include "artifact/project.h"
#include "base/table.h"
#include "base/vec.h"

/* A name that must exist once everything is loaded. */
typedef enum { REFERENCE_TOOL, REFERENCE_HOOK, REFERENCE_SERVER, REFERENCE_AGENT } LoaderReferenceKind;
typedef struct LoaderReference { LoaderReferenceKind kind; Str agent, name, file; Place place; } LoaderReference;
/* A tool's name in a rule. `where` names the rule. `list`: an item of a list of tools, and not of a hook's `when`. */
typedef struct LoaderRule { Str where, name, file; Place place; bool list; } LoaderRule;
/* A file or folder that no loader reads, with a hint. `path` is relative to the project; empty if outside of it. */
typedef struct LoaderStray { Str path, shown, hint; const char *message; bool folder; } LoaderStray;

typedef struct Loader {
    const ProjectInput *in;
    Project *project;
    DocumentContext docs;            /* for the project's root; root_fd and shown change temporarily for another folder */
    Str config;                      /* -c FILE, relative to the root; empty: search for it */
    Document settings;               /* harness.md; places is NULL if there is none */
    Dict *predeclared;               /* for scripts of tools */
    Dict *hook_predeclared;          /* for scripts of hooks */
    Vm *vm;                          /* runs the top level of scripts, in project->script_heap */
    Dict *interned;                  /* strings of all scripts, in project->script_heap */
    ResolverErrors *script_errors;   /* errors of one script */
    VEC(ToolDef) tools;
    VEC(HookDef) hooks;
    VEC(AgentDef) agents;
    VEC(Bundle *) bundles;
    VEC(PromptDef) prompts;
    VEC(ResourceDef) resources;
    VEC(TestDef) tests;
    VEC(ServerDef) servers;
    VEC(SourceDef) sources;
    VEC(Module *) modules;           /* all compiled modules; sealed and owned by the project at the end */
    VEC(Template *) templates;
    VEC(Schema *) schemas;
    Grants grants;
    LoadedFiles files;
    VEC(Str) looked_at;              /* protected paths */
    VEC(LoaderReference) references;
    VEC(LoaderRule) rules;
    RuleRows rule_rows;
    VEC(LoaderStray) strays;
    bool defining;                   /* a running program supplies the definition */
    size_t guard_errors;             /* number of errors in hooks; a definition that contains such an error is not skipped */
    VEC(LoaderReference) unread;     /* kind and name of definitions in unreadable files */
} Loader;

/* The location of a definition: a file of its own, or inside another document. */
typedef struct LoaderPlace {
    const Document *document;
    Value map;                       /* the definition */
    const char *path;                /* prefix of messages, "tools[0]"; "" for a file of its own */
    Str name;                        /* known name; empty: read `name` from the map */
    Origin origin;                   /* where it was defined */
    Str agent;                       /* inline in this agent, else empty */
    const Bundle *bundle;
    bool overriding;
} LoaderPlace;

/* Initializes a Loader with an empty project; false if even that fails (reported). Borrows root_fd. loader_finish must
 * be called in any case: it returns the sealed project if `keep`, else NULL. */
bool loader_start(Loader *l, const ProjectInput *in, int root_fd, Problems *problems);
Project *loader_finish(Loader *l, bool keep);

/* ---- shared functions (loader.c, loader_script.c, loader_parameters.c, loader_governance.c) ---- */

/* The LoaderPlace of a definition that is a whole file, and of item i of a list: "KEY[i]" below `path`. */
LoaderPlace loader_file_place(Loader *l, const Document *d, SourceKind source);
LoaderPlace loader_item_place(Loader *l, const LoaderPlace *parent, const char *key, Value list, size_t i);
FieldInput loader_input(Loader *l, const LoaderPlace *at);       /* for field_read on at->map */
/* Reads the fields; false if errors were reported. at->map may be any value: "PATH: expected map, got TYPE". Unknown
 * keys are errors; loader_read_open is for maps that are only descriptive. */
bool loader_read(Loader *l, const LoaderPlace *at, const Field *fields, size_t n, void *out);
bool loader_read_open(Loader *l, const LoaderPlace *at, UnknownKeys unknown, const Field *fields, size_t n, void *out);

/* Name of an inline definition, or at->name. False (reported) if it is empty ("tools[0].name cannot be empty") or
 * malformed. `what` is tool, hook, agent …, `list` the key of their list. */
bool loader_name(Loader *l, const LoaderPlace *at, const char *what, const char *list, Str *out);
bool loader_name_ok(Loader *l, const LoaderPlace *at, const char *what, Str name);            /* [A-Za-z0-9_-]{1,64} */

/* Reports at a key of at->map, or at the definition itself if `key` is NULL or absent. */
void loader_error(Loader *l, const LoaderPlace *at, const char *key, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
void loader_warn(Loader *l, const LoaderPlace *at, const char *key, const char *hint, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
/* "PATH.KEY: expected a, b or c, got "x"" unless `value` is one of `known` (NULL-terminated) or empty. */
extern const char *const loader_efforts[];             /* how hard a model thinks; NULL ends the list */
bool loader_choice(Loader *l, const LoaderPlace *at, const char *key, Str value, const char *const *known);
/* Checks a map whose values may contain ${NAME}: names, types, the form of references. Accepts GONE. */
bool loader_env(Loader *l, const LoaderPlace *at, const char *key, Value map, bool headers);  /* load_env.c */
/* The problem with one such value, or NULL. */
const char *loader_env_problem(Loader *l, Str text, bool header);
/* True if this variable of harness's own environment may be passed on. Model keys and tokens need an entry in
 * sandbox.env_allow. */
bool loader_env_allowed(Loader *l, Str name);
void loader_look_at(Loader *l, Str path);                        /* records a protected path */

/* Records a tool's name in a hook's `when`, to look it up when all tools are known. */
void loader_rule(Loader *l, const LoaderPlace *at, Str where, Str name, Place place);
/* Reports the items of the list `key` of at->map that cannot match any tool (artifact/pattern.h); loader_rules does so
 * too. */
bool loader_patterns(Loader *l, const LoaderPlace *at, const char *key, PatternKind kind, StrList names);
void loader_rules(Loader *l, const LoaderPlace *at, const char *key, StrList names);          /* the list `key` of at->map */
void loader_when(Loader *l, const LoaderPlace *at, const char *what);                         /* load_when.c: the names in a hook's `when` */

/* The list `rules` of harness.md or of a bundle; accepts GONE. */
void loader_rule_rows(Loader *l, const LoaderPlace *at, Value rules);

/* For --lenient: `before` is an earlier copy of *l->docs.problems; turns errors reported since then into warnings. True
 * if there were any and they were downgraded. Never for hooks and settings. */
bool loader_forgive(Loader *l, const Problems *before);

/* Compile scripts, expressions over parameters, templates and schemas. NULL: reported. `what` is the definition as
 * messages name it, `tool "x"`. An empty expression or script returns NULL without a report. */
Module *loader_script(Loader *l, const LoaderPlace *at, const char *key, const char *what, Dict *predeclared);
Module *loader_expression(Loader *l, const LoaderPlace *at, const char *key, const char *what, const Str *params, size_t n);
/* True if `name` is a function that takes n positional arguments. Otherwise reports `WHAT: script must define
 * SIGNATURE`. */
bool loader_function(Loader *l, const LoaderPlace *at, const char *key, const Module *m, const char *what, const char *signature,
                     uint32_t n_args);
Template *loader_template(Loader *l, const LoaderPlace *at, const char *key, Str text);       /* plain; key NULL: the body */
Template *loader_command(Loader *l, const LoaderPlace *at, const char *key, const TemplateCommand *options);
Schema *loader_schema(Loader *l, const LoaderPlace *at, const char *key, Value schema);
/* Reports an error of schema_compile as "PATH.to.the.place: …", at that position below `schema` or at `place`. */
void loader_schema_error(Loader *l, const LoaderPlace *at, const char *path, Value schema, Place place, const Error *err);

/* Converts a map name → parameter, or (list form, of spaces) [{name, type, …}], to a JSON Schema. GONE: reported.
 * Absent: no parameters. */
Value loader_parameters(Loader *l, const LoaderPlace *at, const char *key, bool list_form);
/* schema_keys.c: true if all keywords in the schemas of a parameter's `items` and `properties` (GONE: none) are known. False: reported. */
bool loader_schema_keys(Loader *l, const LoaderPlace *at, Value items, Value properties);
/* True if no keyword of the schema at `key` resembles a known one that it is not; other unknown keywords are allowed. False: reported. */
bool loader_schema_slips(Loader *l, const LoaderPlace *at, const char *key, Value schema);

/* Reads safety, retry, idempotency, injected, confirm, aliases, title and output_schema, which all Markdown tool
 * formats share. False: reported. */
bool loader_governance(Loader *l, const LoaderPlace *at, ToolDef *t);
bool loader_hidden(Loader *l, const LoaderPlace *at, const ToolDef *t);  /* fails if a parameter is also injected */
/* Reads `kind`, when the kind and the parameters of the tool are known. False: reported. */
bool loader_kind(Loader *l, const LoaderPlace *at, ToolDef *t);
bool loader_retry(Loader *l, const LoaderPlace *at, Value map);   /* the key `retry` of at->map; accepts GONE */
#define LOADER_GOVERNANCE_FIELDS \
    { KEY(tool, safety), .flags = FIELD_IGNORED }, { KEY(tool, retry), .flags = FIELD_IGNORED }, \
    { KEY(tool, idempotency), .flags = FIELD_IGNORED }, { KEY(tool, injected), .flags = FIELD_IGNORED }, \
    { KEY(tool, confirm), .flags = FIELD_IGNORED }, { KEY(tool, aliases), .flags = FIELD_IGNORED }, \
    { KEY(tool, title), .flags = FIELD_IGNORED }, { KEY(tool, output_schema), .flags = FIELD_IGNORED }, \
    { KEY(tool, kind), .flags = FIELD_IGNORED }
