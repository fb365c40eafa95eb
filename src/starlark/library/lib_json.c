/* The module json: encode, encode_indent, decode, indent. */
#include "starlark/library/lib_json.h"

#include "base/utf8.h"
#include "starlark/vm/lib.h"
#include "starlark/vm/universe.h"

void lib_json_quote(char out[LIB_JSON_QUOTED], char c) {
    static const char short_form[] = "a\a" "b\b" "f\f" "n\n" "r\r" "t\t" "v\v" "\\\\" "''";
    unsigned char u = (unsigned char)c;
    for (size_t i = 0; i + 1 < sizeof short_form; i += 2)
        if (short_form[i + 1] == c) {
            memcpy(out, (char[]){ '\'', '\\', short_form[i], '\'', 0 }, 5);
            return;
        }
    Buf b = { 0 };
    if (u < 0x20 || u == 0x7f) buf_add_fmt(&b, "'\\x%02x'", u);
    else if (u >= 0x80 && (u <= 0xa0 || u == 0xad)) buf_add_fmt(&b, "'\\u%04x'", u);
    else {
        buf_add_char(&b, '\'');
        buf_add_utf8(&b, u);
        buf_add_char(&b, '\'');
    }
    memcpy(out, b.at, b.n + 1);
    buf_clear(&b);
}

bool lib_json_room(Vm *vm, const Buf *out, size_t *next, Error *err) {
    if (out->n < *next) return true;
    *next = out->n + (64 << 10);
    if (out->full) return error_set(err, ERR_LIMIT, "string too long");
    return heap_can_take(vm_heap(vm), out->n, err) && vm_work(vm, 10000, err);
}

static bool json_encode(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    Buf b = { .limit = STRING_MAX };
    if (!lib_json_write(vm, &b, a->at[0], err)) return buf_clear(&b), false;
    return lib_take_text(vm, &b, out, err);
}

static bool json_decode(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    bool malformed = false;
    if (lib_json_read(vm, value_str(a->at[0]), out, &malformed, err)) return true;
    if (malformed && native_given(a, 1)) return *out = a->at[1], true;
    return false;
}

/* Binds one positional value and the keyword-only parameters prefix and indent, if given. */
static bool bind_layout(const NativeArgs *a, uint32_t type, Str *prefix, Str *indent, Error *err) {
    static const NativeParam names[] = { { "prefix", NATIVE_STRING }, { "indent", NATIVE_STRING } };
    NativeParam x = { "x", type };
    NativeDef keywords = { .name = a->def->name, .params = names, .n_params = 2 };
    NativeDef positional = { .name = a->def->name, .params = &x, .n_params = 1, .min = 1, .flags = NATIVE_POSITIONAL };
    Value layout[2], first;
    if (!native_bind_args(&keywords, NULL, 0, a->named, a->n_named, layout, err)) return false;
    if (!native_bind_args(&positional, a->at, a->n, NULL, 0, &first, err)) return false;
    *prefix = value_is_gone(layout[0]) ? STR("") : value_str(layout[0]);
    *indent = value_is_gone(layout[1]) ? STR("\t") : value_str(layout[1]);
    return true;
}

static bool json_indent(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    Str prefix, indent;
    Buf b = { .limit = STRING_MAX };
    if (!bind_layout(a, NATIVE_STRING, &prefix, &indent, err)) return false;
    if (lib_json_spread(vm, &b, value_str(a->at[0]), prefix, indent, err)) return lib_take_text(vm, &b, out, err);
    buf_clear(&b);
    return error_wrap(err, "%s", a->def->name);
}

static bool json_encode_indent(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    Str prefix, indent;
    Buf flat = { .limit = STRING_MAX }, b = { .limit = STRING_MAX };
    if (!bind_layout(a, NATIVE_ANY, &prefix, &indent, err)) return false;
    bool ok = lib_json_write(vm, &flat, a->at[0], err) && lib_json_spread(vm, &b, buf_str(&flat), prefix, indent, err);
    buf_clear(&flat);
    if (ok) return lib_take_text(vm, &b, out, err);
    buf_clear(&b);
    return error_wrap(err, "%s", a->def->name);
}

static const NativeParam any_x[] = { { "x", NATIVE_ANY } };
static const NativeParam decode_params[] = { { "x", NATIVE_STRING | NATIVE_UNNAMED }, { "default", NATIVE_ANY } };
enum { LAYOUT = NATIVE_VARIADIC | NATIVE_PLAIN_ERRORS };

const NativeDef lib_json[] = {
    { "json.decode", json_decode, decode_params, 2, 1, 0, "The value of a JSON text, or the default if it is malformed." },
    { "json.encode", json_encode, any_x, 1, 1, NATIVE_POSITIONAL, "A value as JSON text, keys sorted." },
    { "json.encode_indent", json_encode_indent, NULL, 0, 0, LAYOUT, "A value as indented JSON text." },
    { "json.indent", json_indent, NULL, 0, 0, LAYOUT, "The JSON text, indented." },
};
const size_t lib_json_n = sizeof lib_json / sizeof lib_json[0];
