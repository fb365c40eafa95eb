#include "base/signature.h"
#include <openssl/core_names.h>
#include "base/crypto.h"

enum { RSA_MIN = 2048 / 8, RSA_MAX = 16384 / 8, EXPONENT_MAX = 8, POINT = 32, DER_MAX = 80 };

static EVP_PKEY *make_key(const CryptoLibrary *lib, const char *type, OSSL_PARAM *params) {
    EVP_PKEY *key = NULL;
    EVP_PKEY_CTX *ctx = lib->EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
    if (!ctx || lib->EVP_PKEY_fromdata_init(ctx) <= 0 || lib->EVP_PKEY_fromdata(ctx, &key, EVP_PKEY_PUBLIC_KEY, params) <= 0) key = NULL;
    lib->EVP_PKEY_CTX_free(ctx);
    return key;
}

/* The library expects numbers in native byte order. */
static void reversed(Str bytes, unsigned char *out) {
    for (size_t i = 0; i < bytes.n; i++) out[i] = (unsigned char)bytes.at[__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? bytes.n - 1 - i : i];
}

static Str without_zeros(Str s) {
    while (s.n && s.at[0] == 0) s = str_sub(s, 1, s.n);
    return s;
}

static EVP_PKEY *rsa_key(const CryptoLibrary *lib, const SignatureKey *k) {
    unsigned char n[RSA_MAX], e[EXPONENT_MAX];
    Str modulus = without_zeros(k->n), exponent = without_zeros(k->e);
    if (modulus.n < RSA_MIN || modulus.n > RSA_MAX || exponent.n == 0 || exponent.n > EXPONENT_MAX) return NULL;
    reversed(modulus, n);
    reversed(exponent, e);
    OSSL_PARAM params[] = { lib->OSSL_PARAM_construct_BN(OSSL_PKEY_PARAM_RSA_N, n, modulus.n),
                            lib->OSSL_PARAM_construct_BN(OSSL_PKEY_PARAM_RSA_E, e, exponent.n), lib->OSSL_PARAM_construct_end() };
    return make_key(lib, "RSA", params);
}

static EVP_PKEY *ec_key(const CryptoLibrary *lib, const SignatureKey *k) {
    unsigned char point[1 + 2 * POINT] = { 4 };        /* uncompressed */
    char group[] = "prime256v1";
    if (k->x.n != POINT || k->y.n != POINT) return NULL;
    memcpy(point + 1, k->x.at, POINT);
    memcpy(point + 1 + POINT, k->y.at, POINT);
    OSSL_PARAM params[] = { lib->OSSL_PARAM_construct_utf8_string(OSSL_PKEY_PARAM_GROUP_NAME, group, 0),
                            lib->OSSL_PARAM_construct_octet_string(OSSL_PKEY_PARAM_PUB_KEY, point, sizeof point), lib->OSSL_PARAM_construct_end() };
    return make_key(lib, "EC", params);
}

static size_t der_integer(Str number, unsigned char *out) {
    size_t at = 0;
    number = without_zeros(number);
    bool pad = number.n == 0 || (unsigned char)number.at[0] >= 0x80;     /* else it would be negative */
    out[at++] = 2;
    out[at++] = (unsigned char)(number.n + pad);
    if (pad) out[at++] = 0;
    if (number.n) memcpy(out + at, number.at, number.n);
    return at + number.n;
}

/* DER encoding of r and s. */
static size_t der_signature(Str raw, unsigned char out[DER_MAX]) {
    if (raw.n != 2 * POINT) return 0;
    size_t n = der_integer(str_sub(raw, 0, POINT), out + 2);
    n += der_integer(str_sub(raw, POINT, raw.n), out + 2 + n);
    out[0] = 0x30;
    out[1] = (unsigned char)n;
    return n + 2;
}

static bool verify(const CryptoLibrary *lib, EVP_PKEY *key, Str bytes, const unsigned char *signature, size_t n) {
    EVP_MD_CTX *ctx = lib->EVP_MD_CTX_new();
    bool ok = ctx && n && lib->EVP_DigestVerifyInit_ex(ctx, NULL, "SHA256", NULL, NULL, key, NULL) > 0 &&
              lib->EVP_DigestVerify(ctx, signature, n, (const unsigned char *)bytes.at, bytes.n) == 1;
    lib->EVP_MD_CTX_free(ctx);
    return ok;
}

bool signature_check(const SignatureKey *k, Str bytes, Str signature, Error *err) {
    unsigned char der[DER_MAX];
    const CryptoLibrary *lib = crypto_library(err);
    if (!lib) return false;
    EVP_PKEY *key = k->kind == SIGNATURE_RS256 ? rsa_key(lib, k) : ec_key(lib, k);
    if (!key) return lib->ERR_clear_error(), error_set(err, ERR_VALIDATION, "the public key is not usable");
    bool ok = k->kind == SIGNATURE_RS256 ? verify(lib, key, bytes, (const unsigned char *)signature.at, signature.n)
                                         : verify(lib, key, bytes, der, der_signature(signature, der));
    lib->EVP_PKEY_free(key);
    lib->ERR_clear_error();                          /* the error queue is per thread */
    return ok || error_set(err, ERR_VALIDATION, "the signature is wrong");
}
