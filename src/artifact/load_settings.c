/* harness.md, harness.yaml: finds the file and reads the settings. */
#include "artifact/builtin_names.h"
#include "artifact/load.h"
#include "artifact/project_find.h"
#include "artifact/settings_check.h"
#include "value/list.h"

#define AT(member) offsetof(Settings, member)
#define SECTION(key, member) { KEY(config, key), .type = FIELD_MAP, .offset = AT(member), .flags = FIELD_NOT_NULL }
static const Field fields[] = {
    SECTION(context, context), SECTION(limits, limits), SECTION(sandbox, sandbox), SECTION(delegation, delegation),
    SECTION(meta, meta), SECTION(network, network), SECTION(tools_policy, tools_policy), SECTION(secrets, secrets),
    SECTION(store, store), SECTION(queue, queue), SECTION(approvals, approvals), SECTION(guard, guard),
    { KEY(config, resources), .type = FIELD_STRINGS, .offset = AT(resources), .flags = FIELD_NOT_NULL },
    { KEY(config, artifact_roots), .type = FIELD_STRINGS, .offset = AT(artifact_roots), .flags = FIELD_NOT_NULL },
    { KEY(config, trusted_sources), .type = FIELD_STRINGS, .offset = AT(trusted_sources), .flags = FIELD_NOT_NULL },
    { KEY(config, manifests), .type = FIELD_STRINGS, .offset = AT(manifests) },
    { KEY(config, spaces), .type = FIELD_STRINGS, .offset = AT(spaces) },
    { KEY(config, workspace), .type = FIELD_STRING, .offset = AT(workspace), .flags = FIELD_NOT_NULL },
    { KEY(config, model), .flags = FIELD_IGNORED },
    { KEY(config, models), .flags = FIELD_IGNORED },
    { KEY(config, builtin_tools), .flags = FIELD_IGNORED },
    { KEY(config, tools), .flags = FIELD_IGNORED },
    { KEY(config, hooks), .flags = FIELD_IGNORED },
    { KEY(config, agents), .flags = FIELD_IGNORED },
    { KEY(config, artifact_sources), .flags = FIELD_IGNORED },
    { KEY(config, mcp_servers), .flags = FIELD_IGNORED },
    { KEY(config, rules), .flags = FIELD_IGNORED },
    { KEY(config, system_prompt), .type = FIELD_STRING, .offset = AT(prompt) },
};
enum { FIELDS = sizeof fields / sizeof *fields };
static const Field file_prompt = { KEY(config, system_prompt), .flags = FIELD_UNKNOWN, .hint = "the text below the frontmatter is the system prompt" };

static Value given(const LoaderPlace *at, const char *key) {
    Value *v = dict_find_str(value_dict(at->map), str_from(key));
    return v && !value_is_none(*v) ? *v : VALUE_GONE;
}

/* ---- location ---- */

static const char *const places[] = { "harness.md", "harness.yaml", "harness.yml", ".harness/harness.md" };

/* Finds the existing project file; a second one is an error. */
static Str find(Loader *l) {
    Str found = { 0 };
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        Str path = str_from(places[i]);
        loader_look_at(l, path);
        if (!document_exists(&l->docs, path)) continue;
        if (found.n)
            problems_add(l->docs.problems, PROBLEM_ERROR, path, (Place){ 1, 1 }, STR("keep one of them, or choose with -c FILE"),
                         "a project has one configuration file, but both " STR_FMT " and " STR_FMT " exist", STR_ARG(found), STR_ARG(path));
        else
            found = path;
    }
    return found;
}

static bool is_yaml(Str path) { return str_ends(path, STR(".yaml")) || str_ends(path, STR(".yml")); }

/* ---- models ---- */

#define IN_MODEL(member) offsetof(ModelDef, member)
static const Field model_fields[] = {
    { KEY(model, provider), .type = FIELD_STRING, .offset = IN_MODEL(given) },
    { KEY(model, name), .type = FIELD_STRING, .offset = IN_MODEL(name) },
    { KEY(model, base_url), .type = FIELD_STRING, .offset = IN_MODEL(base_url) },
    { KEY(model, api_key_env), .type = FIELD_STRING, .offset = IN_MODEL(api_key_env) },
    { KEY(model, script), .type = FIELD_STRING, .offset = IN_MODEL(script) },
    { KEY(model, replay), .type = FIELD_STRING, .offset = IN_MODEL(replay) },
    { KEY(model, wire), .type = FIELD_STRING, .offset = IN_MODEL(wire) },
    { KEY(model, effort), .type = FIELD_STRING, .offset = IN_MODEL(effort) },
    { KEY(model, thinking_budget), .type = FIELD_INT, .offset = IN_MODEL(thinking_budget) },
    { KEY(model, fallback), .type = FIELD_STRINGS, .offset = IN_MODEL(fallback), .flags = FIELD_NOT_NULL },
    { KEY(model, input), .type = FIELD_STRINGS, .offset = IN_MODEL(input), .flags = FIELD_NOT_NULL },
    { KEY(model, max_tokens), .type = FIELD_INT, .offset = IN_MODEL(max_tokens) },
    { KEY(model, timeout_ms), .type = FIELD_INT, .offset = IN_MODEL(timeout_ms) },
    { KEY(model, temperature), .type = FIELD_ANY, .offset = IN_MODEL(temperature) },
    { KEY(model, top_p), .type = FIELD_ANY, .offset = IN_MODEL(top_p) },
    { KEY(model, retry), .type = FIELD_MAP, .offset = IN_MODEL(retry) },
    { KEY(model, headers), .type = FIELD_MAP, .offset = IN_MODEL(headers) },
    { KEY(model, price), .type = FIELD_MAP, .offset = IN_MODEL(price) },
};

static void check_number(Loader *l, const LoaderPlace *at, const char *key, Value v) {
    if (value_is_gone(v)) return;
    double n;
    if (!settings_check_number(v, &n)) loader_error(l, at, key, "%s.%s: expected number, got %s", at->path, key, field_type_name(v));
    else if (n < 0) loader_error(l, at, key, "%s.%s must be >= 0", at->path, key);
}

/* US dollars per million tokens. */
static void check_price(Loader *l, const LoaderPlace *at, Value price) {
    static const Field prices[] = {
        { KEY(price, input), .type = FIELD_NUMBER, .offset = 0 },
        { KEY(price, output), .type = FIELD_NUMBER, .offset = sizeof(double) },
        { KEY(price, cached), .type = FIELD_NUMBER, .offset = 2 * sizeof(double) },
        { KEY(price, written), .type = FIELD_NUMBER, .offset = 3 * sizeof(double) },
    };
    if (!value_is_dict(price)) return;
    double usd[4] = { 0 };
    LoaderPlace inner = settings_check_below(l, at, "price", price);
    if (!loader_read(l, &inner, prices, sizeof prices / sizeof *prices, usd)) return;
    for (size_t i = 0; i < 4; i++)
        if (usd[i] < 0) loader_error(l, &inner, prices[i].name, "%s.%s must be >= 0", inner.path, prices[i].name);
}

const char *project_provider_name(ModelProvider p) {
    static const char *const names[] = { "",
#define PROVIDER(id, name, url, key) [PROVIDER_##id] = name,
#include "artifact/providers.def"
#undef PROVIDER
        [PROVIDER_UNKNOWN] = "unknown" };
    return names[p];
}

ModelProvider project_provider_find(Str name) {
    int p = PROVIDER_NONE;
    while (p < PROVIDER_UNKNOWN && !str_eq(name, str_from(project_provider_name((ModelProvider)p)))) p++;
    return (ModelProvider)p;
}

bool project_model_offline(const ModelDef *m) {
    return m->provider == PROVIDER_SCRIPT || m->provider == PROVIDER_REPLAY || (m->provider == PROVIDER_NONE && (m->script.n || m->replay.n));
}

static void forget(Loader *l, const LoaderPlace *at, const char *key) {
    char *path = arena_fmt(l->docs.arena, "%s.%s", at->path, key);
    grants_forget(&l->grants, at->document->file, path);
}

/* A price that is not below the list grants nothing, nor does a provider at its default address with its default key. */
static void forget_usual(Loader *l, const LoaderPlace *at, const ModelDef *m) {
    if (!project_model_cheaper(m)) forget(l, at, "price");
    if (!project_model_usual(m)) return;
    forget(l, at, "base_url");
    forget(l, at, "api_key_env");
}

static void read_model(Loader *l, const LoaderPlace *at, ModelDef *m) {
    static const char *const wires[] = { "responses", "chat", NULL }, *const inputs[] = { "image", "pdf", NULL };
    static const char *const providers[] = {
#define PROVIDER(id, name, url, key) name,
#include "artifact/providers.def"
#undef PROVIDER
        NULL };
    *m = (ModelDef){ .origin = at->origin, .temperature = VALUE_GONE, .top_p = VALUE_GONE, .retry = VALUE_GONE, .headers = VALUE_GONE, .price = VALUE_GONE };
    if (!loader_read(l, at, model_fields, sizeof model_fields / sizeof *model_fields, m)) return;
    loader_choice(l, at, "provider", m->given, providers);
    loader_choice(l, at, "wire", m->wire, wires);
    loader_choice(l, at, "effort", m->effort, loader_efforts);
    m->has_input = !value_is_gone(given(at, "input"));
    for (size_t i = 0; i < m->input.n; i++) loader_choice(l, at, "input", m->input.at[i], inputs);
    m->provider = project_provider_find(m->given);
    if (m->wire.n && (m->provider == PROVIDER_ANTHROPIC || project_model_offline(m)))
        loader_error(l, at, "wire", "%s.wire is for providers that speak OpenAI's protocols", at->path);
    if (m->thinking_budget < 0) loader_error(l, at, "thinking_budget", "%s.thinking_budget must be >= 0", at->path);
    if (m->provider == PROVIDER_SCRIPT && m->script.n == 0) loader_error(l, at, "provider", "%s.script is required", at->path);
    if (m->max_tokens < 0) loader_error(l, at, "max_tokens", "%s.max_tokens must be >= 0", at->path);
    if (m->timeout_ms < 0) loader_error(l, at, "timeout_ms", "%s.timeout_ms must be >= 0", at->path);
    check_number(l, at, "temperature", m->temperature);
    check_number(l, at, "top_p", m->top_p);
    loader_retry(l, at, m->retry);
    loader_env(l, at, "headers", m->headers, true);
    check_price(l, at, m->price);
    forget_usual(l, at, m);
}

static bool is_profile(const Settings *s, Str name) {
    for (size_t i = 0; i < s->n_models; i++)
        if (str_eq(s->models[i].name, name)) return true;
    return false;
}

/* An unknown profile would otherwise be noticed only when it is needed. */
static void check_fallbacks(Loader *l, const LoaderPlace *at, const Settings *s) {
    Str *names = ARENA_ARRAY(l->docs.arena, Str, s->n_models + 1);
    for (size_t i = 0; i < s->n_models; i++) names[i] = s->models[i].name;
    for (size_t i = 0; i < s->n_models; i++)
        for (size_t k = 0; k < s->models[i].fallback.n; k++) {
            Str name = s->models[i].fallback.at[k], near = str_nearest(name, names, s->n_models);
            if (str_eq(name, s->models[i].name)) loader_error(l, at, "model", "model " STR_FMT ": fallback names the model itself", STR_ARG(name));
            else if (is_profile(s, name)) continue;
            else if (near.n) loader_error(l, at, "model",
                "model " STR_FMT ": fallback: no profile \"" STR_FMT "\" (did you mean \"" STR_FMT "\"?)", STR_ARG(names[i]), STR_ARG(name),
                STR_ARG(near));
            else loader_error(l, at, "model", "model " STR_FMT ": fallback: no profile \"" STR_FMT "\" in models", STR_ARG(names[i]), STR_ARG(name));
        }
}

static void read_models(Loader *l, const LoaderPlace *at, Settings *s) {
    Value one = given(at, "model"), many = given(at, "models");
    if (!value_is_gone(many) && !value_is_list(many)) {
        loader_error(l, at, "models", "models: expected list, got %s", field_type_name(many));
        many = VALUE_GONE;
    }
    size_t n = value_is_list(many) ? value_list(many)->n : 0;
    s->models = ARENA_ARRAY(l->docs.arena, ModelDef, n + 1);
    if (value_is_string(one)) {
        s->model = value_str(one);
    } else if (value_is_dict(one)) {
        LoaderPlace inner = settings_check_below(l, at, "model", one);
        read_model(l, &inner, &s->models[s->n_models++]);
    } else if (!value_is_gone(one)) {
        loader_error(l, at, "model", "model: expected string or map, got %s", field_type_name(one));
    }
    for (uint32_t i = 0; i < n; i++) {
        LoaderPlace item = loader_item_place(l, at, "models", many, i);
        read_model(l, &item, &s->models[s->n_models++]);
    }
    check_fallbacks(l, at, s);
}

/* ---- built-in tools ---- */

static void read_builtins(Loader *l, const LoaderPlace *at, Settings *s) {
    Value v = given(at, "builtin_tools");
    FieldInput in = loader_input(l, at);
    size_t n;
    const Str *known = builtin_names_list(&n);
    s->builtin_set = field_given(&in, "builtin_tools");
    if (value_is_gone(v)) return;
    if (value_is_string(v)) {
        static const char *const words[] = { "all", "none", NULL };
        s->builtin_all = str_eq(value_str(v), STR("all"));
        if (value_str(v).n == 0) loader_error(l, at, "builtin_tools", "builtin_tools: expected all, none or a list");
        loader_choice(l, at, "builtin_tools", value_str(v), words);
        return;
    }
    static const Field list = { KEY(config, builtin_tools), .type = FIELD_STRINGS, .offset = offsetof(Settings, builtin_tools) };
    if (!field_read_one(&in, &list, s)) return;
    for (size_t i = 0; i < s->builtin_tools.n; i++) {
        bool found = false;
        for (size_t k = 0; k < n; k++) found = found || str_eq(known[k], s->builtin_tools.at[i]);
        if (!found)
            problems_add(l->docs.problems, PROBLEM_ERROR, at->origin.file, document_item_place(at->document, v, i),
                         field_hint(l->docs.arena, s->builtin_tools.at[i], known, n), "builtin_tools[%zu]: unknown tool \"" STR_FMT "\"", i,
                         STR_ARG(s->builtin_tools.at[i]));
    }
}

/* ---- entry points ---- */

static void check_list(Loader *l, const LoaderPlace *at, const char *key) {
    Value v = given(at, key);
    if (!value_is_gone(v) && !value_is_list(v)) loader_error(l, at, key, "%s: expected list, got %s", key, field_type_name(v));
}

/* The content of an empty section is indented wrongly, or commented out: it must not count as the defaults. */
static void check_empty(Loader *l, const LoaderPlace *at) {
    static const char *const keys[] = { "model", "models", "builtin_tools", "tools", "hooks", "agents", "artifact_sources", "mcp_servers", "rules" };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        Value *v = dict_find_str(value_dict(at->map), str_from(keys[i]));
        if (v && value_is_none(*v)) loader_error(l, at, keys[i], "%s: needs a value (or remove the key)", keys[i]);
    }
}

static void clear(Settings *s) {
    s->context = s->limits = s->sandbox = s->delegation = s->meta = s->network = s->tools_policy = s->secrets = s->store = s->queue = s->approvals = VALUE_GONE;
}

void load_settings_from(Loader *l, const Document *d) {
    Settings *s = &l->project->settings;
    LoaderPlace at = loader_file_place(l, d, SOURCE_PROJECT);
    bool yaml = is_yaml(d->file);
    clear(s);
    FieldInput in = loader_input(l, &at);
    Field all[FIELDS];
    memcpy(all, fields, sizeof fields);
    if (!yaml) all[FIELDS - 1] = file_prompt;
    loader_read(l, &at, all, FIELDS, s);
    if (!yaml) s->prompt = arena_str(l->docs.arena, d->body);
    s->manifests_set = field_given(&in, "manifests");
    s->spaces_set = field_given(&in, "spaces");
    s->servers_set = field_given(&in, "mcp_servers");
    check_empty(l, &at);
    check_list(l, &at, "tools");
    check_list(l, &at, "hooks");
    check_list(l, &at, "agents");
    check_list(l, &at, "artifact_sources");
    read_models(l, &at, s);
    read_builtins(l, &at, s);
    settings_check(l, &at);
    loader_rule_rows(l, &at, given(&at, "rules"));
}

void load_settings(Loader *l) {
    Settings *s = &l->project->settings;
    clear(s);
    Str path = l->config.n ? l->config : find(l);
    if (path.n == 0 && l->in->fallback && !project_here(l->project->root.at)) {
        l->project->is_default = true;
        if (document_parse(&l->docs, "config", STR("harness.md"), DOCUMENT_MARKDOWN, str_from(l->in->fallback),
            &l->settings)) load_settings_from(l, &l->settings);
    }
    if (path.n == 0) return;
    if (l->config.n) loader_look_at(l, path);
    s->file = path;
    if ((is_yaml(path) ? document_read_yaml : document_read_markdown)(&l->docs, "config", path, &l->settings)) load_settings_from(l, &l->settings);
}
