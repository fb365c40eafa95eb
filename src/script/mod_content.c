/* The module content: typed blocks (script/content.h). */
#include "base/base64.h"
#include "script/content.h"
#include "script/script.h"

static NativeFn content_text, content_image, content_audio, content_resource, content_link;
static const NativeParam text_params[] = { { "s", NATIVE_STRING } };
static const NativeParam data_params[] = { { "data", NATIVE_STRING | NATIVE_BYTES }, { "mime", NATIVE_STRING } };
static const NativeParam resource_params[] = {
    { "uri", NATIVE_STRING }, { "text", NATIVE_STRING | NATIVE_NONE_IS_ABSENT }, { "mime", NATIVE_STRING | NATIVE_NONE_IS_ABSENT },
    { "blob", NATIVE_STRING | NATIVE_BYTES | NATIVE_NONE_IS_ABSENT },
};
static const NativeParam link_params[] = { { "uri", NATIVE_STRING }, { "name", NATIVE_STRING | NATIVE_NONE_IS_ABSENT } };

const NativeDef script_content[] = {
    { "content.text", content_text, SCRIPT_PARAMS(text_params), 1, SCRIPT_FN, "A block of text." },
    { "content.image", content_image, SCRIPT_PARAMS(data_params), 2, SCRIPT_FN, "An image: data is bytes, or a string in base64; mime as in \"image/png\"." },
    { "content.audio", content_audio, SCRIPT_PARAMS(data_params), 2, SCRIPT_FN, "Audio: same arguments as content.image." },
    { "content.resource", content_resource, SCRIPT_PARAMS(resource_params), 1, SCRIPT_FN,
      "A resource with its content: text, or blob (bytes, or a string in base64)." },
    { "content.link", content_link, SCRIPT_PARAMS(link_params), 1, SCRIPT_FN, "A link to a resource; name defaults to the address." },
};
const size_t script_content_n = sizeof script_content / sizeof *script_content;

static ScriptDict block(Vm *vm, Str type, Error *err) {
    ScriptDict d = script_dict(vm, err);
    script_dict_text(&d, "type", type);
    return d;
}

static bool end_block(ScriptDict *d, Value *out) {
    if (d->ok) content_mark(d->dict);
    return script_dict_end(d, out);
}

/* Encodes bytes; text must be base64 already. */
static void put_data(ScriptDict *d, const char *key, Value data) {
    if (!d->ok) return;
    Buf b = { 0 };
    if (value_is_bytes(data)) {
        base64_encode(value_str(data), &b);
        script_dict_text(d, key, buf_str(&b));
    } else if ((d->ok = base64_decode(value_str(data), &b, d->err)))
        script_dict_put(d, key, data);
    buf_clear(&b);
}

static bool content_text(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    ScriptDict d = block(vm, STR("text"), err);
    script_dict_put(&d, "text", a->at[0]);
    return end_block(&d, out);
}

static bool media(Vm *vm, const NativeArgs *a, Str type, Value *out, Error *err) {
    ScriptDict d = block(vm, type, err);
    put_data(&d, "data", a->at[0]);
    script_dict_put(&d, "mimeType", a->at[1]);
    return end_block(&d, out);
}

static bool content_image(Vm *vm, const NativeArgs *a, Value *out, Error *err) { return media(vm, a, STR("image"), out, err); }
static bool content_audio(Vm *vm, const NativeArgs *a, Value *out, Error *err) { return media(vm, a, STR("audio"), out, err); }

static bool content_resource(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    if (native_given(a, 1) == native_given(a, 3)) return error_set(err, ERR_SCRIPT, "give either text or blob");
    ScriptDict d = block(vm, STR("resource"), err), inner = script_dict(vm, err);
    Value v;
    script_dict_put(&inner, "uri", a->at[0]);
    if (native_given(a, 1)) script_dict_put(&inner, "text", a->at[1]);
    else put_data(&inner, "blob", a->at[3]);
    if (native_given(a, 2)) script_dict_put(&inner, "mimeType", a->at[2]);
    if (!script_dict_end(&inner, &v)) return false;
    script_dict_put(&d, "resource", v);
    return end_block(&d, out);
}

static bool content_link(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    ScriptDict d = block(vm, STR("resource_link"), err);
    script_dict_put(&d, "uri", a->at[0]);
    script_dict_put(&d, "name", native_given(a, 1) ? a->at[1] : a->at[0]);
    return end_block(&d, out);
}
