/* The module base64. */
#include "base/base64.h"
#include "base/utf8.h"
#include "script/script.h"

static NativeFn base64_fn_encode, base64_fn_decode;
static const NativeParam encode_params[] = { { "data", NATIVE_STRING | NATIVE_BYTES }, { "url", NATIVE_BOOL } };
static const NativeParam decode_params[] = { { "s", NATIVE_STRING }, { "as_bytes", NATIVE_BOOL } };

const NativeDef script_base64[] = {
    { "base64.encode", base64_fn_encode, SCRIPT_PARAMS(encode_params), 1, SCRIPT_FN,
      "A string or bytes in base64; url=True uses the URL alphabet without padding." },
    { "base64.decode", base64_fn_decode, SCRIPT_PARAMS(decode_params), 1, SCRIPT_FN,
      "Decodes base64 of either alphabet to a string, or with as_bytes=True to bytes." },
};
const size_t script_base64_n = sizeof script_base64 / sizeof *script_base64;

static bool flag(const NativeArgs *a, uint32_t i) { return native_given(a, i) && value_bool(a->at[i]); }

static bool base64_fn_encode(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    Str s = script_arg(a, 0);
    Buf text = { 0 };
    if (!vm_work(vm, 1 + s.n / 8, err) || !heap_can_take(vm_heap(vm), s.n / 3 * 4, err)) return false;
    (flag(a, 1) ? base64_encode_url : base64_encode)(s, &text);
    bool ok = script_text(vm, buf_str(&text), out, err);
    buf_clear(&text);
    return ok;
}

static bool decoded(Vm *vm, Str bytes, bool as_bytes, Value *out, Error *err) {
    if (as_bytes) {
        String *s = bytes_new(vm_heap(vm), bytes, err);
        return s && (*out = value_from_object(s), true);
    }
    if (!utf8_valid(bytes)) return error_set(err, ERR_SCRIPT, "the result is not UTF-8 text: use as_bytes=True");
    return script_text(vm, bytes, out, err);
}

static bool base64_fn_decode(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    Str s = script_arg(a, 0);
    Buf bytes = { 0 };
    bool ok = vm_work(vm, 1 + s.n / 8, err) && base64_decode(s, &bytes, err) && decoded(vm, buf_str(&bytes), flag(a, 1), out, err);
    buf_clear(&bytes);
    return ok;
}
