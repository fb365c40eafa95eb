#include "unit.h"
#include "base/digest.h"

static const char *hex(const uint8_t *bytes, size_t n) {
    static char text[2 * DIGEST_BYTES_MAX + 1];
    Buf b = { 0 };
    digest_hex(bytes, n, &b);
    snprintf(text, sizeof text, "%s", b.at);
    buf_clear(&b);
    return text;
}

/* Expected values: RFC 1321, FIPS 180 and what sha1sum and sha512sum print. */
static void digests_of_known_texts(void **state) {
    (void)state;
    static const struct { DigestKind kind; Str text; const char *expected; } cases[] = {
        { DIGEST_MD5, STR(""), "d41d8cd98f00b204e9800998ecf8427e" },
        { DIGEST_MD5, STR("abc"), "900150983cd24fb0d6963f7d28e17f72" },
        { DIGEST_SHA1, STR("abc"), "a9993e364706816aba3e25717850c26c9cd0d89d" },
        { DIGEST_SHA256, STR(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
        { DIGEST_SHA256, STR("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
        { DIGEST_SHA512, STR("abc"), "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
                                     "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint8_t out[DIGEST_BYTES_MAX];
        Error err = { 0 };
        assert_true(digest_of(cases[i].kind, cases[i].text, out, &err));
        assert_string_equal(hex(out, digest_size(cases[i].kind)), cases[i].expected);
    }
}

static void pieces_give_the_same(void **state) {
    (void)state;
    Error err = { 0 };
    uint8_t whole[DIGEST_SHA256_BYTES], parts[DIGEST_BYTES_MAX];
    Str text = STR("one, two\0and three");
    assert_true(digest_sha256(text, whole, &err));
    Digest *d = digest_new(DIGEST_SHA256, &err);
    assert_non_null(d);
    for (int round = 0; round < 2; round++) {              /* it can be used again */
        for (size_t i = 0; i < text.n; i++) assert_true(digest_add(d, str_sub(text, i, i + 1), &err));
        assert_true(digest_add(d, (Str){ 0 }, &err));
        assert_true(digest_end(d, parts, &err));
        assert_memory_equal(whole, parts, sizeof whole);
    }
    digest_free(d);
    digest_free(NULL);
}

/* RFC 4231, test case 2, and RFC 2202. */
static void authenticates(void **state) {
    (void)state;
    Error err = { 0 };
    uint8_t out[DIGEST_BYTES_MAX];
    Str text = STR("what do ya want for nothing?");
    assert_true(digest_hmac(DIGEST_SHA256, STR("Jefe"), text, out, &err));
    assert_string_equal(hex(out, 32), "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    assert_true(digest_hmac(DIGEST_SHA1, STR("Jefe"), text, out, &err));
    assert_string_equal(hex(out, 20), "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79");
    assert_true(digest_hmac(DIGEST_MD5, STR("Jefe"), text, out, &err));
    assert_string_equal(hex(out, 16), "750c783e6ab0b503eaa86e310a5db738");
    assert_true(digest_hmac(DIGEST_SHA256, (Str){ 0 }, (Str){ 0 }, out, &err));
    assert_string_equal(hex(out, 32), "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(digests_of_known_texts), cmocka_unit_test(pieces_give_the_same), cmocka_unit_test(authenticates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
