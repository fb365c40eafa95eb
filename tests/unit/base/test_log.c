#include "unit.h"
#include <errno.h>
#include <pthread.h>
#include <unistd.h>
#include "base/log.h"
#include "base/utf8.h"

/* Logs into a pipe and returns the output. */
static char *logged(LogFormat format, LogLevel level, const LogField *fields, size_t n, const char *msg) {
    static char text[4096];
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    Log log = { .fd = ends[1], .level = LOG_INFO, .format = format };
    log_write(&log, level, fields, n, "%s", msg);
    close(ends[1]);
    ssize_t got = read(ends[0], text, sizeof text - 1);
    close(ends[0]);
    text[got] = 0;
    return text;
}

static void text_lines_cannot_be_forged(void **state) {
    (void)state;
    static const struct { const char *msg, *value, *line; } cases[] = {
        { "hi", "v", "harness: warn: hi key=v\n" },
        { "hi", "", "harness: warn: hi key=\"\"\n" },
        { "a b", "c d", "harness: warn: a b key=\"c d\"\n" },
        { "a", "x=1", "harness: warn: a key=\"x=1\"\n" },
        { "a", "say \"x\\\"", "harness: warn: a key=\"say \\\"x\\\\\\\"\"\n" },
        { "a\nharness: error: b", "\r\t", "harness: warn: a\\nharness: error: b key=\\r\\t\n" },
        { "\x1b[31m\x7f", "\xC2\x9B", "harness: warn: \\u001b[31m\\u007f key=\\u009b\n" },
        { "\xE2\x80\xAE" "a", "\xE2\x81\xA6\xE2\x81\xA9", "harness: warn: \\u202ea key=\\u2066\\u2069\n" },
        { "\xE2\x80\xA8", "\xE2\x80\xAA", "harness: warn: \\u2028 key=\\u202a\n" },
        { "\xFF\xC3", "é€😀", "harness: warn: \\xff\\xc3 key=é€😀\n" },
        { "\xEF\xBF\xBD", "\xEF\xBF\xBD", "harness: warn: \xEF\xBF\xBD key=\xEF\xBF\xBD\n" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        LogField field = { "key", str_from(cases[i].value) };
        assert_string_equal(logged(LOG_TEXT, LOG_WARN, &field, 1, cases[i].msg), cases[i].line);
    }
}

static void json_lines_are_valid(void **state) {
    (void)state;
    LogField fields[] = { { "k\"1", STR("a\nb\"c\\d\x01") }, { "k2", STR("\xFF\xE2\x80\xAE é\x7F") } };
    char *line = logged(LOG_JSON, LOG_ERROR, fields, 2, "say \"hi\"\t\x80");
    assert_true(utf8_valid(str_from(line)));
    assert_memory_equal(line, "{\"time\":\"20", 11);
    char *rest = strstr(line, "Z\"");
    assert_non_null(rest);
    assert_string_equal(rest, "Z\",\"level\":\"error\",\"msg\":\"say \\\"hi\\\"\\t\xEF\xBF\xBD\",\"k\\\"1\":\"a\\nb\\\"c\\\\d\\u0001\","
                              "\"k2\":\"\xEF\xBF\xBD\\u202e é\\u007f\"}\n");
}

static void levels_filter(void **state) {
    (void)state;
    assert_string_equal(logged(LOG_TEXT, LOG_DEBUG, NULL, 0, "x"), "");
    assert_string_equal(logged(LOG_TEXT, LOG_OFF, NULL, 0, "x"), "");
    assert_string_equal(logged(LOG_TEXT, LOG_INFO, NULL, 0, "x"), "harness: info: x\n");
    LOG_WRITE((Log *)NULL, LOG_ERROR, "no log %d", 1);
    errno = EDOM;
    log_write(&(Log){ .fd = -1 }, LOG_ERROR, NULL, 0, "lost");
    assert_int_equal(errno, EDOM);
}

static void names_parse(void **state) {
    (void)state;
    LogLevel level = LOG_OFF;
    LogFormat format = LOG_TEXT;
    assert_true(log_level_parse(STR("debug"), &level) && level == LOG_DEBUG);
    assert_true(log_level_parse(STR("error"), &level) && level == LOG_ERROR);
    assert_false(log_level_parse(STR("Error"), &level));
    assert_false(log_level_parse(STR(""), &level));
    assert_int_equal(level, LOG_ERROR);
    assert_true(log_format_parse(STR("json"), &format) && format == LOG_JSON);
    assert_true(log_format_parse(STR("text"), &format) && format == LOG_TEXT);
    assert_false(log_format_parse(STR("yaml"), &format));
}

static void *write_lines(void *arg) {
    for (int i = 0; i < 200; i++)
        log_write(arg, LOG_INFO, &(LogField){ "k", STR("vvvvvvvvvvvvvvvvvvvvvvvvvvv") }, 1, "line");
    return NULL;
}

static void lines_of_threads_do_not_mix(void **state) {
    (void)state;
    FILE *f = tmpfile();
    Log log = { .fd = fileno(f), .level = LOG_INFO, .format = LOG_TEXT };
    assert_int_equal(lseek(log.fd, 0, SEEK_SET), 0);
    pthread_t t[4];
    for (int i = 0; i < 4; i++) pthread_create(&t[i], NULL, write_lines, &log);
    for (int i = 0; i < 4; i++) pthread_join(t[i], NULL);
    rewind(f);
    char line[200];
    int n = 0;
    for (; fgets(line, sizeof line, f); n++)
        assert_string_equal(line, "harness: info: line k=vvvvvvvvvvvvvvvvvvvvvvvvvvv\n");
    assert_int_equal(n, 800);
    fclose(f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_lines_cannot_be_forged),
        cmocka_unit_test(json_lines_are_valid),
        cmocka_unit_test(levels_filter),
        cmocka_unit_test(names_parse),
        cmocka_unit_test(lines_of_threads_do_not_mix),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
