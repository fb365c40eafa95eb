/* Writes a value as part of a shell command.
 *
 * Outside quotes: a plain word unchanged, anything else in single quotes, where only ' is special to the shell. Inside
 * '…': the same without the outer quotes. Inside "…": printable ASCII without the characters special there unchanged;
 * anything else closes the double quotes, is single-quoted, and reopens them. Never writes a backslash before a byte of
 * a value, because in some character sets (GBK, Shift-JIS) the preceding byte can absorb it. */
#include <stdio.h>
#include "base/utf8.h"
#include "template/render.h"
#include "value/int.h"
#include "value/json.h"
#include "value/list.h"

static bool is_plain(Str s) {
    for (size_t i = 0; i < s.n; i++) {
        char c = s.at[i];
        bool alnum = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!alnum && !(c && strchr("_./:@%+,-", c))) return false;
    }
    return s.n > 0;
}

static bool is_plain_in_double(Str s) {
    for (size_t i = 0; i < s.n; i++) {
        char c = s.at[i];
        if (c != '\n' && c != '\t' && (c < ' ' || c > '~' || strchr("\"$`\\!", c))) return false;
    }
    return true;
}

/* Writes the contents of '…'. */
static void write_single(Buf *out, Str s) {
    for (;;) {
        ptrdiff_t quote = str_find_char(s, '\'');
        if (quote < 0) break;
        buf_add(out, str_sub(s, 0, (size_t)quote));
        buf_add(out, STR("'\\''"));
        s = str_sub(s, (size_t)quote + 1, s.n);
    }
    buf_add(out, s);
}

static void write_between(Buf *out, Str open, Str s, Str close) {
    buf_add(out, open);
    write_single(out, s);
    buf_add(out, close);
}

static void write_text(Buf *out, const AstNode *n, Str s) {
    switch (n->quote) {
    case AST_RAW: buf_add(out, s); break;
    case AST_SINGLE: write_single(out, s); break;
    case AST_DOUBLE:
        if (is_plain_in_double(s)) buf_add(out, s);
        else write_between(out, STR("\"'"), s, STR("'\""));
        break;
    case AST_BARE:
        if (is_plain(s) && !n->must_quote) buf_add(out, s);
        else write_between(out, STR("'"), s, STR("'"));
        break;
    }
}

static bool refuse(Render *r, const AstNode *n, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static bool refuse(Render *r, const AstNode *n, const char *fmt, ...) {
    Buf name = { 0 }, what = { 0 };
    va_list ap;
    va_start(ap, fmt);
    buf_add_vfmt(&what, fmt, ap);
    va_end(ap);
    ast_path_text(&name, &n->path);
    render_fail(r, n, ERR_VALIDATION, "parameter \"" STR_FMT "\" " STR_FMT, STR_ARG(buf_str(&name)), STR_ARG(buf_str(&what)));
    buf_clear(&name);
    buf_clear(&what);
    return false;
}

static bool write_string(Render *r, const AstNode *n, Str s) {
    if (str_find_char(s, 0) >= 0) return refuse(r, n, "contains NUL, which no argument can");
    if (!utf8_valid(s)) return refuse(r, n, "is not valid UTF-8");
    if (r->lead && !n->dash_ok && !n->raw && s.n && s.at[0] == '-') {
        refuse(r, n, "may not start with \"-\" here, where it could be an option");
        return error_hint(r->err, "the tool's author can put -- before it, or give it an enum or a pattern");
    }
    if (r->lead && !n->raw && s.n && strchr(n->not_first, s.at[0])) {
        refuse(r, n, "may not start with \"%c\" here, where it could be more than data", s.at[0]);
        return error_hint(r->err, "the tool's author can write ./ before it, or give it an enum or a pattern");
    }
    write_text(r->out, n, s);
    if (s.n) r->lead = false;
    return true;
}

static bool write_scalar(Render *r, const AstNode *n, Value v) {
    char text[8];
    if (value_is_string(v)) return write_string(r, n, value_str(v));
    if (value_is_bool(v)) return write_text(r->out, n, str_from(value_bool(v) ? "true" : "false")), r->lead = false, true;
    if (!value_is_int(v) && !value_is_float(v)) {
        const char *type = value_is_dict(v) ? "object" : value_is_list(v) || value_is_tuple(v) ? "array" : value_type_name(v);
        snprintf(text, sizeof text, "%s", value_is_dict(v) || value_is_list(v) || value_is_tuple(v) ? "an" : "a");
        return refuse(r, n, "is %s %s where one string, number or boolean belongs", text, type);
    }
    Buf number = { 0 };
    bool ok = json_write(&number, v, NULL, r->err);
    if (ok) write_text(r->out, n, buf_str(&number));
    buf_clear(&number);
    r->lead = false;
    return ok || refuse(r, n, "is a number that has no text form");
}

/* Writes several words, or none. */
static bool write_words(Render *r, const AstNode *n, const Value *at, uint32_t count) {
    bool lead = r->lead;
    for (uint32_t i = 0; i < count && !r->out->full; i++) {
        if (++r->steps > TEMPLATE_STEPS_MAX) return render_fail(r, n, ERR_LIMIT, "the template takes more than %d steps", TEMPLATE_STEPS_MAX);
        if (i) buf_add_char(r->out, ' ');
        r->lead = lead;
        if (value_is_none(at[i])) return refuse(r, n, "has null as item %u", i);
        if (!write_scalar(r, n, at[i])) return false;
    }
    return true;
}

static bool missing(Render *r, const AstNode *n) {
    if (n->may_drop || n->raw) return true;
    return refuse(r, n, n->param >= 0 && n->path.n == 1 + (uint32_t)n->path.data ? "is required" : "has no value here");
}

bool render_quoted(Render *r, const AstNode *n, Value v) {
    if (value_is_gone(v) || value_is_none(v)) return missing(r, n);
    if (n->spread && value_is_list(v)) return write_words(r, n, value_list(v)->at, value_list(v)->n);
    if (n->spread && value_is_tuple(v)) return write_words(r, n, value_tuple(v)->at, value_tuple(v)->n);
    char quote = n->quote == AST_SINGLE ? '\'' : '"';
    if (n->own_quotes) buf_add_char(r->out, quote);
    if (!write_scalar(r, n, v)) return false;
    if (n->own_quotes) buf_add_char(r->out, quote);
    return true;
}

bool template_render_command(const Template *t, Value args, Buf *out, Error *err) {
    if (!t->command) return error_set(err, ERR_INTERNAL, "a template that was not compiled as a command");
    if (!value_is_dict(args)) return error_set(err, ERR_VALIDATION, "expected an object of arguments, got %s", value_type_name(args));
    return render_run(t, args, out, err);
}
