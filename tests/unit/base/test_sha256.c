#include "unit.h"
#include "base/digest.h"
#include "base/sha256.h"

static void assert_digest(Str text, const char *expected) {
    uint8_t out[SHA256_BYTES];
    Buf hex = { 0 };
    sha256_of(text, out);
    digest_hex(out, sizeof out, &hex);
    assert_string_equal(hex.at, expected);
    buf_clear(&hex);
}

/* Expected values: the examples of FIPS 180-4. */
static void known_texts(void **state) {
    (void)state;
    assert_digest(STR(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    assert_digest(STR("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_digest(STR("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
                  "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

/* Every length around the block boundaries, in every split, against OpenSSL. */
static void as_openssl_computes_it(void **state) {
    (void)state;
    char text[200];
    for (size_t i = 0; i < sizeof text; i++) text[i] = (char)(i * 7 + 3);
    for (size_t n = 0; n <= sizeof text; n++) {
        uint8_t expected[DIGEST_SHA256_BYTES], got[SHA256_BYTES];
        Error err = { 0 };
        assert_true(digest_sha256((Str){ text, n }, expected, &err));
        for (size_t split = 0; split <= n; split += 13) {
            Sha256 s;
            sha256_init(&s);
            sha256_add(&s, (Str){ text, split });
            sha256_add(&s, (Str){ text + split, n - split });
            sha256_end(&s, got);
            assert_memory_equal(got, expected, SHA256_BYTES);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(known_texts), cmocka_unit_test(as_openssl_computes_it) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
