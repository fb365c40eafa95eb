#include "unit.h"
#include "policy/credentials.h"

static void test_names(void **state) {
    (void)state;
    static const char *const yes[] = { "token", "X-Api-Key", "GITHUB_TOKEN", "access_token", "Authorization", "--password", "PGPASSWORD" };
    static const char *const no[] = { "", "mode", "tokens_left", "keyboard", "host", "authority" };
    for (size_t i = 0; i < sizeof yes / sizeof *yes; i++) assert_true(credentials_name(str_from(yes[i])));
    for (size_t i = 0; i < sizeof no / sizeof *no; i++) assert_false(credentials_name(str_from(no[i])));
}

typedef struct Case { const char *text, *expected; } Case;

static void check(const Case *c, size_t n, void (*mask)(Buf *)) {
    for (size_t i = 0; i < n; i++) {
        Buf b = { 0 };
        buf_add(&b, str_from(c[i].text));
        mask(&b);
        assert_string_equal(buf_str(&b).at, c[i].expected);
        buf_clear(&b);
    }
}

static void test_mask(void **state) {
    (void)state;
    static const Case cases[] = {
        { "", "" },
        { "nothing: here", "nothing: here" },
        { "https://bob:pw@host/x", "https://[redacted]@host/x" },
        { "HTTP://tok@host", "HTTP://[redacted]@host" },
        { "https://a@b:c@host/", "https://[redacted]@host/" },
        { "https://bob:p'w`x@host/", "https://[redacted]@host/" },
        { "\"https://bob:a\\\"b@host/?token=a\\\"b\"", "\"https://[redacted]@host/?token=[redacted]\"" },
        { "curl 'https://h/?token=abc' x", "curl 'https://h/?token=[redacted]' x" },
        { "https://bob:x\\", "https://bob:x\\" }, { "?token=x\\", "?token=[redacted]" },
        { "https://host/a@b", "https://host/a@b" },
        { "https://host:80/?x=a@b", "https://host:80/?x=a@b" },
        { "ssh://git@host/x", "ssh://git@host/x" },
        { "postgres://admin:pw@db/x?sslmode=on", "postgres://admin:[redacted]@db/x?sslmode=on" },
        { "https://${USER}:${PASS}@host", "https://${USER}:${PASS}@host" },
        { "x://@h https://@h ://a:b@c", "x://@h https://@h ://a:[redacted]@c" },
        { "https://h/?a=1&token=abc&b=2#f", "https://h/?a=1&token=[redacted]&b=2#f" },
        { "\"https://h/?api_key=abc\"", "\"https://h/?api_key=[redacted]\"" },
        { "?token=${T}&key=", "?token=${T}&key=" },
        { "sh --token=abc --mode=x --api-key=d", "sh --token=[redacted] --mode=x --api-key=[redacted]" },
        { "sorted(x, key=len) a--token=b", "sorted(x, key=len) a--token=b" },
        { "{\"X-Api-Key\":\"abc\"}", "{\"X-Api-Key\":\"abc\"}" },
        { "curl --token abcdef12 -H 'Authorization: Bearer xyz-98765' x", "curl --token [redacted] -H 'Authorization: Bearer [redacted]' x" },
        { "docker run -e GITHUB_TOKEN=ghp_12345678 i", "docker run -e GITHUB_TOKEN=[redacted] i" },
        { "https://h/#token=abc", "https://h/#token=[redacted]" },
        { "use --token to pass a token; Bearer tokens; --key {{key1234567}}; API_KEY=${K12345678}",
          "use --token to pass a token; Bearer tokens; --key {{key1234567}}; API_KEY=${K12345678}" },
        { "://", "://" }, { "https://", "https://" }, { "?", "?" }, { "--", "--" }, { "--token=", "--token=" },
    };
    check(cases, sizeof cases / sizeof *cases, credentials_mask);
}

static void test_mask_json(void **state) {
    (void)state;
    static const Case cases[] = {
        { "{\"X-Api-Key\":\"a\\\"b\",\"Mode\":\"fast\",\"Y-Token\":\"${T}\"}", "{\"X-Api-Key\":\"[redacted]\",\"Mode\":\"fast\",\"Y-Token\":\"${T}\"}" },
        { "[\"-c\",\"--token\",\"abc\",\"token\",\"abc\"]", "[\"-c\",\"--token\",\"[redacted]\",\"token\",\"abc\"]" },
        { "\"https://a:b@c\"", "\"https://[redacted]@c\"" },
        { "{\"key\":{\"a\":1},\"token\":1}", "{\"key\":{\"a\":1},\"token\":1}" },
        { "\"token", "\"token" }, { "\"token\":\"", "\"token\":\"" }, { "\"token\\", "\"token\\" }, { "\"token\":\"a\\", "\"token\":\"[redacted]" },
    };
    check(cases, sizeof cases / sizeof *cases, credentials_mask_json);
}

static void add_line(void *ctx, Str value) { buf_add_fmt(ctx, STR_FMT "\n", STR_ARG(value)); }

static void test_find(void **state) {
    (void)state;
    Buf found = { 0 };
    credentials_find(STR("curl https://bob:pw1@h/?token=t1 postgres://u:pw2@h"), add_line, &found);
    assert_string_equal(buf_str(&found).at, "bob:pw1\npw1\nt1\npw2\n");
    buf_clear(&found);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_names), cmocka_unit_test(test_mask), cmocka_unit_test(test_mask_json),
        cmocka_unit_test(test_find) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
