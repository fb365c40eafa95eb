/* A loaded project: immutable, shared by all runs that use it.
 *
 * Values (schemas, settings) are in one frozen heap. Scripts are compiled and loaded; templates and
 * schemas are compiled. Every entry knows its file and line. */
#pragma once
#include "artifact/rule.h"
#include "schema/schema.h"
#include "starlark/module.h"
#include "template/template.h"

typedef enum { SOURCE_PROJECT, SOURCE_ROOT, SOURCE_BUNDLE, SOURCE_INLINE, SOURCE_AGENT, SOURCE_MANIFEST, SOURCE_SPACE, SOURCE_PULLED,
               SOURCE_BUILTIN, SOURCE_MCP } SourceKind;

/* line and column of the name or the definition; file is relative to the root. */
typedef struct Origin { Str file; uint32_t line, column; SourceKind source; } Origin;

#define TOOL_KINDS(X) X(TOOL_STARLARK, "starlark") X(TOOL_COMMAND, "command") X(TOOL_ARGV, "argv") X(TOOL_BUILTIN, "builtin") \
    X(TOOL_MCP, "mcp") X(TOOL_NATIVE, "native") X(TOOL_DELEGATE, "delegate") X(TOOL_BRIDGE, "bridge")
typedef enum {
#define X(kind, name) kind,
    TOOL_KINDS(X)
#undef X
} ToolKind;

typedef struct Bundle { Str name, type, version, description, body; Module *condition; Origin origin; } Bundle;

typedef struct ToolDef {
    Str name, title, description, category, icon;
    StrList aliases;
    Str ambiguous;                       /* MCP: an alias of two servers: can be denied, but not called; else empty */
    ToolKind kind;
    Origin origin;
    Value parameters;            /* JSON Schema for the model */
    Schema *schema;              /* compiled */
    Value output_schema;         /* may be GONE */
    Schema *output;
    int64_t timeout_ms;          /* 0: no timeout; -1: the kind's default */
    bool async, confirm;
    bool async_required;         /* MCP clients without tasks cannot call it */
    Value safety, retry;         /* may be GONE */
    const Place *safety_places;  /* positions of the keys of `safety`, in its order; NULL if unknown */
    CallKind call_kind;          /* declared; see project_call_kind */
    Str idempotency;             /* "none", "idempotent", "key"; empty: not declared */
    StrList injected;
    Str agent;                   /* private to this sub-agent; empty: available to all */
    bool overriding;             /* from overrides/: replaces another one */
    const Bundle *bundle;        /* NULL: always active */
    Module *script;              /* starlark; NULL: "has no implementation" */
    Template *command;           /* command */
    bool unsafe_raw;
    StrList argv;                /* argv */
    Place argv_place;            /* position of `command` in the manifest */
    StrList env_passthrough;
    Value environment;           /* command: dict of strings; may be GONE */
    Str folder;                  /* command: the space's root; argv: the manifest's folder; relative to the project's root */
    Str server, server_tool;     /* mcp */
    bool closed;                 /* gets values of the user's environment, so calls may not change its programs in the workspace (tool/protect/uses.h) */
    bool safe_path;              /* for such a tool, as in HookDef, like `exposed` */
    Str exposed;
    Str reads;                   /* of such a tool: a program that reads files of the workspace which calls can change: make, npm; empty: none */
} ToolDef;

typedef enum { HOOK_STARLARK, HOOK_COMMAND } HookKind;
typedef struct HookDef {
    Str name, event;
    HookKind kind;
    Origin origin;
    Module *script;              /* NULL: a no-op */
    Module *when;                /* expression over (payload, event); NULL: always */
    Str when_text;
    int64_t priority, timeout_ms;
    bool allow_on_error;
    Str agent;                   /* runs only inside this sub-agent; empty: everywhere */
    bool overriding;
    Str command, folder;         /* command hooks: shell text and working folder */
    StrList tools;               /* command hooks: globs over tool names; empty: all */
    bool blocking, post;         /* command hooks */
    Str exposed;                 /* command hooks: a program in a folder where calls can write files next to it (tool/protect/uses.h); empty: none */
    bool safe_path;              /* command hooks: keep Python from loading modules from folders that calls can write */
} HookDef;

typedef struct AgentDef {
    Str name, title, description, model, provider, prompt, effort;
    Origin origin;
    StrList tools, hooks;        /* names, including those of inline definitions */
    StrList blocked_tools, mcp, can_invoke;
    bool has_tools, has_mcp, has_can_invoke, can_spawn, verify, from_space;
    int64_t max_iterations;      /* 0: the depth's budget */
    Schema *output;              /* its answers must match; NULL: any text */
    Value output_schema;         /* of `output` */
    Template *prompt_template;   /* of a space's agent; else NULL */
    bool overriding;
} AgentDef;

typedef struct PromptArg { Str name, description; bool required; StrList values; } PromptArg;
typedef struct PromptDef { Str name, title, description; Origin origin; PromptArg *args; size_t n_args; Template *body; Value messages; } PromptDef;
typedef struct ResourceDef {
    Str name, title, description, uri, uri_template, mime_type, file, text, blob;
    Origin origin;
    Module *script;
    Value values;                /* dict of lists of strings, for completion; may be GONE */
} ResourceDef;
typedef struct TestDef { Str name; Origin origin; Value root; Str body; } TestDef;   /* the test runner reads the details */

typedef struct ServerDef {
    Str name;
    Origin origin;
    Str command, cwd, url;
    StrList args, allow_tools, deny_tools, read_roots, write_roots, allow;
    Value env, headers;          /* may be GONE */
    Value oauth;                 /* artifact/oauth_settings.h; may be GONE */
    int64_t timeout_ms;
    bool network, trust_annotations;
    bool allow_only;             /* tools.allow was given: only the tools it lists, possibly none */
    Str exposed;                 /* as in HookDef */
    bool safe_path;
} ServerDef;

typedef enum ModelProvider {
    PROVIDER_NONE,
#define PROVIDER(id, name, url, key) PROVIDER_##id,
#include "artifact/providers.def"
#undef PROVIDER
    PROVIDER_UNKNOWN,            /* an agent of a space may name any */
} ModelProvider;
ModelProvider project_provider_find(Str name);             /* empty: PROVIDER_NONE */
const char *project_provider_name(ModelProvider p);
const char *project_provider_url(ModelProvider p);             /* default address; "": none */
const char *project_provider_key(ModelProvider p);             /* variable of the default key; "": needs no key */

/* `given`: as written in the file, for messages. */
typedef struct ModelDef { ModelProvider provider; Str given, name, base_url, api_key_env, script, replay, wire, effort; int64_t max_tokens,
    timeout_ms, thinking_budget; StrList fallback, input; bool has_input; Value temperature, top_p, retry, headers,
    price; Origin origin; } ModelDef;
bool project_model_offline(const ModelDef *m);                /* a script or a recording */
/* US dollars for a million tokens. */
typedef struct ModelPrice { double input, cached, written, output; } ModelPrice;
bool project_listed_price(Str model, ModelPrice *out);        /* of prices.def; false: it is not known */
bool project_model_price(const ModelDef *m, ModelPrice *out); /* its profile's, else the listed one */
bool project_model_cheaper(const ModelDef *m);                /* true if its profile declares less than the list, for anything */
/* True for a known provider at its default address, with its default key. */
bool project_model_usual(const ModelDef *m);

typedef struct SourceDef { bool local; /* else git */ Str type, url, path, ref, checksum; Origin origin; } SourceDef;

typedef enum InjectedKind {
#define INJECTED(id, name) INJECTED_##id,
#include "artifact/injected.def"
#undef INJECTED
    INJECTED_SECRET,
    INJECTED_UNKNOWN,
} InjectedKind;
InjectedKind project_injected_find(Str name, Str *secret);       /* *secret: the NAME of secrets.NAME */

/* Settings of harness.md as given: types and ranges are checked; the rooms that use them apply defaults. */
typedef struct Settings {
    Str file;                    /* "" if there is no file */
    Str prompt;                  /* body or system_prompt */
    ModelDef *models;            /* the first one is `model`, if that is a map */
    size_t n_models;
    Str model;                   /* a bare name */
    Value context, limits, sandbox, delegation, meta, network, tools_policy, secrets, store, queue, approvals, guard;  /* dicts; GONE if not given */
    StrList resources;           /* files that MCP clients may read */
    StrList artifact_roots, trusted_sources, manifests, spaces, builtin_tools;
    bool builtin_all, builtin_set, manifests_set, spaces_set, servers_set;
    Str workspace;
} Settings;

typedef struct Project {
    Heap *heap;                  /* values of documents */
    Heap *script_heap;           /* values created by scripts while loading; separate, because running a script collects */
    Heap *host_heap;             /* placeholders for the host modules; NULL if the caller supplied them */
    Arena arena;
    Universe *universe;
    bool owns_universe;
    Str root;                    /* absolute */
    bool is_default;             /* the folder has no project: settings of ProjectInput.fallback */
    Settings settings;
    ToolDef *tools;              /* in load order; names are unique among tools visible together */
    HookDef *hooks;
    AgentDef *agents;
    Bundle **bundles;
    PromptDef *prompts;
    ResourceDef *resources;
    TestDef *tests;
    ServerDef *servers;
    SourceDef *sources;
    RuleRows rules;
    size_t n_tools, n_hooks, n_agents, n_bundles, n_prompts, n_resources, n_tests, n_servers, n_sources;
    bool has_space;              /* has a Construct space: built-in tools are enabled unless the settings disable them */
    Grant *grants;               /* what it requests beyond the defaults, sorted */
    LoadedFile *files;           /* every file read, with its digest; empty unless ProjectInput.digests */
    size_t n_grants, n_files;
    StrList loaded_files;        /* every path examined, relative to the root: the protected files */
    Module **modules;            /* everything compiled, for project_free */
    Template **templates;
    Schema **schemas;
    size_t n_modules, n_templates, n_schemas;
} Project;

typedef struct ProjectInput {
    const char *dir;             /* -C; NULL: the working folder */
    const char *config;          /* -c FILE; NULL: search for harness.md … */
    const char *tools;           /* --tools FILE: an additional manifest below the project; may be NULL */
    const char *state_dir;       /* folder of the cache of pulled sources; NULL: the default */
    Dict *predeclared;           /* host modules for scripts, in a frozen heap that outlives the project; NULL: placeholders */
    Dict *hook_predeclared;      /* same for hooks */
    Universe *universe;          /* NULL: the project creates its own */
    const char *fallback;        /* text of harness.md for a folder without a project; NULL: none */
    bool lenient;                /* skip invalid tools with a warning; never guards */
    bool strict;                 /* unknown keys are errors */
    const struct Project *within;/* project_define: its secrets may be named; NULL: none */
    bool digests;                /* keep a digest of every file: for trust */
    const View *view;            /* files whose content on disk is not trustworthy: see sandbox/view.h; NULL: none */
    bool sources_only;           /* settings and the list of artifact sources, nothing else: for pulling them */
} ProjectInput;

/* Loads everything and reports all problems. Returns false with *out NULL if there are errors. `problems` may
 * contain warnings and hints even on success. */
bool project_load(const ProjectInput *in, Project **out, Problems *problems);
void project_free(Project *p);
ModelProvider project_model_provider(const ModelDef *m);            /* for a profile without one: derived from its other fields */
/* A path as written in the settings: absolute, relative to the project's root ("" is the root), or ~/…; in `arena`. */
const char *project_path(const Project *p, Str path, Arena *arena);
/* The folder that project_load would use: its real path. False if it does not exist. */
bool project_root(const ProjectInput *in, char root[static 4096]);

typedef enum DefinitionKind {
#define DEFINITION(id, kind, list, event) DEFINITION_##id,
#include "artifact/definitions.def"
#undef DEFINITION
    DEFINITION_COUNT
} DefinitionKind;
typedef struct DefinitionInfo { const char *kind, *list, *event; } DefinitionInfo;
const DefinitionInfo *project_definition(DefinitionKind kind);
/* A project with one definition, given as JSON by the embedding program. The checks are the same as for a definition inside harness.md. `in` needs
 * predeclared, hook_predeclared and universe, which outlive it. */
bool project_define(const ProjectInput *in, DefinitionKind kind, Str definition, Project **out, Problems *problems);

/* The servers whose tools could have `name` as their alias (mcp__SERVER__TOOL): their number, and the first two. */
size_t project_alias_servers(const ServerDef *servers, size_t n, Str name, const ServerDef *first[2]);
/* Checks that a tool added by a program or script does not have the name of a server's tool. ERR_CONFIG names both. */
bool project_names_free(const Project *p, const ToolDef *def, Error *err);
const ToolDef *project_tool(const Project *p, Str name);               /* by name or alias, without those private to an agent */
const HookDef *project_hook(const Project *p, Str name);
const AgentDef *project_agent(const Project *p, Str name);
const AgentDef *project_space_agent(const Project *p);                 /* the first agent of a space, or NULL */
const char *tool_kind_name(ToolKind kind);
/* What calls of the tool do: declared, else by its name or implementation. CALL_KIND_NONE: unknown. */
CallKind project_call_kind(const ToolDef *t);
