#include "mcp/oauth/jwt.h"
#include <limits.h>
#include <openssl/core_names.h>
#include <stdlib.h>
#include "base/base64.h"
#include "base/crypto.h"
#include "base/mem.h"

enum { P256_BYTES = 32, POINT_BYTES = 1 + 2 * P256_BYTES, RSA_BITS_MIN = 2048, RSA_BITS_MAX = 16384 };

struct JwtKey { const CryptoLibrary *lib; EVP_PKEY *key; bool ec; };

/* Without this OpenSSL would prompt on the terminal. */
static int no_pass_phrase(char *at, int n, int writing, void *ctx) {
    (void)at; (void)n; (void)writing; (void)ctx;
    return -1;
}

static JwtKey *wrap(const CryptoLibrary *lib, EVP_PKEY *key, bool ec) {
    JwtKey *k = mem_zero(1, sizeof *k);
    *k = (JwtKey){ lib, key, ec };
    return k;
}

JwtKey *jwt_key_read(Str pem, Error *err) {
    const CryptoLibrary *lib = crypto_library(err);
    if (!lib) return NULL;
    BIO *bio = pem.n <= INT_MAX ? lib->BIO_new_mem_buf(pem.at, (int)pem.n) : NULL;
    EVP_PKEY *key = bio ? lib->PEM_read_bio_PrivateKey(bio, NULL, no_pass_phrase, NULL) : NULL;
    lib->BIO_free(bio);
    lib->ERR_clear_error();
    if (!key) return error_set(err, ERR_CONFIG, "the private key is not in PEM format, or needs a pass phrase"), NULL;
    char group[32] = "";
    size_t n;
    bool rsa = lib->EVP_PKEY_is_a(key, "RSA"), ec = lib->EVP_PKEY_is_a(key, "EC");
    int bits = lib->EVP_PKEY_get_bits(key);
    if (rsa && bits >= RSA_BITS_MIN && bits <= RSA_BITS_MAX) return wrap(lib, key, false);
    if (ec && lib->EVP_PKEY_get_group_name(key, group, sizeof group, &n) == 1 && strcmp(group, "prime256v1") == 0) return wrap(lib, key, true);
    lib->EVP_PKEY_free(key);
    error_set(err, ERR_CONFIG, "the private key must be RSA of %d bits or more, or EC P-256", RSA_BITS_MIN);
    return NULL;
}

JwtKey *jwt_key_new(Error *err) {
    const CryptoLibrary *lib = crypto_library(err);
    if (!lib) return NULL;
    EVP_PKEY *key = lib->EVP_PKEY_Q_keygen(NULL, NULL, "EC", "P-256");
    if (key) return wrap(lib, key, true);
    error_set(err, ERR_INTERNAL, "OpenSSL could not create a key");   /* for example in FIPS mode */
    return NULL;
}

void jwt_key_free(JwtKey *k) {
    if (!k) return;
    k->lib->EVP_PKEY_free(k->key);
    free(k);
}

const char *jwt_key_algorithm(const JwtKey *k) { return k->ec ? "ES256" : "RS256"; }

bool jwt_key_write(const JwtKey *k, Buf *out, Error *err) {
    BIO *bio = k->lib->BIO_new(k->lib->BIO_s_mem());
    bool ok = bio && k->lib->PEM_write_bio_PrivateKey(bio, k->key, NULL, NULL, 0, NULL, NULL) == 1;
    char piece[1024];
    for (int n; ok && (n = k->lib->BIO_read(bio, piece, sizeof piece)) > 0;) buf_add(out, (Str){ piece, (size_t)n });
    k->lib->BIO_free(bio);
    return ok || error_set(err, ERR_INTERNAL, "OpenSSL could not write a key");
}

bool jwt_key_public(const JwtKey *k, Buf *out, Error *err) {
    unsigned char point[POINT_BYTES + 1];
    size_t n = 0;
    if (!k->ec || k->lib->EVP_PKEY_get_octet_string_param(k->key, OSSL_PKEY_PARAM_ENCODED_PUBLIC_KEY, point, sizeof point, &n) != 1
        || n != POINT_BYTES || point[0] != 4)              /* 4: uncompressed */
        return error_set(err, ERR_INTERNAL, "OpenSSL could not export the public key");
    buf_add(out, STR("{\"crv\":\"P-256\",\"kty\":\"EC\",\"x\":\""));
    base64_encode_url((Str){ (const char *)point + 1, P256_BYTES }, out);
    buf_add(out, STR("\",\"y\":\""));
    base64_encode_url((Str){ (const char *)point + 1 + P256_BYTES, P256_BYTES }, out);
    buf_add(out, STR("\"}"));
    return true;
}

/* One DER INTEGER of the signature, right-aligned in 32 bytes. */
static bool take_integer(Str *der, unsigned char out[P256_BYTES]) {
    if (der->n < 2 || der->at[0] != 2) return false;
    size_t n = (unsigned char)der->at[1];
    if (n == 0 || n > P256_BYTES + 1 || n + 2 > der->n) return false;
    Str digits = str_sub(*der, 2, 2 + n);
    *der = str_sub(*der, 2 + n, der->n);
    if (n == P256_BYTES + 1) {                             /* leading zero of a positive number? */
        if (digits.at[0] != 0) return false;
        digits = str_sub(digits, 1, n--);
    }
    memset(out, 0, P256_BYTES);
    memcpy(out + P256_BYTES - n, digits.at, n);
    return true;
}

/* Converts OpenSSL's SEQUENCE { r, s } into the concatenated r and s of a JWT. */
static bool add_ec_signature(Str der, Buf *out) {
    unsigned char both[2 * P256_BYTES];
    if (der.n < 2 || der.at[0] != 0x30 || (unsigned char)der.at[1] != der.n - 2) return false;
    der = str_sub(der, 2, der.n);
    if (!take_integer(&der, both) || !take_integer(&der, both + P256_BYTES) || der.n) return false;
    base64_encode_url((Str){ (const char *)both, sizeof both }, out);
    return true;
}

bool jwt_key_sign(const JwtKey *k, Str header, Str claims, Buf *out, Error *err) {
    Buf text = { 0 };
    base64_encode_url(header, &text);
    buf_add_char(&text, '.');
    base64_encode_url(claims, &text);
    unsigned char signature[RSA_BITS_MAX / 8];
    size_t n = sizeof signature;
    EVP_MD_CTX *c = k->lib->EVP_MD_CTX_new();
    bool ok = c && k->lib->EVP_DigestSignInit(c, NULL, k->lib->EVP_sha256(), NULL, k->key) == 1
              && k->lib->EVP_DigestSign(c, signature, &n, (const unsigned char *)text.at, text.n) == 1;
    k->lib->EVP_MD_CTX_free(c);
    buf_add_char(&text, '.');
    if (ok && k->ec) ok = add_ec_signature((Str){ (const char *)signature, n }, &text);
    else if (ok) base64_encode_url((Str){ (const char *)signature, n }, &text);
    if (ok) buf_add(out, buf_str(&text));
    buf_clear(&text);
    return ok || error_set(err, ERR_INTERNAL, "OpenSSL could not sign");
}
