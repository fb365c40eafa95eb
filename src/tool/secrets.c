/* The values that are redacted from the moment a project is loaded. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
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

/* Does a name say that its value is a credential? Literal values of other names ("production") are words that results may hold. */
static bool is_credential(Str name) {
    static const char *const words[] = { "auth", "cookie", "credential", "key", "pass", "secret", "session", "token" };
    char lower[128];
    size_t n = name.n < sizeof lower - 1 ? name.n : sizeof lower - 1;
    for (size_t i = 0; i < n; i++) lower[i] = (char)tolower((unsigned char)name.at[i]);
    lower[n] = 0;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(lower, words[i])) return true;
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
        if (is_credential(value_str(e->key))) add_literal(rt, value_str(e->value));
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
        add_map(rt, p->servers[i].oauth);
    }
    for (size_t i = 0; i < p->n_tools; i++) {
        const ToolDef *t = &p->tools[i];
        add_map(rt, t->environment);
        for (size_t k = 0; k < t->env_passthrough.n; k++)
            if (is_credential(t->env_passthrough.at[k])) add_variable(rt, t->env_passthrough.at[k]);
    }
}
