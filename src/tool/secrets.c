#include "tool/secrets.h"
#include <stdlib.h>
#include "artifact/environment.h"
#include "policy/credentials.h"
#include "tool/runtime_private.h"

/* ---- literals ---- */

typedef struct SecretSink { void (*add)(void *ctx, Str value); void *ctx; const Project *project; bool listing; } SecretSink;

enum { SHORT_TOKEN = 8, LONG_TOKEN = 40 };      /* characters */

/* In a listing, masking a value must not hide other text: a path, an address, a program or an ordinary word. */
static bool is_opaque(Str value) {
    bool digit = false;
    for (size_t i = 0; i < value.n; i++) {
        char c = value.at[i];
        if (c == '/' || c == '\\' || c == ':' || c == ' ' || (c == '.' && value.n < LONG_TOKEN)) return false;
        digit = digit || (c >= '0' && c <= '9');
    }
    return digit && value.n >= SHORT_TOKEN;
}

/* True if the value occurs in the name of a program, a host or a root, or as a part of an argument: masking it would mask those, too. */
static bool is_part(Value v, Str literal) {
    Entry *e;
    if (value_is_string(v)) return str_find(value_str(v), literal) >= 0;
    for (uint32_t i = 0; value_is_dict(v) && dict_next(value_dict(v), &i, &e);)
        if (is_part(e->value, literal)) return true;
    for (uint32_t i = 0; value_is_list(v) && i < value_list(v)->n; i++)
        if (is_part(value_list(v)->at[i], literal)) return true;
    return false;
}

static bool hides_more(const Project *p, Str literal) {
    if (is_part(p->settings.network, literal) || is_part(p->settings.sandbox, literal)) return true;
    for (size_t i = 0; i < p->n_servers; i++) {
        const ServerDef *d = &p->servers[i];
        if (str_find(d->command, literal) >= 0) return true;
        for (size_t k = 0; k < d->args.n; k++)
            if (d->args.at[k].n != literal.n && str_find(d->args.at[k], literal) >= 0) return true;
    }
    return false;
}

static void add_word(void *ctx, Str word) {
    SecretSink *to = ctx;
    if (!to->listing || (is_opaque(word) && !hides_more(to->project, word))) to->add(to->ctx, word);
}

/* "Bearer TOKEN": the last word alone is also a secret. */
static void add_literal(SecretSink *to, Str value) {
    size_t from = value.n;
    while (from > 0 && value.at[from - 1] != ' ') from--;
    if (from) add_word(to, value);
    add_word(to, str_sub(value, from, value.n));
}

static void add_inside(SecretSink *to, Str text) { credentials_find(text, add_word, to); }

static bool is_literal(Str value) { return str_find(value, STR("${")) < 0; }

/* Literal values of other names ("production") are ordinary words that results may contain. */
static void add_map(SecretSink *to, Value map) {
    Entry *e;
    for (uint32_t i = 0; value_is_dict(map) && dict_next(value_dict(map), &i, &e);) {
        if (!value_is_string(e->value)) continue;
        add_inside(to, value_str(e->value));
        if (credentials_name(value_str(e->key)) && is_literal(value_str(e->value))) add_literal(to, value_str(e->value));
    }
}

/* Its other keys are addresses and choices (token_auth, idp_token_endpoint). */
static void add_oauth(SecretSink *to, Value oauth) {
    static const char *const keys[] = { "client_secret", "private_key", "assertion", "idp_client_secret", "idp_id_token" };
    for (size_t i = 0; value_is_dict(oauth) && i < sizeof keys / sizeof *keys; i++) {
        Value *v = dict_find_str(value_dict(oauth), str_from(keys[i]));
        if (v && value_is_string(*v) && is_literal(value_str(*v))) add_literal(to, value_str(*v));
    }
}

/* "--token VALUE" */
static void add_args(SecretSink *to, StrList args) {
    for (size_t i = 0; i < args.n; i++) {
        bool names = i > 0 && str_starts(args.at[i - 1], STR("-")) && str_find_char(args.at[i - 1], '=') < 0 && credentials_name(args.at[i - 1]);
        add_inside(to, args.at[i]);
        if (names && is_literal(args.at[i])) add_literal(to, args.at[i]);
    }
}

static void add_values(SecretSink *to, Value v) {
    Entry *e;
    if (value_is_string(v)) add_inside(to, value_str(v));
    for (uint32_t i = 0; value_is_dict(v) && dict_next(value_dict(v), &i, &e);) add_values(to, e->value);
    for (uint32_t i = 0; value_is_list(v) && i < value_list(v)->n; i++) add_values(to, value_list(v)->at[i]);
}

void secrets_literal(const Project *p, bool listing, void (*add)(void *ctx, Str value), void *ctx) {
    const Settings *s = &p->settings;
    SecretSink sink = { add, ctx, p, listing }, *to = &sink;
    for (size_t i = 0; i < s->n_models; i++) {
        add_inside(to, s->models[i].base_url);
        add_map(to, s->models[i].headers);
    }
    add_values(to, s->store);
    add_values(to, s->network);
    for (size_t i = 0; i < p->n_servers; i++) {
        const ServerDef *d = &p->servers[i];
        add_inside(to, d->url);
        add_inside(to, d->command);
        add_args(to, d->args);
        add_map(to, d->env);
        add_map(to, d->headers);
        add_oauth(to, d->oauth);
        add_values(to, d->oauth);
    }
    for (size_t i = 0; i < p->n_tools; i++) {
        add_map(to, p->tools[i].environment);
        add_args(to, p->tools[i].argv);
        if (p->tools[i].command) add_inside(to, template_text(p->tools[i].command));
    }
    for (size_t i = 0; i < p->n_hooks; i++) add_inside(to, p->hooks[i].command);
    for (size_t i = 0; i < p->n_sources; i++) add_inside(to, p->sources[i].url);
}

/* ---- variables ---- */

static void add_value(void *ctx, Str value) { redact_add_value(((Runtime *)ctx)->redactor, value); }

static void add_variable(Runtime *rt, Str name) {
    if (!name.n) return;
    char *key = str_dup(name);
    const char *value = getenv(key);
    free(key);
    if (value) add_value(rt, str_from(value));
}

static void add_variables(Runtime *rt, Value map) {
    Entry *e;
    for (uint32_t i = 0; value_is_dict(map) && dict_next(value_dict(map), &i, &e);)
        if (value_is_string(e->value)) environment_values(value_str(e->value), add_value, rt);
}

static void add_settings(Runtime *rt, const Settings *s) {
    Entry *e;
    for (size_t i = 0; i < s->n_models; i++) {
        add_variable(rt, s->models[i].api_key_env);
        add_variables(rt, s->models[i].headers);
    }
    for (uint32_t i = 0; value_is_dict(s->secrets) && dict_next(value_dict(s->secrets), &i, &e);) {
        Value *env = value_is_dict(e->value) ? dict_find_str(value_dict(e->value), STR("env")) : NULL;
        if (env && value_is_string(*env)) add_variable(rt, value_str(*env));
    }
}

void runtime_add_secrets(Runtime *rt) {
    static const char *const keys[] = { "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OAI_API_KEY", "GITHUB_TOKEN", "GH_TOKEN", "COPILOT_TOKEN" };
    const Project *p = rt->project;
    secrets_literal(p, false, add_value, rt);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) add_variable(rt, str_from(keys[i]));
    add_settings(rt, &p->settings);
    for (size_t i = 0; i < p->n_servers; i++) {
        add_variables(rt, p->servers[i].env);
        add_variables(rt, p->servers[i].headers);
        add_variables(rt, p->servers[i].oauth);
    }
    for (size_t i = 0; i < p->n_tools; i++) {
        const ToolDef *t = &p->tools[i];
        add_variables(rt, t->environment);
        for (size_t k = 0; k < t->env_passthrough.n; k++)
            if (credentials_name(t->env_passthrough.at[k])) add_variable(rt, t->env_passthrough.at[k]);
    }
}
