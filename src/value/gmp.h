/* GMP, loaded on first use, once per process. */
#pragma once
#include <gmp.h>
#include "base/error.h"

/* Pointers to the functions that we use, under the library's names. */
#define GMP_FUNCTIONS(X) \
    X(mpn_add) X(mpn_sub) X(mpn_mul) X(mpn_set_str) X(mpz_init) X(mpz_clear) X(mpz_set) X(mpz_import) X(mpz_roinit_n) X(mpz_limbs_read) X(mpz_size) \
    X(mpz_fdiv_q) X(mpz_fdiv_r) X(mpz_and) X(mpz_ior) X(mpz_xor) X(mpz_mul) X(mpz_mul_2exp) X(mpz_fdiv_q_2exp) X(mpz_ui_pow_ui) X(mpz_divisible_p) \
    X(mpz_sizeinbase) X(mpz_get_str)

typedef struct GmpLibrary {
#define X(name) __typeof__(name) *name;
    GMP_FUNCTIONS(X)
#undef X
} GmpLibrary;

const GmpLibrary *gmp_library(Error *err);               /* NULL with ERR_IO if it cannot be loaded. Thread-safe */
