/* Asks by a form: the client of an MCP session (elicitation), or the program that embeds harness. */
#include "tool/bridge/bridge.h"
#include "tool/pipeline/pipe.h"
#include "value/list.h"

enum { ENUM_MAX = 100 };

static bool can_form(const ToolCallFrame *f, const BridgeAsk *ask, Error *why) {
    const Person *p = pipe_person(f->host->call);
    (void)ask;
    if (p->ask || p->forms) return true;
    return error_set(why, ERR_POLICY, p->inquire ? "the client did not declare elicitation" : "no client");
}

/* {"type": "string", "title": …, "enum": [names]} */
static bool choice(Heap *h, const char *title, const Str *names, size_t n, Value *out, Error *err) {
    Dict *d = dict_new(h, 3, err);
    List *all = d ? list_new(h, n, err) : NULL;
    for (size_t i = 0; all && i < n; i++) {
        String *s = string_new(h, names[i], err);
        if (!s || !list_push(h, all, value_from_object(s), err)) return false;
    }
    if (!all || !dict_put_text(h, d, "type", STR("string"), err) || !dict_put_text(h, d, "title", str_from(title), err)) return false;
    if (n && !dict_put_str(h, d, STR("enum"), value_from_object(all), err)) return false;
    return *out = value_from_object(d), true;
}

static bool field(Heap *h, const BridgeAsk *ask, Value *out, Error *err) {
    if (ask->kind == BRIDGE_DIALOG) return choice(h, "Button", ask->buttons, ask->n_buttons, out, err);
    bool listed = !ask->multiple && !ask->more_files && ask->n_files > 0 && ask->n_files <= ENUM_MAX;
    return choice(h, ask->multiple ? "Files of the workspace, separated by commas" : "A file of the workspace", ask->files,
        listed ? ask->n_files : 0, out, err);
}

static const char *field_name(const BridgeAsk *ask) { return ask->kind == BRIDGE_DIALOG ? "button" : ask->multiple ? "files" : "file"; }

/* A notification is a form without fields: the user closes it. */
static bool make_schema(Heap *h, const BridgeAsk *ask, Value *out, Error *err) {
    Dict *schema = dict_new(h, 3, err), *properties = schema ? dict_new(h, 1, err) : NULL;
    List *required = properties ? list_new(h, 1, err) : NULL;
    if (!required || !dict_put_text(h, schema, "type", STR("object"), err) ||
        !dict_put_str(h, schema, STR("properties"), value_from_object(properties), err)) return false;
    *out = value_from_object(schema);
    if (ask->kind == BRIDGE_NOTIFY) return true;
    Value v;
    String *name = string_new(h, str_from(field_name(ask)), err);
    return name && field(h, ask, &v, err) && dict_put_str(h, properties, string_str(name), v, err) &&
           list_push(h, required, value_from_object(name), err) && dict_put_str(h, schema, STR("required"), value_from_object(required), err);
}

/* ---- the answer ---- */

static void add_file(BridgeAnswer *out, Str path) {
    path = str_trim(path);
    if (path.n && out->n_files < BRIDGE_FILES_MAX) out->files[out->n_files++] = arena_str(&out->arena, path);
}

/* One path in each line; a line that is not a file may be several paths, separated by commas. */
static void take_files(const BridgeAsk *ask, Str text, BridgeAnswer *out) {
    for (Str line; str_next_line(&text, &line);) {
        Error why;
        if (!ask->multiple || str_find_char(line, ',') < 0 || ask->check(ask->ctx, str_trim(line), false, &why)) {
            add_file(out, line);
            continue;
        }
        for (ptrdiff_t comma; (comma = str_find_char(line, ',')) >= 0; line = str_sub(line, (size_t)comma + 1, line.n))
            add_file(out, str_sub(line, 0, (size_t)comma));
        add_file(out, line);
    }
}

static bool take_answer(const BridgeAsk *ask, Value answer, BridgeAnswer *out, Error *err) {
    out->closed = !str_eq(value_member_text(answer, "action"), STR("accept"));
    if (out->closed || ask->kind == BRIDGE_NOTIFY) return true;
    Str said = value_member_text(value_member(answer, "content"), field_name(ask));
    if (ask->kind == BRIDGE_PICK) return take_files(ask, said, out), out->closed = out->n_files == 0, true;
    for (size_t i = 0; i < ask->n_buttons; i++)
        if (str_eq(said, ask->buttons[i])) return out->button = i, true;
    return error_set(err, ERR_PROTOCOL, "the client answered with a button that does not exist");
}

static bool show_form(ToolCallFrame *f, const BridgeAsk *ask, BridgeAnswer *out, Cancel *cancel, Error *err) {
    Buf message = { 0 };
    HostAsk form = { .kind = HOST_ASK_FORM, .answer = VALUE_GONE };
    (void)cancel;                                         /* the host has the same token */
    buf_add_fmt(&message, STR_FMT ": " STR_FMT, STR_ARG(ask->label), STR_ARG(ask->title));
    if (ask->text.n) buf_add_fmt(&message, "\n" STR_FMT, STR_ARG(ask->text));
    form.message = buf_str(&message);
    bool ok = make_schema(f->heap, ask, &form.schema, err) && runtime_host_ask(f->host, &form, 1, f->heap, err) && take_answer(ask, form.answer, out, err);
    buf_clear(&message);
    return ok;
}

const BridgePlace bridge_form_place = { "client", false, can_form, show_form };
