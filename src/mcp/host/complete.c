/* completion/complete: values for the arguments of prompts and the variables of resource templates. */
#include <ctype.h>
#include <stdlib.h>
#include "base/mem.h"
#include "mcp/host/serve.h"
#include "mcp/host/resources.h"
#include "mcp/wire/uri_template.h"

enum { VALUES_MAX = 100 };

static Str text_in(Value dict, const char *key) {
    Value *v = value_is_dict(dict) ? dict_find_str(value_dict(dict), str_from(key)) : NULL;
    return v && value_is_string(*v) ? value_str(*v) : (Str){ 0 };
}

/* Ignores case of A to Z. */
static bool begins(Str value, Str with) {
    if (value.n < with.n) return false;
    for (size_t i = 0; i < with.n; i++)
        if (tolower((unsigned char)value.at[i]) != tolower((unsigned char)with.at[i])) return false;
    return true;
}

static bool contains(Str value, Str part) {
    for (size_t i = 0; i + part.n <= value.n; i++)
        if (begins(str_sub(value, i, value.n), part)) return true;
    return false;
}

/* Values that start with what was typed, then those that contain it. */
static bool give(McpRequest *q, StrList values, Str typed, Error *err) {
    Heap *h = q->heap;
    Dict *d = dict_new(h, 1, err), *completion = d ? dict_new(h, 3, err) : NULL;
    List *found = completion ? list_new(h, 0, err) : NULL;
    int64_t total = 0;
    for (int pass = 0; found && pass < 2; pass++)
        for (size_t i = 0; i < values.n; i++) {
            bool first = begins(values.at[i], typed);
            if (pass == 0 ? !first : first || !contains(values.at[i], typed)) continue;
            if (total++ >= VALUES_MAX) continue;
            String *s = string_new(h, values.at[i], err);
            if (!s || !list_push(h, found, value_from_object(s), err)) return false;
        }
    if (!found || !dict_put_str(h, completion, STR("values"), value_from_object(found), err) ||
        !dict_put_str(h, completion, STR("total"), value_from_small(total), err) ||
        !dict_put_str(h, completion, STR("hasMore"), value_from_bool(total > VALUES_MAX), err) ||
        !dict_put_str(h, d, STR("completion"), value_from_object(completion), err)) return false;
    return q->result = value_from_object(d), true;
}

static bool of_prompt(McpRequest *q, Str name, Str argument, StrList *out, Error *err) {
    const Project *p = runtime_project(run_runtime(q->run));
    for (size_t i = 0; i < p->n_prompts; i++) {
        const PromptDef *prompt = &p->prompts[i];
        if (!str_eq(prompt->name, name)) continue;
        for (size_t k = 0; k < prompt->n_args; k++)
            if (str_eq(prompt->args[k].name, argument)) return *out = prompt->args[k].values, true;
        return error_set(err, ERR_VALIDATION, "prompt \"" STR_FMT "\" has no argument \"" STR_FMT "\"", STR_ARG(name), STR_ARG(argument));
    }
    return error_set(err, ERR_VALIDATION, "Unknown prompt: " STR_FMT, STR_ARG(name));
}

static bool of_template(McpRequest *q, Str uri, Str variable, StrList *out, Str **owned, Error *err) {
    const Project *p = runtime_project(run_runtime(q->run));
    for (size_t i = 0; i < p->n_resources; i++) {
        const ResourceDef *r = &p->resources[i];
        Str name;
        if (!str_eq(r->uri_template, uri)) continue;
        for (size_t at = 0; uri_template_next(uri, &at, &name);) {
            if (!str_eq(name, variable)) continue;
            Value *values = value_is_dict(r->values) ? dict_find_str(value_dict(r->values), name) : NULL;
            const List *l = values && value_is_list(*values) ? value_list(*values) : NULL;
            *owned = mem_zero(l ? l->n + 1 : 1, sizeof **owned);
            for (uint32_t k = 0; l && k < l->n; k++) (*owned)[k] = value_str(l->at[k]);
            return *out = (StrList){ .at = *owned, .n = l ? l->n : 0 }, true;
        }
        return error_set(err, ERR_VALIDATION, "the template " STR_FMT " has no variable \"" STR_FMT "\"", STR_ARG(uri), STR_ARG(variable));
    }
    if (str_eq(uri, STR(SERVE_ARTIFACTS)) || serve_resources_known(run_runtime(q->run), uri)) return true;      /* no suggestions */
    return error_set(err, ERR_VALIDATION, "Unknown resource template: " STR_FMT, STR_ARG(uri));
}

bool serve_complete(McpRequest *q, Error *err) {
    Value *ref = serve_param(q, "ref"), *argument = serve_param(q, "argument");
    StrList values = { 0 };
    if (!ref || !value_is_dict(*ref)) return error_set(err, ERR_VALIDATION, "ref is required and must be an object");
    if (!argument || !value_is_dict(*argument)) return error_set(err, ERR_VALIDATION, "argument is required and must be an object");
    Str type = text_in(*ref, "type"), name = text_in(*argument, "name"), typed = text_in(*argument, "value");
    if (!name.n || !typed.at) return error_set(err, ERR_VALIDATION, "argument needs name and value, both strings");
    if (str_eq(type, STR("ref/prompt"))) return of_prompt(q, text_in(*ref, "name"), name, &values, err) && give(q, values, typed, err);
    if (!str_eq(type, STR("ref/resource"))) return error_set(err, ERR_VALIDATION, "ref.type must be ref/prompt or ref/resource");
    Str *owned = NULL;
    bool ok = of_template(q, text_in(*ref, "uri"), name, &values, &owned, err) && give(q, values, typed, err);
    free(owned);
    return ok;
}
