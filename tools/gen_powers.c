/* Prints the table for number.c: for each power of ten from 10^-292 to 10^324 the 128 leading bits,
 * rounded up, with the top bit set. That range covers every finite double. */
#include <stdio.h>
#include <gmp.h>

enum { LOWEST = -292, HIGHEST = 324 };

static void scaled_power(mpz_t out, int exponent) {
    mpz_t ten;
    mpz_init(ten);
    mpz_ui_pow_ui(ten, 10, (unsigned long)(exponent < 0 ? -exponent : exponent));
    size_t bits = mpz_sizeinbase(ten, 2);
    if (exponent < 0) {
        mpz_set_ui(out, 0);
        mpz_setbit(out, 127 + bits);
        mpz_cdiv_q(out, out, ten);
    } else if (bits <= 128) {
        mpz_mul_2exp(out, ten, 128 - bits);
    } else {
        mpz_cdiv_q_2exp(out, ten, bits - 128);
    }
    mpz_clear(ten);
}

int main(void) {
    mpz_t power, high, low;
    mpz_inits(power, high, low, NULL);
    printf("/* Made by tools/gen_powers.c. */\n"
           "enum { POWER_LOWEST = %d, POWER_HIGHEST = %d };\n"
           "static const struct { uint64_t high, low; } powers[] = {\n", LOWEST, HIGHEST);
    for (int e = LOWEST; e <= HIGHEST; e++) {
        scaled_power(power, e);
        mpz_fdiv_q_2exp(high, power, 64);
        mpz_fdiv_r_2exp(low, power, 64);
        gmp_printf("    { 0x%016Zx, 0x%016Zx },\n", high, low);
    }
    printf("};\n");
    mpz_clears(power, high, low, NULL);
    return 0;
}
