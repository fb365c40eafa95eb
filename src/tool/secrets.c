/* The values that are redacted from the moment a project is loaded. */
#include <stdlib.h>
#include <strings.h>
#include "artifact/environment.h"
#include "tool/state.h"

static void add_value(void *ctx, Str value) { redact_add_value(((Runtime *)ctx)->redactor, value); }

static void add_variable(Runtime *rt, Str name) {
    if (!name.n) return;
    char *key = str_dup(name);
    const char *value = getenv(key);
    free(key);
    if (value) add_value(rt, str_from(value));
}

/* Does a name say that its value is a credential: does its last word end in one of these? Literal values of other names ("production")
 * are words that results may hold. */
static bool is_credential(Str name) {
    static const char *const words[] = { "auth", "authorization", "cookie", "credential", "credentials", "key", "pass", "passphrase", "passwd", "password", "secret", "token" };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t n = strlen(words[i]);
        if (name.n >= n && strncasecmp(name.at + name.n - n, words[i], n) == 0) return true;
    }
    return false;
}

/* "Bearer TOKEN": the last word counts by itself. */
static void add_literal(Runtime *rt, Str value) {
    size_t from = value.n;
    while (from > 0 && value.at[from - 1] != ' ') from--;
    add_value(rt, value);
    add_value(rt, str_sub(value, from, value.n));
}

static void add_map(Runtime *rt, Value map) {
    Entry *e;
    for (uint32_t i = 0; value_is_dict(map) && dict_next(value_dict(map), &i, &e);) {
        if (!value_is_string(e->value)) continue;
        environment_values(value_str(e->value), add_value, rt);
        if (is_credential(value_str(e->key)) && str_find(value_str(e->value), STR("${")) < 0) add_literal(rt, value_str(e->value));
    }
}

/* Its other keys are addresses and choices (token_auth, idp_token_endpoint). */
static void add_oauth(Runtime *rt, Value oauth) {
    static const char *const keys[] = { "client_secret", "private_key", "assertion", "idp_client_secret", "idp_id_token" };
    Entry *e;
    for (uint32_t i = 0; value_is_dict(oauth) && dict_next(value_dict(oauth), &i, &e);)
        if (value_is_string(e->value)) environment_values(value_str(e->value), add_value, rt);
    for (size_t i = 0; value_is_dict(oauth) && i < sizeof keys / sizeof *keys; i++) {
        Value *v = dict_find_str(value_dict(oauth), str_from(keys[i]));
        if (v && value_is_string(*v) && str_find(value_str(*v), STR("${")) < 0) add_value(rt, value_str(*v));
    }
}

static void add_settings(Runtime *rt, const Settings *s) {
    Entry *e;
    for (size_t i = 0; i < s->n_models; i++) {
        add_variable(rt, s->models[i].api_key_env);
        add_map(rt, s->models[i].headers);
    }
    for (uint32_t i = 0; value_is_dict(s->secrets) && dict_next(value_dict(s->secrets), &i, &e);) {
        Value *env = value_is_dict(e->value) ? dict_find_str(value_dict(e->value), STR("env")) : NULL;
        if (env && value_is_string(*env)) add_variable(rt, value_str(*env));
    }
}

void runtime_add_secrets(Runtime *rt) {
    static const char *const keys[] = { "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OAI_API_KEY", "GITHUB_TOKEN", "GH_TOKEN", "COPILOT_TOKEN" };
    const Project *p = rt->project;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) add_variable(rt, str_from(keys[i]));
    add_settings(rt, &p->settings);
    for (size_t i = 0; i < p->n_servers; i++) {
        add_map(rt, p->servers[i].env);
        add_map(rt, p->servers[i].headers);
        add_oauth(rt, p->servers[i].oauth);
    }
    for (size_t i = 0; i < p->n_tools; i++) {
        const ToolDef *t = &p->tools[i];
        add_map(rt, t->environment);
        for (size_t k = 0; k < t->env_passthrough.n; k++)
            if (is_credential(t->env_passthrough.at[k])) add_variable(rt, t->env_passthrough.at[k]);
    }
}
