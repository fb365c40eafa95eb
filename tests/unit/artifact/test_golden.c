/* Whole projects under tests/fixtures/artifact/: NAME/problems.txt has all problems reported for NAME, and
 * NAME/tools.txt, if it exists, its tools as a model gets them. */
#include "artifact/trial.h"
#include "base/file.h"

#define FOLDER "tests/fixtures/artifact/"

static const char *const projects[] = {
    "manifest_good", "manifest_bad", "space_good", "space_bad", "server_bad", "source_bad",
};

static void describe(const Project *p, Buf *out) {
    for (size_t i = 0; i < p->n_tools; i++) {
        const ToolDef *t = &p->tools[i];
        Error err = { 0 };
        buf_add_fmt(out, "%s " STR_FMT " at " STR_FMT ":%u\n", tool_kind_name(t->kind), STR_ARG(t->name), STR_ARG(t->origin.file), t->origin.line);
        json_write_string(out, t->description, false);
        buf_add_char(out, '\n');
        assert_true(json_write(out, t->parameters, NULL, &err));
        buf_add_char(out, '\n');
    }
}

/* HARNESS_GOLDEN=write rewrites the files; review the difference. */
static void compare(const char *project, const char *name, const Buf *got) {
    char path[200];
    Buf want = { 0 };
    Error err = { 0 };
    snprintf(path, sizeof path, FOLDER "%s/%s", project, name);
    const char *mode = getenv("HARNESS_GOLDEN");
    if (mode && strcmp(mode, "write") == 0) {
        FILE *f = fopen(path, "w");
        assert_non_null(f);
        fwrite(got->at, 1, got->n, f);
        fclose(f);
    }
    if (!file_read(path, 1 << 20, &want, &err)) fail_msg("%s", err.msg);
    if (!str_eq(buf_str(got), buf_str(&want))) {
        fprintf(stderr, "%s\n--- expected\n%s--- got\n%s---\n", path, want.at ? want.at : "", got->at ? got->at : "");  /* cmocka truncates long texts */
        fail();
    }
    buf_clear(&want);
}

static void says_what_the_files_say(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof projects / sizeof *projects; i++) {
        char dir[200];
        Problems problems = { 0 };
        Project *p;
        Buf text = { 0 }, tools = { 0 };
        snprintf(dir, sizeof dir, FOLDER "%s", projects[i]);
        bool ok = project_load(&(ProjectInput){ .dir = dir, .state_dir = "/nonexistent" }, &p, &problems);
        assert_int_equal(ok, problems.errors == 0);
        for (size_t k = 0; k < problems.n; k++) {
            buf_add_fmt(&text, "%s: ", problem_severity_name(problems.at[k].severity));
            problem_format(&problems.at[k], &text);
            buf_add_char(&text, '\n');
        }
        compare(projects[i], "problems.txt", &text);
        if (ok) describe(p, &tools), compare(projects[i], "tools.txt", &tools);
        buf_clear(&text);
        buf_clear(&tools);
        problems_clear(&problems);
        project_free(p);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(says_what_the_files_say) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
