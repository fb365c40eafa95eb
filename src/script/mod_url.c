/* The module url. */
#include "schema/format.h"
#include "script/script.h"
#include "starlark/vm/repr.h"
#include "starlark/vm/work.h"
#include "value/int.h"

static NativeFn url_parse, url_encode;
static const NativeParam parse_params[] = { { "url", NATIVE_STRING } };
static const NativeParam encode_params[] = { { "value", NATIVE_STRING | NATIVE_DICT } };

const NativeDef script_url[] = {
    { "url.parse", url_parse, SCRIPT_PARAMS(parse_params), 1, SCRIPT_FN,
      "The parts of an address: {scheme, user, host, port, path, query, params, fragment}; port is None or an int, params the query as a dict." },
    { "url.encode", url_encode, SCRIPT_PARAMS(encode_params), 1, SCRIPT_FN,
      "A string with everything but letters, digits and -._~ as %XX; of a dict, the query \"a=1&b=2\" (a list repeats its name for each item)." },
};
const size_t script_url_n = sizeof script_url / sizeof *script_url;

/* ---- parsing ---- */

/* The part before the first of `ends`; *rest starts at that character. */
static Str cut(Str *rest, const char *ends) {
    size_t n = 0;
    while (n < rest->n && !strchr(ends, rest->at[n])) n++;
    Str part = str_sub(*rest, 0, n);
    *rest = str_sub(*rest, n, rest->n);
    return part;
}

static bool skip(Str *rest, char c) {
    if (!rest->n || rest->at[0] != c) return false;
    *rest = str_sub(*rest, 1, rest->n);
    return true;
}

static int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    c |= 32;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Decodes %41 to A and, in a query, + to a space. */
static void decode(Str s, bool query, Buf *out) {
    buf_reset(out);
    for (size_t i = 0; i < s.n; i++) {
        int high = s.at[i] == '%' && i + 2 < s.n ? hex_digit(s.at[i + 1]) : -1;
        int low = high >= 0 ? hex_digit(s.at[i + 2]) : -1;
        if (low >= 0) buf_add_char(out, (char)(high << 4 | low)), i += 2;
        else buf_add_char(out, query && s.at[i] == '+' ? ' ' : s.at[i]);
    }
}

static bool decoded(Vm *vm, Str s, bool query, Value *out, Error *err) {
    Buf text = { 0 };
    decode(s, query, &text);
    bool ok = script_clean(vm, buf_str(&text), out, err);
    buf_clear(&text);
    return ok;
}

/* The value of a name that occurs once, else a list of its values. */
static bool put_param(Vm *vm, Dict *d, Str name, Str value, Error *err) {
    Heap *h = vm_heap(vm);
    Value k, v, *at;
    bool fresh;
    if (!decoded(vm, name, true, &k, err) || !decoded(vm, value, true, &v, err) || !dict_insert(h, d, k, v, &at, &fresh, err)) return false;
    if (fresh) return true;
    if (value_is_list(*at)) return list_push(h, value_list(*at), v, err);
    List *l = list_from(h, (Value[]){ *at, v }, 2, err);
    return l && (*at = value_from_object(l), true);
}

static bool params_of(Vm *vm, Str query, Value *out, Error *err) {
    Dict *d = dict_new(vm_heap(vm), 0, err);
    if (!d) return false;
    while (query.n) {
        Str part = cut(&query, "&"), name = cut(&part, "=");
        skip(&query, '&');
        skip(&part, '=');
        if ((name.n || part.n) && !put_param(vm, d, name, part, err)) return false;
        if (!vm_work(vm, 16, err)) return false;
    }
    return *out = value_from_object(d), true;
}

static bool port_of(Str text, Value *out, Error *err) {
    if (text.n == 0) return *out = VALUE_NONE, true;
    int64_t port = 0;
    for (size_t i = 0; i < text.n; i++) {
        if (text.at[i] < '0' || text.at[i] > '9' || port > 65535) return error_set(err, ERR_SCRIPT, "not a port: " STR_FMT, STR_ARG(text));
        port = port * 10 + (text.at[i] - '0');
    }
    if (port > 65535) return error_set(err, ERR_SCRIPT, "not a port: " STR_FMT, STR_ARG(text));
    return *out = value_from_small(port), true;
}

typedef struct { Str scheme, user, host, port, path, query, fragment; } Parts;

/* user@host:port; an IPv6 address is in brackets, which are not part of the host. */
static bool authority(Str text, Parts *p, Error *err) {
    for (size_t i = text.n; i-- > 0;)
        if (text.at[i] == '@') {
            p->user = str_sub(text, 0, i);
            text = str_sub(text, i + 1, text.n);
            break;
        }
    if (skip(&text, '[')) {
        p->host = cut(&text, "]");
        if (!skip(&text, ']')) return error_set(err, ERR_SCRIPT, "missing ]");
    } else
        p->host = cut(&text, ":");
    if (skip(&text, ':')) p->port = text;
    else if (text.n) return error_set(err, ERR_SCRIPT, "unexpected text after the host");
    return true;
}

static bool split(Str url, Parts *p, Error *err) {
    Str rest = url, scheme = cut(&rest, ":/?#");
    if (scheme.n && skip(&rest, ':')) p->scheme = scheme;
    else rest = url;
    if (str_starts(rest, STR("//"))) {
        rest = str_sub(rest, 2, rest.n);
        if (!authority(cut(&rest, "/?#"), p, err)) return false;
    }
    p->path = cut(&rest, "?#");
    if (skip(&rest, '?')) p->query = cut(&rest, "#");
    if (skip(&rest, '#')) p->fragment = rest;
    return true;
}

static void put_lower(ScriptDict *d, const char *key, Str s) {
    Buf text = { 0 };
    for (size_t i = 0; i < s.n; i++) buf_add_char(&text, s.at[i] >= 'A' && s.at[i] <= 'Z' ? (char)(s.at[i] | 32) : s.at[i]);
    script_dict_text(d, key, buf_str(&text));
    buf_clear(&text);
}

static bool url_parse(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    Str url = script_arg(a, 0);
    Parts p = { 0 };
    Value port, params;
    if (!vm_work(vm, 1 + url.n / 8, err)) return false;
    if (!format_iri_reference(url)) return error_set(err, ERR_SCRIPT, "not an address: " STR_FMT, STR_ARG(str_sub(url, 0, 200)));
    if (!split(url, &p, err) || !port_of(p.port, &port, err) || !params_of(vm, p.query, &params, err)) return false;
    ScriptDict d = script_dict(vm, err);
    put_lower(&d, "scheme", p.scheme);
    script_dict_text(&d, "user", p.user);
    put_lower(&d, "host", p.host);
    script_dict_put(&d, "port", port);
    script_dict_text(&d, "path", p.path);
    script_dict_text(&d, "query", p.query);
    script_dict_put(&d, "params", params);
    script_dict_text(&d, "fragment", p.fragment);
    return script_dict_end(&d, out);
}

/* ---- encoding ---- */

static bool plain(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_' || c == '~';
}

static bool encode(Work *w, Str s, Buf *out, Error *err) {
    static const char digits[] = "0123456789ABCDEF";
    if (!work_add(w, 1 + s.n / 4, err) || !work_room(w, out, s.n * 3, err)) return false;
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.at[i];
        if (plain((char)c)) buf_add_char(out, (char)c);
        else buf_add(out, (Str){ (char[]){ '%', digits[c >> 4], digits[c & 15] }, 3 });
    }
    return true;
}

static bool encode_pair(Work *w, Value key, Value v, Buf *out, Error *err) {
    Buf text = { 0 };
    bool ok = repr_str(w->vm, &text, v, err);
    if (out->n) buf_add_char(out, '&');
    ok = ok && encode(w, value_str(key), out, err);
    buf_add_char(out, '=');
    ok = ok && encode(w, buf_str(&text), out, err);
    buf_clear(&text);
    return ok;
}

static bool encode_dict(Work *w, const Dict *d, Buf *out, Error *err) {
    Entry *e;
    for (uint32_t i = 0; dict_next(d, &i, &e);) {
        if (!value_is_string(e->key)) return error_set(err, ERR_SCRIPT, "got a key of type %s, want string", value_type_name(e->key));
        const List *l = value_is_list(e->value) ? value_list(e->value) : NULL;
        for (uint32_t k = 0; k < (l ? l->n : 1); k++)
            if (!encode_pair(w, e->key, l ? l->at[k] : e->value, out, err)) return false;
    }
    return true;
}

static bool url_encode(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    Work w = { .vm = vm };
    Buf text = { 0 };
    bool ok = value_is_dict(a->at[0]) ? encode_dict(&w, value_dict(a->at[0]), &text, err) : encode(&w, script_arg(a, 0), &text, err);
    ok = ok && script_text(vm, buf_str(&text), out, err);
    buf_clear(&text);
    return ok;
}
