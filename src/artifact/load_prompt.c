/* .harness/prompts/NAME.md: prompts for MCP clients and slash commands. */
#include "artifact/load.h"
#include "value/list.h"

typedef struct Prompt { Str title, description; Value arguments, messages; } Prompt;

#define AT(member) offsetof(Prompt, member)
static const Field fields[] = {
    { KEY(prompt, title), .type = FIELD_STRING, .offset = AT(title) },
    { KEY(prompt, description), .type = FIELD_STRING, .offset = AT(description) },
    { KEY(prompt, arguments), .type = FIELD_LIST, .offset = AT(arguments) },
    { KEY(prompt, messages), .type = FIELD_LIST, .offset = AT(messages) },
};

static const Field argument_fields[] = {
    { KEY(argument, name), .type = FIELD_STRING, .offset = offsetof(PromptArg, name), .flags = FIELD_REQUIRED },
    { KEY(argument, description), .type = FIELD_STRING, .offset = offsetof(PromptArg, description) },
    { KEY(argument, required), .type = FIELD_BOOL, .offset = offsetof(PromptArg, required) },
    { KEY(argument, values), .type = FIELD_STRINGS, .offset = offsetof(PromptArg, values) },
};

static void load_arguments(Loader *l, const LoaderPlace *at, Value list, PromptDef *p) {
    if (!value_is_list(list)) return;
    p->args = ARENA_ARRAY(l->docs.arena, PromptArg, value_list(list)->n ? value_list(list)->n : 1);
    for (uint32_t i = 0; i < value_list(list)->n; i++) {
        LoaderPlace item = loader_item_place(l, at, "arguments", list, i);
        PromptArg a = { 0 };
        if (!loader_read_open(l, &item, UNKNOWN_KEYS_WARN, argument_fields, sizeof argument_fields / sizeof *argument_fields, &a)) continue;
        for (size_t k = 0; k < p->n_args; k++)
            if (str_eq(p->args[k].name, a.name)) loader_error(l, &item, "name", "%s: duplicate name \"" STR_FMT "\"", item.path, STR_ARG(a.name));
        if (a.name.n == 0) loader_error(l, &item, "name", "%s.name cannot be empty", item.path);
        p->args[p->n_args++] = a;
    }
}

/* ---- messages ---- */

typedef struct Message { Str role, text; Value image, audio, resource; } Message;
static const Field message_fields[] = {
    { KEY(message, role), .type = FIELD_STRING, .offset = offsetof(Message, role), .flags = FIELD_REQUIRED },
    { KEY(message, text), .type = FIELD_STRING, .offset = offsetof(Message, text) },
    { KEY(message, image), .type = FIELD_ANY, .offset = offsetof(Message, image) },
    { KEY(message, audio), .type = FIELD_ANY, .offset = offsetof(Message, audio) },
    { KEY(message, resource), .type = FIELD_ANY, .offset = offsetof(Message, resource) },
};

static bool has_text(Value map, const char *key) {
    Value *v = value_is_dict(map) ? dict_find_str(value_dict(map), str_from(key)) : NULL;
    return v && value_is_string(*v);
}

static void check_template(Loader *l, const LoaderPlace *at, const char *key, Value map, const char *member) {
    if (has_text(map, member)) loader_template(l, at, key, value_str(*dict_find_str(value_dict(map), str_from(member))));
}

/* {data or file, mime_type} */
static void check_media(Loader *l, const LoaderPlace *at, const char *key, Value v) {
    if (value_is_gone(v)) return;
    if (!has_text(v, "mime_type") || has_text(v, "data") == has_text(v, "file"))
        loader_error(l, at, key, "%s.%s: needs mime_type, and data (base64) or file", at->path, key);
}

/* A URI of one of the project's resources, or {uri, text or blob, mime_type}. */
static void check_resource(Loader *l, const LoaderPlace *at, Value v) {
    if (value_is_gone(v)) return;
    if (value_is_string(v)) {
        loader_template(l, at, "resource", value_str(v));
        return;
    }
    if (!has_text(v, "uri") || (has_text(v, "text") && has_text(v, "blob")))
        loader_error(l, at, "resource", "%s.resource: needs uri and either text or blob; neither if uri names a resource of the project", at->path);
    check_template(l, at, "resource", v, "uri");
    check_template(l, at, "resource", v, "text");
}

static void load_message(Loader *l, const LoaderPlace *at) {
    static const char *const roles[] = { "user", "assistant", NULL };
    Message m = { .image = VALUE_GONE, .audio = VALUE_GONE, .resource = VALUE_GONE };
    if (!loader_read_open(l, at, UNKNOWN_KEYS_WARN, message_fields, sizeof message_fields / sizeof *message_fields, &m)) return;
    loader_choice(l, at, "role", m.role, roles);
    int given = (m.text.at != NULL) + !value_is_gone(m.image) + !value_is_gone(m.audio) + !value_is_gone(m.resource);
    if (given != 1) loader_error(l, at, NULL, "%s: needs exactly one of text, image, audio and resource", at->path);
    if (m.text.at) loader_template(l, at, "text", m.text);
    if (given != 1) return;
    check_media(l, at, "image", m.image);
    check_media(l, at, "audio", m.audio);
    check_resource(l, at, m.resource);
}

static void load_messages(Loader *l, const LoaderPlace *at, Value list) {
    if (value_list(list)->n == 0) loader_error(l, at, "messages", "messages: needs at least one message");
    if (str_trim(at->document->body).n)
        loader_error(l, at, "messages", "messages: a prompt has either messages or a body, not both");
    for (uint32_t i = 0; i < value_list(list)->n; i++) {
        LoaderPlace item = loader_item_place(l, at, "messages", list, i);
        load_message(l, &item);
    }
}

void load_prompt(Loader *l, const Document *d, SourceKind source) {
    Problems before = *l->docs.problems;
    LoaderPlace at = loader_file_place(l, d, source);
    Prompt in = { .arguments = VALUE_GONE, .messages = VALUE_GONE };
    PromptDef p = { .name = d->name, .origin = at.origin };
    loader_name_ok(l, &at, "prompt", p.name);
    loader_read_open(l, &at, UNKNOWN_KEYS_WARN, fields, sizeof fields / sizeof *fields, &in);
    p.title = in.title;
    p.description = in.description;
    p.messages = in.messages;
    load_arguments(l, &at, in.arguments, &p);
    if (value_is_list(in.messages)) load_messages(l, &at, in.messages);
    else p.body = loader_template(l, &at, NULL, d->body);
    if (!loader_forgive(l, &before)) VEC_PUSH(&l->prompts, p);
}
