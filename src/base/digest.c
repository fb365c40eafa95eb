#include "base/digest.h"
#include <limits.h>
#include <stdlib.h>
#include "base/crypto.h"
#include "base/mem.h"

static const struct { const char *name; size_t bytes; } kinds[] = {
#define X(kind, name, bytes) [kind] = { name, bytes },
    DIGEST_KINDS(X)
#undef X
};

struct Digest { const CryptoLibrary *lib; EVP_MD_CTX *context; const EVP_MD *method; DigestKind kind; };

static bool failed(DigestKind kind, Error *err) {
    return error_set(err, ERR_INTERNAL, "OpenSSL could not compute %s", kinds[kind].name);   /* for example in FIPS mode */
}

size_t digest_size(DigestKind kind) { return kinds[kind].bytes; }

Digest *digest_new(DigestKind kind, Error *err) {
    const CryptoLibrary *lib = crypto_library(err);
    if (!lib) return NULL;
    Digest *d = mem_zero(1, sizeof *d);
    d->lib = lib;
    d->kind = kind;
    d->method = lib->EVP_get_digestbyname(kinds[kind].name);
    d->context = lib->EVP_MD_CTX_new();
    if (d->method && d->context && lib->EVP_DigestInit_ex(d->context, d->method, NULL) == 1) return d;
    failed(kind, err);
    digest_free(d);
    return NULL;
}

void digest_free(Digest *d) {
    if (!d) return;
    d->lib->EVP_MD_CTX_free(d->context);
    free(d);
}

bool digest_add(Digest *d, Str bytes, Error *err) {
    return bytes.n == 0 || d->lib->EVP_DigestUpdate(d->context, bytes.at, bytes.n) == 1 || failed(d->kind, err);
}

bool digest_end(Digest *d, uint8_t out[DIGEST_BYTES_MAX], Error *err) {
    return (d->lib->EVP_DigestFinal_ex(d->context, out, NULL) == 1 && d->lib->EVP_DigestInit_ex(d->context, d->method, NULL) == 1)
           || failed(d->kind, err);
}

bool digest_of(DigestKind kind, Str bytes, uint8_t out[DIGEST_BYTES_MAX], Error *err) {
    Digest *d = digest_new(kind, err);
    bool ok = d && digest_add(d, bytes, err) && digest_end(d, out, err);
    digest_free(d);
    return ok;
}

bool digest_sha256(Str bytes, uint8_t out[DIGEST_SHA256_BYTES], Error *err) {
    uint8_t all[DIGEST_BYTES_MAX];
    if (!digest_of(DIGEST_SHA256, bytes, all, err)) return false;
    memcpy(out, all, DIGEST_SHA256_BYTES);
    return true;
}

bool digest_hmac(DigestKind kind, Str key, Str bytes, uint8_t out[DIGEST_BYTES_MAX], Error *err) {
    const CryptoLibrary *lib = crypto_library(err);
    if (!lib) return false;
    if (key.n > INT_MAX) return error_set(err, ERR_LIMIT, "HMAC key is too long");
    const EVP_MD *method = lib->EVP_get_digestbyname(kinds[kind].name);
    const void *key_at = key.n ? (const void *)key.at : "";           /* NULL would mean the key of the last call */
    const unsigned char *at = (const unsigned char *)(bytes.n ? bytes.at : "");
    return (method && lib->HMAC(method, key_at, (int)key.n, at, bytes.n, out, NULL)) || failed(kind, err);
}

void digest_hex(const uint8_t *bytes, size_t n, Buf *out) {
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < n; i++) {
        buf_add_char(out, digits[bytes[i] >> 4]);
        buf_add_char(out, digits[bytes[i] & 15]);
    }
}
