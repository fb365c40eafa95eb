/* prompts/list and prompts/get: .harness/prompts. Asks the client's user for required arguments that are missing. */
#include "base/base64.h"
#include "mcp/host/serve.h"
#include "mcp/host/resources.h"
#include "tool/resource.h"

static bool put_more(Heap *h, Dict *d, const char *key, Str text, Error *err) { return text.n == 0 || dict_put_text(h, d, key, text, err); }

static Str text_in(Value dict, const char *key) {
    Value *v = value_is_dict(dict) ? dict_find_str(value_dict(dict), str_from(key)) : NULL;
    return v && value_is_string(*v) ? value_str(*v) : (Str){ 0 };
}

/* ---- the list ---- */

static bool describe_argument(Heap *h, const PromptArg *a, List *out, Error *err) {
    Dict *d = dict_new(h, 3, err);
    return d && dict_put_text(h, d, "name", a->name, err) && put_more(h, d, "description", a->description, err) &&
           dict_put_str(h, d, STR("required"), value_from_bool(a->required), err) && list_push(h, out, value_from_object(d), err);
}

static bool describe(McpRequest *q, const PromptDef *p, List *out, Error *err) {
    Heap *h = q->heap;
    Dict *d = dict_new(h, 4, err);
    List *args = d ? list_new(h, p->n_args, err) : NULL;
    bool ok = args && dict_put_text(h, d, "name", p->name, err) && (!mcp_structured(q->version) || put_more(h, d, "title", p->title, err)) &&
              put_more(h, d, "description", p->description, err);
    for (size_t i = 0; ok && i < p->n_args; i++) ok = describe_argument(h, &p->args[i], args, err);
    if (ok && p->n_args) ok = dict_put_str(h, d, STR("arguments"), value_from_object(args), err);
    return ok && list_push(h, out, value_from_object(d), err);
}

bool serve_prompts_list(McpRequest *q, Error *err) {
    const Project *p = runtime_project(run_runtime(q->run));
    size_t from, to;
    Value next;
    if (!serve_page(q, p->n_prompts, &from, &to, &next, err)) return false;
    Dict *d = dict_new(q->heap, 2, err);
    List *page = d ? list_new(q->heap, to - from, err) : NULL;
    bool ok = page && dict_put_str(q->heap, d, STR("prompts"), value_from_object(page), err);
    for (size_t i = from; ok && i < to; i++) ok = describe(q, &p->prompts[i], page, err);
    if (ok && !value_is_gone(next)) ok = dict_put_str(q->heap, d, STR("nextCursor"), next, err);
    q->result = value_from_object(d);
    q->ttl_ms = SERVE_TTL_MS;
    return ok;
}

/* ---- arguments ---- */

/* Copies the given arguments: all must be strings and known to the prompt. */
static bool take_arguments(McpRequest *q, const PromptDef *p, Dict *out, Error *err) {
    Value *given = serve_param(q, "arguments");
    Entry *e;
    if (!given) return true;
    if (!value_is_dict(*given)) return error_set(err, ERR_VALIDATION, "arguments must be an object");
    for (uint32_t i = 0; dict_next(value_dict(*given), &i, &e);) {
        size_t k = 0;
        while (k < p->n_args && !str_eq(p->args[k].name, value_str(e->key))) k++;
        if (k == p->n_args)
            return error_set(err, ERR_VALIDATION, "prompt \"" STR_FMT "\" has no argument \"" STR_FMT "\"", STR_ARG(p->name), STR_ARG(value_str(e->key)));
        if (!value_is_string(e->value)) return error_set(err, ERR_VALIDATION, "argument \"" STR_FMT "\" must be a string", STR_ARG(value_str(e->key)));
        if (!dict_put(q->heap, out, e->key, e->value, err)) return false;
    }
    return true;
}

static bool is_missing(const PromptArg *a, const Dict *args) { return a->required && !dict_find_str(args, a->name); }

static bool missing(const PromptDef *p, const Dict *args, Error *err) {
    for (size_t i = 0; i < p->n_args; i++)
        if (is_missing(&p->args[i], args))
            return error_set(err, ERR_VALIDATION, "prompt \"" STR_FMT "\" needs the argument \"" STR_FMT "\"", STR_ARG(p->name), STR_ARG(p->args[i].name));
    return true;
}

static bool add_field(Heap *h, Dict *properties, List *required, const PromptArg *a, Error *err) {
    Dict *d = dict_new(h, 3, err);
    String *name = d ? string_new(h, a->name, err) : NULL;
    if (!name || !dict_put_text(h, d, "type", STR("string"), err) || !put_more(h, d, "description", a->description, err)) return false;
    if (a->values.n) {
        List *values = list_new(h, a->values.n, err);
        bool ok = values && dict_put_str(h, d, STR("enum"), value_from_object(values), err);
        for (size_t i = 0; ok && i < a->values.n; i++) {
            String *s = string_new(h, a->values.at[i], err);
            ok = s && list_push(h, values, value_from_object(s), err);
        }
        if (!ok) return false;
    }
    return dict_put(h, properties, value_from_object(name), value_from_object(d), err) && list_push(h, required, value_from_object(name), err);
}

static bool make_form(Heap *h, const PromptDef *p, const Dict *args, Value *out, Error *err) {
    Dict *schema = dict_new(h, 3, err), *properties = schema ? dict_new(h, 2, err) : NULL, *form = properties ? dict_new(h, 3, err) : NULL;
    List *required = form ? list_new(h, 2, err) : NULL;
    bool ok = required && dict_put_text(h, schema, "type", STR("object"), err)
        && dict_put_str(h, schema, STR("properties"), value_from_object(properties), err) &&
              dict_put_str(h, schema, STR("required"), value_from_object(required), err);
    for (size_t i = 0; ok && i < p->n_args; i++)
        if (is_missing(&p->args[i], args)) ok = add_field(h, properties, required, &p->args[i], err);
    String *message = ok ? string_fmt(h, err, "The prompt %.*s needs more to be filled in.", STR_ARG(p->title.n ? p->title : p->name)) : NULL;
    if (!message || !dict_put_str(h, form, STR("message"), value_from_object(message), err) ||
        !dict_put_str(h, form, STR("requestedSchema"), value_from_object(schema), err)) return false;
    return *out = value_from_object(form), true;
}

static bool ask_for_rest(McpRequest *q, const PromptDef *p, Dict *args, Error *err) {
    Error none;
    if (missing(p, args, &none)) return true;
    if (!serve_input_offered(q, INPUT_ELICIT)) return missing(p, args, err);
    InputAsk ask = { .kind = INPUT_ELICIT, .key = STR("arguments") };
    Entry *e;
    if (!make_form(q->heap, p, args, &ask.params, err) || !serve_input(q, &ask, 1, q->cancel, err)) return false;
    Value *content = value_is_dict(ask.answer)
        && str_eq(text_in(ask.answer, "action"), STR("accept")) ? dict_find_str(value_dict(ask.answer), STR("content")) : NULL;
    for (uint32_t i = 0; content && value_is_dict(*content) && dict_next(value_dict(*content), &i, &e);)
        if (value_is_string(e->value) && !dict_find_str(args, value_str(e->key)) && !dict_put(q->heap, args, e->key, e->value, err)) return false;
    return missing(p, args, err);
}

/* ---- messages ---- */

typedef struct Filling { McpRequest *q; Value args; Error *err; } Filling;

static bool render(const Filling *f, Str pattern, Value *out) {
    Template *t = NULL;
    Buf text = { 0 };
    bool ok = template_compile(pattern, NULL, &t, f->err) && template_render(t, f->args, &text, f->err);
    String *s = ok ? string_new(f->q->heap, buf_str(&text), f->err) : NULL;
    template_free(t);
    buf_clear(&text);
    if (s) *out = value_from_object(s);
    return s != NULL;
}

/* {data or file, mime_type} */
static bool fill_media(const Filling *f, const char *type, Value given, Dict *out) {
    Heap *h = f->q->heap;
    Str file = text_in(given, "file"), data = text_in(given, "data");
    Buf bytes = { 0 }, text = { 0 };
    bool ok = true;
    if (file.n) {
        ok = tool_resource_file(run_runtime(f->q->run), file, false, &bytes, f->err);
        base64_encode(buf_str(&bytes), &text);
    } else {
        for (size_t i = 0; i < data.n; i++)
            if (!strchr(" \r\n", data.at[i])) buf_add_char(&text, data.at[i]);
    }
    ok = ok && dict_put_text(h, out, "type", str_from(type), f->err) && dict_put_text(h, out, "data", buf_str(&text), f->err) &&
         dict_put_text(h, out, "mimeType", text_in(given, "mime_type"), f->err);
    buf_clear(&bytes);
    buf_clear(&text);
    return ok;
}

/* A resource of the project by its URI, or {uri, text or blob, mime_type}. */
static bool fill_resource(const Filling *f, Value given, Dict *out) {
    Heap *h = f->q->heap;
    Value uri, text, inner;
    Str type = text_in(given, "mime_type"), own = text_in(given, "text"), blob = text_in(given, "blob");
    if (!render(f, value_is_string(given) ? value_str(given) : text_in(given, "uri"), &uri)) return false;
    if (own.at || blob.at) {
        Dict *d = dict_new(h, 3, f->err);
        if (!d || !render(f, own.at ? own : blob, &text) || !dict_put_str(h, d, STR("uri"), uri, f->err) || !put_more(h, d, "mimeType", type, f->err) ||
            !dict_put_str(h, d, str_from(own.at ? "text" : "blob"), text, f->err)) return false;
        inner = value_from_object(d);
    } else {
        List *contents = list_new(h, 1, f->err);
        if (!contents || !serve_resources_contents(f->q, value_str(uri), contents, f->err)) return false;
        inner = contents->at[0];
    }
    return dict_put_text(h, out, "type", STR("resource"), f->err) && dict_put_str(h, out, STR("resource"), inner, f->err);
}

static bool fill_text(const Filling *f, Value text, Dict *out) {
    return dict_put_text(f->q->heap, out, "type", STR("text"), f->err) && dict_put_str(f->q->heap, out, STR("text"), text, f->err);
}

static bool add_message(const Filling *f, List *out, Str role, Dict *content) {
    Heap *h = f->q->heap;
    Dict *d = dict_new(h, 2, f->err);
    return d && dict_put_text(h, d, "role", role, f->err) && dict_put_str(h, d, STR("content"), value_from_object(content), f->err) &&
           list_push(h, out, value_from_object(d), f->err);
}

static bool fill(const Filling *f, Value message, List *out) {
    Dict *content = dict_new(f->q->heap, 3, f->err), *m = value_dict(message);
    Value *text = dict_find_str(m, STR("text")), *image = dict_find_str(m, STR("image")), *audio = dict_find_str(m, STR("audio"));
    Value *resource = dict_find_str(m, STR("resource")), rendered;
    bool ok = content != NULL;
    if (ok && text) ok = render(f, value_str(*text), &rendered) && fill_text(f, rendered, content);
    else if (ok && image) ok = fill_media(f, "image", *image, content);
    else if (ok && audio) ok = fill_media(f, "audio", *audio, content);
    else if (ok && resource) ok = fill_resource(f, *resource, content);
    return ok && add_message(f, out, text_in(message, "role"), content);
}

static bool fill_all(const Filling *f, const PromptDef *p, List *out) {
    if (value_is_list(p->messages)) {
        for (uint32_t i = 0; i < value_list(p->messages)->n; i++)
            if (!fill(f, value_list(p->messages)->at[i], out)) return false;
        return true;
    }
    Buf text = { 0 };
    Dict *content = dict_new(f->q->heap, 2, f->err);
    bool ok = content && template_render(p->body, f->args, &text, f->err);
    String *s = ok ? string_new(f->q->heap, str_trim(buf_str(&text)), f->err) : NULL;
    buf_clear(&text);
    return s && fill_text(f, value_from_object(s), content) && add_message(f, out, STR("user"), content);
}

bool serve_prompts_get(McpRequest *q, Error *err) {
    const Project *project = runtime_project(run_runtime(q->run));
    const PromptDef *p = NULL;
    Str name;
    if (!serve_text(q, "name", &name, err)) return false;
    for (size_t i = 0; i < project->n_prompts && !p; i++)
        if (str_eq(project->prompts[i].name, name)) p = &project->prompts[i];
    if (!p) return error_set(err, ERR_VALIDATION, "Unknown prompt: " STR_FMT, STR_ARG(name));
    Dict *args = dict_new(q->heap, p->n_args, err), *d = args ? dict_new(q->heap, 2, err) : NULL;
    List *messages = d ? list_new(q->heap, 1, err) : NULL;
    if (!messages || !take_arguments(q, p, args, err) || !ask_for_rest(q, p, args, err)) return false;
    Filling f = { q, value_from_object(args), err };
    if (!put_more(q->heap, d, "description", p->description, err) || !fill_all(&f, p, messages)) return false;
    if (!dict_put_str(q->heap, d, STR("messages"), value_from_object(messages), err)) return false;
    return q->result = value_from_object(d), true;
}
