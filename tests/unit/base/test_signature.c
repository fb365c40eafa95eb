#include "unit.h"
#include "base/signature.h"

/* Made with openssl: genrsa, ecparam, dgst -sign. */
static const char modulus[] =
        "E921A6B5211DA0130E87472466F8047AE117BA489DC44BB187E549FDE455A7A3926DC648FF7124617A492608248E38E745887E1662694A03308E96A1"
        "BD61DF489050B6E5DE68A3174F7552A72FFC5A9559079329FE40E32CC069DE10AFD04EFB6A69164F8624A425D66ED5DF6ADD91C88D0F16297C21CC95"
        "E07354D3B3677242AC3B10A3D601D9A0D3A6DCFBAB40BEFBBE2938CAFFCCD3CDC772052C498B28A286BEC6731BC9A0F3A29CF7902C796F33B27214B3"
        "58EB76EDDA07EC7AE8FA8D37EC2C40ABC4E383D21EC7F5B72862D4E8B647D6D923B05962906875A09479E07FE96BF0A27E80030B3FD203C364DFE3CE"
        "661600959339E1ED42EDAA83BF800A11";
static const char rsa_signature[] =
        "21853e904b33b3131ef470cd911c4b35181b37f8755e780750a0e06cdabebe63b9fad16cbb98c91701139849906494fd45660e6d44247a136a3f321c"
        "d32974ed5555fa05dd947c77300a950c4973bab763f843c8cca9246bc027e18ac4d3a42409cd3c70233a0ab6a690d5952dcdfb8cde0f57d5c7e3d7e6"
        "18ed47356d55977b6ec5910861172d149cca73d48291c9e15de5be2b53c24f2f40ce4aa901b619b39e1c419557a70209d698353a8e3f1a398cee7de8"
        "c0026f73365f0c94cdd394db3f6375f6df3c6edc076b0ee55d5ae351a59b5ed4dc6d0851420ade5dc19cdadebd7cc5fec6a7348a308d5b97fa546cdd"
        "5dd274847a0bc216ad23d6f3bedd6f87";
static const char x[] = "84d1502473496fc22388458e77d7b1fdc0af8af91718be98718aaa9b04d4b52f",
    y[] = "90f08a1c598b6537f74fd1e6f300d80ea0cee28905cc77ce3f7c51f1fc75b4d2";
static const char ec_signature[] =
        "48928c04ad3101fa80dd15d5cfe011ef38daaefb6701f5a04fe665038cd835e26b3c74bba0dd54d964ceef9c808cb1ce4b694c287ed9b467219c9770"
        "45716953";

static Str unhex(const char *digits, char *out) {
    size_t n = strlen(digits) / 2;
    for (size_t i = 0; i < n; i++) {
        unsigned byte;
        assert_int_equal(sscanf(digits + 2 * i, "%2x", &byte), 1);
        out[i] = (char)byte;
    }
    return (Str){ out, n };
}

static void signatures(void **state) {
    (void)state;
    char n[256], rs[256], kx[32], ky[32], es[64];
    SignatureKey rsa = { SIGNATURE_RS256, .n = unhex(modulus, n), .e = { "\1\0\1", 3 } }, ec = { SIGNATURE_ES256, .x = unhex(x, kx), .y = unhex(y, ky) };
    Str rsa_good = unhex(rsa_signature, rs), ec_good = unhex(ec_signature, es), text = STR("signed text");
    const SignatureKey small = { SIGNATURE_RS256, .n = { n, 128 }, .e = rsa.e }, no_point = { SIGNATURE_ES256, .x = ec.y, .y = ec.x },
        empty_rsa = { .kind = SIGNATURE_RS256 }, empty_ec = { .kind = SIGNATURE_ES256 };
    const struct { const SignatureKey *key; Str text, signature; bool ok; } table[] = {
        { &rsa, text, rsa_good, true }, { &ec, text, ec_good, true },
        { &rsa, STR("other text"), rsa_good, false }, { &ec, STR("other text"), ec_good, false },
        { &rsa, text, str_sub(rsa_good, 0, 255), false }, { &ec, text, str_sub(ec_good, 0, 63), false },
        { &rsa, text, STR(""), false }, { &ec, text, STR(""), false },
        { &rsa, text, ec_good, false }, { &ec, text, rsa_good, false },
        { &ec, text, { (char[64]){ 0 }, 64 }, false },       /* r and s of zero */
        { &small, text, rsa_good, false }, { &no_point, text, ec_good, false }, { &empty_rsa, text, rsa_good, false }, { &empty_ec, text, ec_good, false },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        Error err = { 0 };
        bool ok = signature_check(table[i].key, table[i].text, table[i].signature, &err);
        if (ok != table[i].ok) fail_msg("row %zu: %s", i, err.msg);
        if (!ok) assert_int_equal(err.kind, ERR_VALIDATION);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(signatures) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
