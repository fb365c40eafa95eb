#include "cli/mcp_direct.h"
#include "harness.h"
#include "value/json.h"

bool mcp_direct_is_url(const char *text) { return strncmp(text, "http://", 7) == 0 || strncmp(text, "https://", 8) == 0; }

bool mcp_direct_version(const Cli *cli, McpVersion *out, Error *err) {
    const char *text = args_value(&cli->args, "--protocol");
    *out = text ? mcp_version(str_from(text)) : MCP_NONE;
    return !text || *out != MCP_NONE || error_set(err, ERR_VALIDATION, "--protocol: unsupported protocol version \"%s\"", text);
}

/* ---- forms ---- */

static bool is_type(Value property, Str type) {
    Value v = value_member(property, "type");
    return value_is_string(v) && str_eq(value_str(v), type);
}

static bool required(Value schema, Value key) {
    Value list = value_member(schema, "required");
    for (uint32_t i = 0; value_is_list(list) && i < value_list(list)->n; i++)
        if (value_is_string(value_list(list)->at[i]) && str_eq(value_str(value_list(list)->at[i]), value_str(key))) return true;
    return false;
}

/* The value of a required property without a default: the first choice, the minimum, an empty string. */
static bool plain_value(Value property, Heap *heap, Value *out, Error *err) {
    Value choices = value_member(property, "enum"), least = value_member(property, "minimum"), one = value_member(property, "oneOf");
    if (value_is_list(choices) && value_list(choices)->n) return *out = value_list(choices)->at[0], true;
    if (value_is_list(one) && value_list(one)->n && !value_is_gone(value_member(value_list(one)->at[0], "const")))
        return *out = value_member(value_list(one)->at[0], "const"), true;
    if (is_type(property, STR("boolean"))) return *out = VALUE_FALSE, true;
    if (is_type(property, STR("integer")) || is_type(property, STR("number"))) return *out = value_is_gone(least) ? value_from_small(0) : least, true;
    if (is_type(property, STR("array"))) {
        List *l = list_new(heap, 0, err);
        if (l) *out = value_from_object(l);
        return l != NULL;
    }
    String *s = string_new(heap, STR(""), err);
    if (s) *out = value_from_object(s);
    return s != NULL;
}

static bool fill_form(Value schema, Heap *heap, Dict *content, Error *err) {
    Value properties = value_member(schema, "properties");
    Entry *e;
    for (uint32_t i = 0; value_is_dict(properties) && dict_next(value_dict(properties), &i, &e);) {
        Value v = value_member(e->value, "default");
        if (value_is_gone(v) && !required(schema, e->key)) continue;
        if (value_is_gone(v) && !plain_value(e->value, heap, &v, err)) return false;
        if (!dict_put(heap, content, e->key, v, err)) return false;
    }
    return true;
}

/* The answer to a form: accepts with the schema's defaults, or declines. */
static bool answer_form(bool accept, Value schema, Heap *heap, Value *out, Error *err) {
    Dict *d = dict_new(heap, 2, err), *content = dict_new(heap, 4, err);
    if (!d || !content || !dict_put_text(heap, d, "action", accept ? STR("accept") : STR("decline"), err)) return false;
    if (accept && (!fill_form(schema, heap, content, err) || !dict_put_str(heap, d, STR("content"), value_from_object(content), err))) return false;
    return *out = value_from_object(d), true;
}

static bool accepts(const Cli *cli) { return strcmp(args_value(&cli->args, "--elicit"), "accept") == 0; }

static bool elicit(void *ctx, void *caller, Value params, Heap *heap, Value *out, Cancel *cancel, Error *err) {
    (void)caller;
    (void)cancel;
    Value mode = value_member(params, "mode");
    bool form = !value_is_string(mode) || str_eq(value_str(mode), STR("form"));
    return answer_form(accepts(ctx) && form, value_member(params, "requestedSchema"), heap, out, err);
}

static bool ask(void *ctx, Str message, Value schema, Heap *heap, Value *out, Cancel *cancel, Error *err) {
    (void)message;
    (void)cancel;
    return answer_form(accepts(ctx), schema, heap, out, err);
}

Person mcp_direct_person(const Cli *cli, Person usual) {
    if (!args_value(&cli->args, "--elicit")) return usual;
    usual.ask = ask;
    usual.inquire = NULL;
    usual.bridge = NULL;                                  /* a form answers it */
    usual.ctx = (void *)(uintptr_t)cli;
    usual.confirm = NULL;                                 /* forms are answered; confirmations need --yes or
                                                           * --approve */
    usual.progress = NULL;
    return usual;
}

/* ---- connecting ---- */

/* "Bearer TOKEN": the last word is also a secret. */
static void add_secret(McpDirect *d, Str value) {
    size_t from = value.n;
    while (from > 0 && value.at[from - 1] != ' ') from--;
    redact_add_value(d->secrets, value);
    redact_add_value(d->secrets, str_sub(value, from, value.n));
}

void mcp_direct_redact(const McpDirect *d, Buf *out, Error *err) {
    if (!d->secrets || redact_empty(d->secrets)) return;
    if (out->n) redact_text(d->secrets, out);
    redact_chars(d->secrets, err->msg, sizeof err->msg);
}

static bool read_headers(McpDirect *d, const Cli *cli, Error *err) {
    for (size_t i = 0; i < cli->args.n_flags; i++) {
        if (strcmp(cli->args.flags[i].flag->name, "--header") != 0) continue;
        Str line = str_from(cli->args.flags[i].value);
        ptrdiff_t colon = str_find_char(line, ':');
        if (colon <= 0) return error_set(err, ERR_VALIDATION, "--header: expected NAME: VALUE, got \"" STR_FMT "\"", STR_ARG(line));
        VEC_PUSH(&d->headers, (ClientHeader){ str_sub(line, 0, (size_t)colon), str_trim(str_sub(line, (size_t)colon + 1, line.n)) });
        add_secret(d, VEC_LAST(&d->headers).value);
    }
    return true;
}

bool mcp_direct_open(McpDirect *d, Cli *cli, const char *url, Cancel *cancel, Error *err) {
    McpVersion version;
    d->heap = heap_new(0);
    d->http = client_new();
    d->secrets = redact_new();
    if (!mcp_direct_version(cli, &version, err) || !read_headers(d, cli, err)) return false;
    d->def = (ServerDef){ .name = str_from(url), .url = str_from(url), .env = VALUE_GONE, .headers = VALUE_GONE, .oauth = VALUE_GONE };
    if (!oauth_direct_open(&d->tokens, cli, d->def.url, d->http, d->heap, err)) return false;
    McpClientConfig config = { .server = &d->def, .version = version, .program = harness_version(), .http = d->http,
                               .oauth = oauth_is_given(d->headers.at, d->headers.n) ? NULL : d->tokens.oauth, .headers = d->headers.at,
                               .n_headers = d->headers.n, .log = &cli->log, .redact = d->secrets };
    if (args_value(&cli->args, "--elicit")) config.answers = (McpClientAnswers){ .elicit = elicit, .ctx = cli };
    return mcp_client_open(&config, cancel, &d->client, err);
}

void mcp_direct_close(McpDirect *d) {
    mcp_client_close(d->client);
    oauth_direct_close(&d->tokens);
    client_free(d->http);
    VEC_CLEAR(&d->headers);
    redact_free(d->secrets);
    if (d->heap) heap_free(d->heap);
}
