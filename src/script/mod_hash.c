/* The modules hash and crypto. hash() itself is a built-in function of the language. */
#include "base/digest.h"
#include "script/script.h"

static NativeFn hash_md5, hash_sha1, hash_sha256, hash_sha512, crypto_hmac_sha256, crypto_hmac_sha512;
static const NativeParam data[] = { { "data", NATIVE_STRING | NATIVE_BYTES } };
static const NativeParam hmac_params[] = { { "key", NATIVE_STRING | NATIVE_BYTES }, { "msg", NATIVE_STRING | NATIVE_BYTES } };

const NativeDef script_hash[] = {
    { "hash.md5", hash_md5, SCRIPT_PARAMS(data), 1, SCRIPT_FN, "The MD5 digest of a string or bytes, in hexadecimal. Broken: not for security." },
    { "hash.sha1", hash_sha1, SCRIPT_PARAMS(data), 1, SCRIPT_FN, "The SHA-1 digest, in hexadecimal. Broken: not for security." },
    { "hash.sha256", hash_sha256, SCRIPT_PARAMS(data), 1, SCRIPT_FN, "The SHA-256 digest, in hexadecimal." },
    { "hash.sha512", hash_sha512, SCRIPT_PARAMS(data), 1, SCRIPT_FN, "The SHA-512 digest, in hexadecimal." },
};
const size_t script_hash_n = sizeof script_hash / sizeof *script_hash;

const NativeDef script_crypto[] = {
    { "crypto.hmac_sha256", crypto_hmac_sha256, SCRIPT_PARAMS(hmac_params), 2, SCRIPT_FN, "The HMAC of msg with SHA-256, in hexadecimal." },
    { "crypto.hmac_sha512", crypto_hmac_sha512, SCRIPT_PARAMS(hmac_params), 2, SCRIPT_FN, "The HMAC of msg with SHA-512, in hexadecimal." },
};
const size_t script_crypto_n = sizeof script_crypto / sizeof *script_crypto;

static bool hex(Vm *vm, DigestKind kind, const uint8_t *bytes, Value *out, Error *err) {
    Buf text = { 0 };
    digest_hex(bytes, digest_size(kind), &text);
    bool ok = script_text(vm, buf_str(&text), out, err);
    buf_clear(&text);
    return ok;
}

static bool digest(Vm *vm, const NativeArgs *a, DigestKind kind, Value *out, Error *err) {
    uint8_t bytes[DIGEST_BYTES_MAX];
    Str s = script_arg(a, 0);
    return vm_work(vm, 100 + s.n / 8, err) && digest_of(kind, s, bytes, err) && hex(vm, kind, bytes, out, err);
}

static bool hmac(Vm *vm, const NativeArgs *a, DigestKind kind, Value *out, Error *err) {
    uint8_t bytes[DIGEST_BYTES_MAX];
    Str key = script_arg(a, 0), msg = script_arg(a, 1);
    return vm_work(vm, 200 + (key.n + msg.n) / 8, err) && digest_hmac(kind, key, msg, bytes, err) && hex(vm, kind, bytes, out, err);
}

#define DIGEST_FN(name, kind) \
    static bool hash_##name(Vm *vm, const NativeArgs *a, Value *out, Error *err) { return digest(vm, a, kind, out, err); }
DIGEST_FN(md5, DIGEST_MD5)
DIGEST_FN(sha1, DIGEST_SHA1)
DIGEST_FN(sha256, DIGEST_SHA256)
DIGEST_FN(sha512, DIGEST_SHA512)

static bool crypto_hmac_sha256(Vm *vm, const NativeArgs *a, Value *out, Error *err) { return hmac(vm, a, DIGEST_SHA256, out, err); }
static bool crypto_hmac_sha512(Vm *vm, const NativeArgs *a, Value *out, Error *err) { return hmac(vm, a, DIGEST_SHA512, out, err); }
