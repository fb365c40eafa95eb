#include "mcp/host/content.h"
#include "value/dict.h"
#include "value/json.h"
#include "value/list.h"

static Str member(const Dict *d, const char *name) {
    Value *v = dict_find_str(d, str_from(name));
    return v && value_is_string(*v) ? value_str(*v) : (Str){ 0 };
}

static void add_text(Buf *out, Str text) {
    buf_add(out, STR("{\"type\":\"text\",\"text\":"));
    json_write_string(out, text, false);
    buf_add_char(out, '}');
}

/* Content blocks that a version supports. */
static bool known(Str type, McpVersion v) {
    if (str_eq(type, STR("resource_link"))) return mcp_structured(v);
    return v >= MCP_2025_03_26 || !str_eq(type, STR("audio"));
}

static void add_block(Buf *out, Value block, McpVersion v) {
    const Dict *d = value_is_dict(block) ? value_dict(block) : NULL;
    Error err;
    if (d && known(member(d, "type"), v) && json_write(out, block, &(JsonWrite){ 0 }, &err)) return;
    Str what = d && member(d, "uri").n ? member(d, "uri") : d ? member(d, "mimeType") : (Str){ 0 };
    Buf words = { 0 };
    buf_add_fmt(&words, "(" STR_FMT " " STR_FMT ": this version of the protocol cannot carry it)",
        STR_ARG(d ? member(d, "type") : STR("content")), STR_ARG(what));
    add_text(out, buf_str(&words));
    buf_clear(&words);
}

static void add_link(Buf *out, const Result *r, Str run, McpVersion v) {
    if (!mcp_structured(v)) return;
    buf_add_fmt(out, ",{\"type\":\"resource_link\",\"uri\":\"artifact://" STR_FMT "/" STR_FMT "\",\"name\":\"" STR_FMT "\",\"description\":\"the whole result\",\"mimeType\":\"%s\"}",
                STR_ARG(run), STR_ARG(r->artifact), STR_ARG(r->artifact), value_is_string(r->value) ? "text/plain" : "application/json");
}

void serve_content_write(Buf *out, const Result *r, Str run, McpVersion v) {
    buf_add(out, STR("\"content\":["));
    if (value_is_list(r->content)) {
        const List *blocks = value_list(r->content);
        for (uint32_t i = 0; i < blocks->n; i++) {
            if (i) buf_add_char(out, ',');
            add_block(out, blocks->at[i], v);
        }
    } else {
        add_text(out, r->text);
    }
    if (r->artifact.n) add_link(out, r, run, v);
    buf_add_char(out, ']');
}
