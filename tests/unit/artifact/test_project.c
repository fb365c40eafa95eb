/* Every case of the files in tests/fixtures/artifact/: the project loads with exactly the listed problems. UNIT_SHOW=1
 * prints the problems found in the format of the list. */
#include <glob.h>
#include "artifact/archive.h"
#include "artifact/project.h"

static void list_problems(const Problems *p, Buf *out) {
    for (size_t i = 0; i < p->n; i++) {
        buf_add_fmt(out, "%s ", problem_severity_name(p->at[i].severity));
        problem_format(&p->at[i], out);
        buf_add_char(out, '\n');
    }
}

static Str without(Str text, const char *dir) {       /* the folder's name differs on each run */
    ptrdiff_t at;
    static Buf out;
    buf_reset(&out);
    while ((at = str_find(text, str_from(dir))) >= 0) {
        buf_add(&out, str_sub(text, 0, (size_t)at));
        buf_add(&out, STR("DIR"));
        text = str_sub(text, (size_t)at + strlen(dir), text.n);
    }
    buf_add(&out, text);
    return buf_str(&out);
}

static bool run_case(const char *file, const ArchiveCase *c) {
    char *dir = archive_folder();
    Str rest = c->text, expected = STR("");
    ArchiveFile f;
    bool told = false, lenient = str_find(c->name, STR("(lenient)")) >= 0, strict = str_find(c->name, STR("(strict)")) >= 0;
    while (archive_file(&rest, &f)) {
        if (str_eq(f.path, STR("problems"))) expected = f.text, told = true;
        else archive_write(dir, f.path, f.text);
    }
    Problems problems = { 0 };
    Project *p;
    bool ok = project_load(&(ProjectInput){ .dir = dir, .lenient = lenient, .strict = strict }, &p, &problems);
    Buf got = { 0 };
    list_problems(&problems, &got);
    Str text = without(buf_str(&got), dir);
    bool same = told && str_eq(str_trim(text), str_trim(expected)) && ok == (problems.errors == 0) && ok == (p != NULL);
    if (getenv("UNIT_SHOW")) printf("=== %.*s\n%.*s", STR_ARG(c->name), STR_ARG(text));
    else if (!same) print_error("%s: %.*s\n--- expected\n%.*s\n--- got\n%.*s\n", file, STR_ARG(c->name), STR_ARG(expected), STR_ARG(text));
    buf_clear(&got);
    problems_clear(&problems);
    project_free(p);
    archive_remove(dir);
    return same;
}

static void test_fixtures(void **state) {
    (void)state;
    glob_t files;
    size_t failed = 0, cases = 0;
    assert_int_equal(glob("tests/fixtures/artifact/*.txt", 0, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        Buf text = { 0 };
        Error err = { 0 };
        if (!file_read(files.gl_pathv[i], 1 << 24, &text, &err)) fail_msg("%s", err.msg);
        Str rest = buf_str(&text);
        for (ArchiveCase c; archive_next(&rest, &c); cases++) failed += !run_case(files.gl_pathv[i], &c);
        buf_clear(&text);
    }
    globfree(&files);
    if (failed) fail_msg("%zu of %zu cases failed", failed, cases);
    assert_true(cases > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_fixtures) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
