/* OpenSSL's libcrypto, loaded on first use, once per process. Only for the files that wrap it: digest.c, signature.c,
 * mcp/oauth/jwt.c. */
#pragma once
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/params.h>
#include <openssl/pem.h>
#include "base/error.h"

/* Pointers to the functions that we use, under the library's names. */
#define CRYPTO_FUNCTIONS(X) \
    X(BIO_free) X(BIO_new) X(BIO_new_mem_buf) X(BIO_read) X(BIO_s_mem) X(ERR_clear_error) \
    X(EVP_DigestFinal_ex) X(EVP_DigestInit_ex) X(EVP_DigestSign) X(EVP_DigestSignInit) X(EVP_DigestUpdate) X(EVP_DigestVerify) \
    X(EVP_DigestVerifyInit_ex) X(EVP_MD_CTX_free) X(EVP_MD_CTX_new) X(EVP_PKEY_CTX_free) X(EVP_PKEY_CTX_new_from_name) \
    X(EVP_PKEY_Q_keygen) X(EVP_PKEY_free) X(EVP_PKEY_fromdata) X(EVP_PKEY_fromdata_init) X(EVP_PKEY_get_bits) \
    X(EVP_PKEY_get_group_name) X(EVP_PKEY_get_octet_string_param) X(EVP_PKEY_is_a) X(EVP_get_digestbyname) X(EVP_sha256) X(HMAC) \
    X(OSSL_PARAM_construct_BN) X(OSSL_PARAM_construct_end) X(OSSL_PARAM_construct_octet_string) X(OSSL_PARAM_construct_utf8_string) \
    X(PEM_read_bio_PrivateKey) X(PEM_write_bio_PrivateKey)

typedef struct CryptoLibrary {
#define X(name) __typeof__(name) *name;
    CRYPTO_FUNCTIONS(X)
#undef X
} CryptoLibrary;

const CryptoLibrary *crypto_library(Error *err);     /* NULL with ERR_IO if it cannot be loaded. Thread-safe */
