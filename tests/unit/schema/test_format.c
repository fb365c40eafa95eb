/* Formats beyond the official test suite, which runs in tests/e2e/schema.test.mjs. */
#include "unit.h"
#include "schema/format.h"

static bool format_ok(Str format, Str text) {
    const Format *f = format_find(format);
    return f ? f->ok(text) : true;
}

static void test_formats(void **state) {
    (void)state;
    static const struct { const char *format, *text; bool ok; } rows[] = {
        { "date", "2024-02-29", true }, { "date", "2023-02-29", false }, { "time", "23:59:60Z", true }, { "time", "12:00:00", false },
        { "date-time", "2024-01-01T00:00:00.1+14:00", true }, { "date-time", "2024-01-01", false }, { "duration", "P1DT2H", true },
        { "duration", "PT", false }, { "duration", "", false }, { "email", "a@b.c", true }, { "email", "a@", false }, { "email", "", false },
        { "email", "\"a\\", false }, { "hostname", "xn--", false }, { "hostname", "xn--a", false }, { "idn-hostname", "bücher.example", true },
        { "idn-hostname", "Bücher.example", false }, { "idn-hostname", "א.ב", true }, { "idn-hostname", "א1.b", true }, { "idn-hostname", "x\u200dy", false },
        { "ipv4", "1.2.3", false }, { "ipv6", "::", true }, { "ipv6", ":", false }, { "ipv6", "", false }, { "ipv6", "1::2::3", false },
        { "uri", "urn:a", true }, { "uri", "", false }, { "uri", "a:%2", false }, { "uri", "http://[", false }, { "iri", "http://é/", true },
        { "uri-reference", "", true }, { "uri-template", "{", false }, { "uri-template", "{a:}", false }, { "uuid", "", false },
        { "json-pointer", "/~", false }, { "relative-json-pointer", "0", true }, { "regex", "(", false }, { "nonsense", "anything", true },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (format_ok(str_from(rows[i].format), str_from(rows[i].text)) != rows[i].ok)
            fail_msg("%s \"%s\": expected %d", rows[i].format, rows[i].text, rows[i].ok);
}

/* Checks every prefix of hostile text with every format; must not crash. */
static void test_prefixes(void **state) {
    (void)state;
    static const char *const names[] = { "date", "time", "date-time", "duration", "email", "idn-email", "hostname", "idn-hostname", "ipv4", "ipv6",
                                         "uri", "uri-reference", "iri", "iri-reference", "uri-template", "uuid", "json-pointer",
                                         "relative-json-pointer", "regex" };
    static const char *const texts[] = { "2024-01-01T00:00:00.5+01:00", "P1Y2M3DT4H5M6S", "\"a\\\" b\"@[IPv6:1:2::3.4.5.6]", "xn--ihqwcrb4cv8a8dqg056pqjye.a-b",
                                         "http://u:p@[v1.x]:80/%20?q#f", "{+a.b%20,c:12*}", "/~0/~1", "\xc3\xa9\xff\xe2\x80",
                                             "(?<a>[^\\u{1F600}-\\p{L}])\\k<a>{2,}" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
            for (size_t n = 0; n <= strlen(texts[k]); n++) {
                char *copy = str_dup((Str){ texts[k], n });
                format_ok(str_from(names[i]), (Str){ copy, n });
                free(copy);
            }
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_formats), cmocka_unit_test(test_prefixes) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
