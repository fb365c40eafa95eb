/* Time spent waiting for the user counts neither towards timeouts nor as the call's own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#include "tool/pipeline/call.h"

enum { WAIT_MS = 1600, TIMEOUT_MS = 800 };

static void put(const char *dir, const char *name, const char *text) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static void make_folder(const char *dir, const char *name) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    assert_int_equal(mkdir(path, 0700), 0);
}

/* Takes twice the timeout of any tool to say yes. */
static ConfirmAnswer slow_yes(void *ctx, const ConfirmQuestion *q, Cancel *cancel) {
    (void)q;
    ++*(int *)ctx;
    return cancel_sleep(cancel, (int64_t)WAIT_MS * 1000000, NULL) ? CONFIRM_ONCE : CONFIRM_NO;
}

static void test_waiting(void **state) {
    (void)state;
    char dir[] = "/tmp/harness-wait-XXXXXX", head[64], text[512];
    assert_non_null(mkdtemp(dir));
    make_folder(dir, ".harness");
    make_folder(dir, ".harness/tools");
    snprintf(head, sizeof head, "timeout_ms: %d\n", TIMEOUT_MS);
    put(dir, "harness.md", "---\nmeta: { enabled: true }\n---\n");
    snprintf(text, sizeof text, "---\nconfirm: true\n%sscript: |\n  def run(args):\n      return \"done\"\n---\nx\n", head);
    put(dir, ".harness/tools/asks.md", text);
    snprintf(text, sizeof text, "---\n%sscript: |\n  def run(args):\n      fs.write(\".env\", \"x\")\n      return \"done\"\n---\nx\n", head);
    put(dir, ".harness/tools/inside.md", text);
    snprintf(text, sizeof text, "---\n%sscript: |\n  def run(args):\n      return meta.call_tool(\"asks\", {})\n---\nx\n", head);
    put(dir, ".harness/tools/nests.md", text);
    Runtime *rt;
    Run *run;
    Problems problems = { 0 };
    Error err = { 0 };
    int asked = 0;
    assert_true(runtime_open(&(RuntimeConfig){ .dir = dir, .ephemeral = true, .trusted = true }, &rt, &problems, &err));
    assert_true(run_start(rt, &(RunConfig){ .person = { .confirm = slow_yes, .source = "test", .ctx = &asked } }, &run, &err));
    static const char *const names[] = { "asks", "inside", "nests" };
    for (int i = 0; i < 3; i++) {
        Result r = { 0 };
        assert_true(tool_call(run, &(Call){ .name = str_from(names[i]) }, NULL, &r, &err));
        if (r.is_error || !str_eq(r.text, STR("done"))) fail_msg("%s: " STR_FMT, names[i], STR_ARG(r.text));
        assert_int_equal(asked, i + 1);
        assert_true(r.waited_ns >= (int64_t)WAIT_MS * 1000000);
        if (r.elapsed_ns >= (int64_t)WAIT_MS * 1000000) fail_msg("%s: took %lld ns", names[i], (long long)r.elapsed_ns);
        result_clear(&r);
    }
    assert_true(run_end(run, RUN_COMPLETED, &err));
    runtime_close(rt);
    problems_clear(&problems);
    snprintf(text, sizeof text, "rm -rf %s", dir);
    assert_int_equal(system(text), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_waiting) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
