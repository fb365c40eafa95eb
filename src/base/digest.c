#include "base/digest.h"
#include <limits.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <pthread.h>
#include <stdlib.h>
#include "base/library.h"
#include "base/mem.h"

#define FUNCTIONS(X) X(EVP_MD_CTX_new) X(EVP_MD_CTX_free) X(EVP_get_digestbyname) X(EVP_DigestInit_ex) X(EVP_DigestUpdate) \
    X(EVP_DigestFinal_ex) X(HMAC)

/* Written once, by load(), and only read then. */
static struct {
#define X(name) __typeof__(name) *name;
    FUNCTIONS(X)
#undef X
} crypto;
static Library library = { .what = "OpenSSL", .file = "libcrypto.so.3" };
static pthread_once_t crypto_once = PTHREAD_ONCE_INIT;

static void load(void) {
    static const LibraryFunction functions[] = {
#define X(name) { #name, (void **)&crypto.name },
        FUNCTIONS(X)
#undef X
    };
    library_load(&library, functions, sizeof functions / sizeof *functions);
}

static bool loaded(Error *err) {
    pthread_once(&crypto_once, load);
    return library.ok || error_set(err, ERR_IO, "%s", library.problem);
}

static const struct { const char *name; size_t bytes; } kinds[] = {
#define X(kind, name, bytes) [kind] = { name, bytes },
    DIGEST_KINDS(X)
#undef X
};

struct Digest { EVP_MD_CTX *context; const EVP_MD *method; DigestKind kind; };

static bool failed(DigestKind kind, Error *err) {
    return error_set(err, ERR_INTERNAL, "OpenSSL refused to compute %s", kinds[kind].name);   /* as in a restricted mode */
}

size_t digest_size(DigestKind kind) { return kinds[kind].bytes; }

Digest *digest_new(DigestKind kind, Error *err) {
    if (!loaded(err)) return NULL;
    Digest *d = mem_zero(1, sizeof *d);
    d->kind = kind;
    d->method = crypto.EVP_get_digestbyname(kinds[kind].name);
    d->context = crypto.EVP_MD_CTX_new();
    if (d->method && d->context && crypto.EVP_DigestInit_ex(d->context, d->method, NULL) == 1) return d;
    failed(kind, err);
    digest_free(d);
    return NULL;
}

void digest_free(Digest *d) {
    if (!d) return;
    crypto.EVP_MD_CTX_free(d->context);
    free(d);
}

bool digest_add(Digest *d, Str bytes, Error *err) {
    return bytes.n == 0 || crypto.EVP_DigestUpdate(d->context, bytes.at, bytes.n) == 1 || failed(d->kind, err);
}

bool digest_end(Digest *d, uint8_t out[DIGEST_BYTES_MAX], Error *err) {
    return (crypto.EVP_DigestFinal_ex(d->context, out, NULL) == 1 && crypto.EVP_DigestInit_ex(d->context, d->method, NULL) == 1)
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
    if (!loaded(err)) return false;
    if (key.n > INT_MAX) return error_set(err, ERR_LIMIT, "HMAC key is too long");
    const EVP_MD *method = crypto.EVP_get_digestbyname(kinds[kind].name);
    const void *key_at = key.n ? (const void *)key.at : "";           /* NULL would mean: the key of the last call */
    const unsigned char *at = (const unsigned char *)(bytes.n ? bytes.at : "");
    return (method && crypto.HMAC(method, key_at, (int)key.n, at, bytes.n, out, NULL)) || failed(kind, err);
}

void digest_hex(const uint8_t *bytes, size_t n, Buf *out) {
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < n; i++) {
        buf_add_char(out, digits[bytes[i] >> 4]);
        buf_add_char(out, digits[bytes[i] & 15]);
    }
}
