/* Parameters that are also sent as headers, as x-mcp-header in a tool's schema requests. Tools with invalid annotations
 * are removed from the list, because servers rely on these headers for access control. */
#include <stdlib.h>
#include <strings.h>
#include "base/arena.h"
#include "base/base64.h"
#include "base/mem.h"
#include "mcp/remote/client_private.h"
#include "value/int.h"

enum { RULES_MAX = 64, DEPTH_MAX = 16 };
#define SAFE_INT (((int64_t)1 << 53) - 1)

/* One annotated property; `path` leads to it. */
typedef struct HeaderRule { char *tool, *header; char *path[DEPTH_MAX]; size_t depth; struct HeaderRule *next; } HeaderRule;

static void rule_free(HeaderRule *r) {
    for (size_t i = 0; i < r->depth; i++) free(r->path[i]);
    free(r->tool);
    free(r->header);
    free(r);
}

void client_headers_free(McpClient *c) {
    for (HeaderRule *r = c->headers, *next; r; r = next) next = r->next, rule_free(r);
    c->headers = NULL;
}

static bool is_token(Str s) {
    for (size_t i = 0; i < s.n; i++) {
        char ch = s.at[i];
        bool letter = (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || (ch >= '0' && ch <= '9');
        if (!letter && (!ch || !strchr("!#$%&'*+-.^_`|~", ch))) return false;
    }
    return s.n > 0;
}

/* ---- parsing the schema ---- */

typedef struct Reading { Str tool; Str path[DEPTH_MAX]; size_t depth; HeaderRule *found; size_t n; const char *wrong; } Reading;

static void add_rule(Reading *r, Value property, Str name) {
    Str type = value_member_text(property, "type");
    if (!is_token(name)) r->wrong = "its name is not a valid header name";
    else if (!str_eq(type, STR("string")) && !str_eq(type, STR("integer")) && !str_eq(type, STR("boolean")))
        r->wrong = "the parameter is not a string, integer or boolean";
    else if (r->n++ == RULES_MAX) r->wrong = "there are too many";
    for (HeaderRule *o = r->found; o && !r->wrong; o = o->next)
        if (strlen(o->header) == name.n && strncasecmp(o->header, name.at, name.n) == 0) r->wrong = "two have the same name";
    if (r->wrong) return;
    HeaderRule *rule = mem_zero(1, sizeof *rule);
    rule->tool = str_dup(r->tool);
    rule->header = str_dup(name);
    rule->depth = r->depth;
    for (size_t i = 0; i < r->depth; i++) rule->path[i] = str_dup(r->path[i]);
    rule->next = r->found;
    r->found = rule;
}

/* `straight`: reached from the root through `properties` only. */
static void read_schema(Reading *r, Value v, bool straight, int level) {
    Entry *e;
    if (level > RPC_DEPTH_MAX || r->wrong) return;
    for (uint32_t i = 0; value_is_list(v) && i < value_list(v)->n; i++) read_schema(r, value_list(v)->at[i], false, level + 1);
    if (!value_is_dict(v)) return;
    for (uint32_t i = 0; !r->wrong && dict_next(value_dict(v), &i, &e);) {
        Str key = value_str(e->key);
        if (str_eq(key, STR("x-mcp-header"))) {
            if (!straight || r->depth == 0) r->wrong = "it is not on a parameter";
            else if (!value_is_string(e->value)) r->wrong = "it is not a string";
            else add_rule(r, v, value_str(e->value));
        } else if (str_eq(key, STR("properties")) && value_is_dict(e->value)) {
            Entry *p;
            for (uint32_t k = 0; dict_next(value_dict(e->value), &k, &p);) {
                bool room = r->depth < DEPTH_MAX;
                if (room) r->path[r->depth++] = value_str(p->key);
                read_schema(r, p->value, straight && room, level + 1);
                if (room) r->depth--;
            }
        } else if (!str_eq(key, STR("default")) && !str_eq(key, STR("const")) && !str_eq(key, STR("enum")) && !str_eq(key, STR("examples"))) {
            read_schema(r, e->value, false, level + 1);
        }
    }
}

static void replace_rules(McpClient *c, Str tool, HeaderRule *found) {
    pthread_mutex_lock(&c->lock);
    for (HeaderRule **at = &c->headers; *at;) {
        HeaderRule *r = *at;
        if (str_eq(str_from(r->tool), tool)) *at = r->next, rule_free(r);
        else at = &r->next;
    }
    while (found) {
        HeaderRule *next = found->next;
        found->next = c->headers;
        c->headers = found;
        found = next;
    }
    pthread_mutex_unlock(&c->lock);
}

bool client_headers_note(McpClient *c, List *tools, Error *err) {
    for (size_t i = 0; i < tools->n;) {
        Value t = tools->at[i];
        Reading r = { .tool = value_member_text(t, "name") };
        read_schema(&r, value_member(t, "inputSchema"), true, 0);
        if (!r.wrong) {
            replace_rules(c, r.tool, r.found);
            i++;
            continue;
        }
        for (HeaderRule *next; r.found; r.found = next) next = r.found->next, rule_free(r.found);
        LOG_WRITE(c->config.log, LOG_WARN, "server " STR_FMT ": tool \"" STR_FMT "\" is skipped: x-mcp-header: %s", STR_ARG(c->config.server->name),
                  STR_ARG(str_sub(r.tool, 0, 128)), r.wrong);
        if (!list_remove_at(tools, i, NULL, err)) return false;
    }
    return true;
}

/* ---- writing the headers ---- */

Str client_header_value(Arena *arena, Str text) {
    bool plain = text.n == 0 || (text.at[0] != ' ' && text.at[text.n - 1] != ' ');
    for (size_t i = 0; i < text.n; i++) plain = plain && text.at[i] >= 0x20 && text.at[i] < 0x7f;
    if (str_starts(text, STR("=?base64?")) && str_ends(text, STR("?="))) plain = false;
    if (plain) return arena_str(arena, text);
    Buf out = { 0 };
    buf_add(&out, STR("=?base64?"));
    base64_encode(text, &out);
    buf_add(&out, STR("?="));
    Str kept = arena_str(arena, buf_str(&out));
    buf_clear(&out);
    return kept;
}

static bool value_of(const HeaderRule *r, Value arguments, Arena *arena, Str *out) {
    int64_t n;
    Value v = arguments;
    for (size_t i = 0; i < r->depth; i++) v = value_member(v, r->path[i]);
    if (value_is_string(v)) return *out = client_header_value(arena, value_str(v)), true;
    if (value_is_bool(v)) return *out = value_bool(v) ? STR("true") : STR("false"), true;
    if (!value_is_int(v) || !int_to_i64(v, &n) || n > SAFE_INT || n < -SAFE_INT) return false;
    return *out = str_from(arena_fmt(arena, "%lld", (long long)n)), true;
}

size_t client_headers_of(McpClient *c, Str tool, Value arguments, Arena *arena, ClientHeader *out, size_t max) {
    size_t n = 0;
    pthread_mutex_lock(&c->lock);
    for (HeaderRule *r = c->headers; r && n < max; r = r->next) {
        Str value;
        if (!str_eq(str_from(r->tool), tool) || !value_of(r, arguments, arena, &value)) continue;
        out[n++] = (ClientHeader){ str_from(arena_fmt(arena, "Mcp-Param-%s", r->header)), value };
    }
    pthread_mutex_unlock(&c->lock);
    return n;
}
