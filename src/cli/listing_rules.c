/* Rules: in columns, one in several lines, and as JSON. */
#include "cli/listing.h"
#include "cli/terminal/table.h"
#include "value/json.h"

static void add_verdict(Buf *out, const RuleDef *r) {
    buf_add(out, str_from(rule_verdict_name(r->decide)));
    if (r->otherwise) buf_add_fmt(out, ", otherwise %s", rule_verdict_name(r->otherwise));
}

void listing_rules(Buf *out, const Project *p, size_t indent, bool color) {
    Table t = { .columns = 4 };
    for (size_t i = 0; i < p->rules.n; i++) {
        const RuleDef *r = &p->rules.at[i];
        Buf verdict = { 0 }, what = { 0 };
        add_verdict(&verdict, r);
        rule_describe(r, &what);
        table_add(&t, r->name);
        table_add(&t, buf_str(&verdict));
        table_add_fmt(&t, STR_FMT ":%u", STR_ARG(r->file), r->line);
        table_add(&t, buf_str(&what));
        buf_clear(&verdict);
        buf_clear(&what);
    }
    table_write(&t, out, indent, color);
}

static void add_fact(Table *t, const char *key, Str text) {
    if (!text.n) return;
    table_add(t, str_from(key));
    table_add(t, text);
}

static void add_bits(Buf *out, const RuleDef *r, bool vendors, const char *separator) {
    size_t from = out->n;
    for (int i = 0; i < (vendors ? (int)VENDOR_COUNT : (int)CALL_KIND_COUNT); i++) {
        if (!((vendors ? r->vendors : r->kinds) >> i & 1)) continue;
        buf_add_fmt(out, "%s%s", out->n > from ? separator : "", vendors ? vendor_name((Vendor)i) : call_kind_name((CallKind)i));
    }
}

void listing_rule(Buf *out, const RuleDef *r, bool color) {
    Table head = { .columns = 3 }, facts = { .columns = 2 };
    Buf verdict = { 0 }, what = { 0 }, kinds = { 0 }, vendors = { 0 };
    add_verdict(&verdict, r);
    rule_describe(r, &what);
    add_bits(&kinds, r, false, ", ");
    add_bits(&vendors, r, true, ", ");
    table_add(&head, r->name);
    table_add(&head, STR("rule"));
    table_add_fmt(&head, STR_FMT ":%u", STR_ARG(r->file), r->line);
    table_write(&head, out, 0, color);
    add_fact(&facts, "decide", buf_str(&verdict));
    add_fact(&facts, "matches", buf_str(&what));
    add_fact(&facts, "kinds", kinds.n ? buf_str(&kinds) : STR("all"));
    add_fact(&facts, "vendors", vendors.n ? buf_str(&vendors) : STR("all"));
    add_fact(&facts, "because", r->because);
    table_write(&facts, out, 2, false);
    buf_clear(&verdict);
    buf_clear(&what);
    buf_clear(&kinds);
    buf_clear(&vendors);
}

/* ---- JSON ---- */

static void add_text(Buf *out, const char *key, Str text) {
    buf_add_fmt(out, ",\"%s\":", key);
    if (text.n) json_write_string(out, text, false);
    else buf_add(out, STR("null"));
}

static void add_list(Buf *out, const char *key, const Str *list, size_t n) {
    buf_add_fmt(out, ",\"%s\":[", key);
    for (size_t i = 0; i < n; i++) {
        if (i) buf_add_char(out, ',');
        json_write_string(out, list[i], false);
    }
    buf_add_char(out, ']');
}

static void add_bit_list(Buf *out, const char *key, const RuleDef *r, bool vendors) {
    Buf names = { 0 };
    add_bits(&names, r, vendors, "\",\"");
    buf_add_fmt(out, names.n ? ",\"%s\":[\"" STR_FMT "\"]" : ",\"%s\":[" STR_FMT "]", key, STR_ARG(buf_str(&names)));
    buf_clear(&names);
}

void listing_json_rule(Buf *out, const RuleDef *r) {
    buf_add(out, STR("\"name\":"));
    json_write_string(out, r->name, false);
    buf_add_fmt(out, ",\"decide\":\"%s\"", rule_verdict_name(r->decide));
    add_text(out, "otherwise", r->otherwise ? str_from(rule_verdict_name(r->otherwise)) : STR(""));
    add_text(out, "because", r->because);
    add_bit_list(out, "vendors", r, true);
    add_bit_list(out, "kinds", r, false);
    add_list(out, "tool", r->tools.at, r->tools.n);
    add_list(out, "shell", r->shell.at, r->shell.n);
    buf_add_fmt(out, ",\"paths\":[");
    for (size_t i = 0; i < r->n_paths; i++) {
        if (i) buf_add_char(out, ',');
        json_write_string(out, r->paths[i].text, false);
    }
    buf_add_char(out, ']');
    add_list(out, "host", r->hosts.at, r->hosts.n);
    add_list(out, "url", r->urls.at, r->urls.n);
    add_text(out, "file", r->file);
    buf_add_fmt(out, ",\"line\":%u", r->line);
}

void listing_json_rules(Buf *out, const Project *p) {
    buf_add_char(out, '[');
    for (size_t i = 0; i < p->rules.n; i++) {
        buf_add(out, i ? STR(",{") : STR("{"));
        listing_json_rule(out, &p->rules.at[i]);
        buf_add_char(out, '}');
    }
    buf_add_char(out, ']');
}
