/* Loads one format by itself, from files that a test writes into a temporary folder. */
#pragma once
#include "unit.h"
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>
#include "artifact/load.h"
#include "value/json.h"

typedef struct Trial {
    char dir[64];
    Project project;
    ProjectInput in;
    Problems problems;
    Arena arena;
    Loader l;
    Document settings;           /* with trial_settings */
    Buf text;                    /* last result of trial_problems */
} Trial;

static inline void trial_open(Trial *t) {
    *t = (Trial){ 0 };
    snprintf(t->dir, sizeof t->dir, "/tmp/harness-artifact-XXXXXX");
    assert_non_null(mkdtemp(t->dir));
    t->project.heap = heap_new(0);
    t->project.root = str_from(t->dir);
    t->project.settings = (Settings){ .sandbox = VALUE_GONE, .secrets = VALUE_GONE };
    t->l = (Loader){ .in = &t->in, .project = &t->project };
    t->l.docs = (DocumentContext){ .grants = &t->l.grants, .root_fd = open(t->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), .arena = &t->arena,
                                   .heap = t->project.heap, .problems = &t->problems };
    assert_true(t->l.docs.root_fd >= 0);
}

static inline int trial_remove(const char *path, const struct stat *st, int type, struct FTW *ftw) {
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

static inline void trial_forget(Trial *t) {
    Loader *l = &t->l;
    for (size_t i = 0; i < l->templates.n; i++) template_free(l->templates.at[i]);
    for (size_t i = 0; i < l->schemas.n; i++) schema_free(l->schemas.at[i]);
    VEC_CLEAR(&l->grants);
    VEC_CLEAR(&l->tools);
    VEC_CLEAR(&l->hooks);
    VEC_CLEAR(&l->agents);
    VEC_CLEAR(&l->servers);
    VEC_CLEAR(&l->sources);
    VEC_CLEAR(&l->templates);
    VEC_CLEAR(&l->schemas);
    VEC_CLEAR(&l->looked_at);
    VEC_CLEAR(&l->references);
    VEC_CLEAR(&l->rules);
    VEC_CLEAR(&l->strays);
    problems_clear(&t->problems);
    document_clear(&t->settings);
}

static inline void trial_close(Trial *t) {
    trial_forget(t);
    close(t->l.docs.root_fd);
    heap_free(t->project.heap);
    arena_clear(&t->arena);
    buf_clear(&t->text);
    nftw(t->dir, trial_remove, 16, FTW_DEPTH | FTW_PHYS);
}

static inline const char *trial_path(Trial *t, const char *path) { return arena_fmt(&t->arena, "%s/%s", t->dir, path); }

/* Writes a file and creates the folders it needs. */
static inline void trial_put(Trial *t, const char *path, Str text) {
    char *full = arena_fmt(&t->arena, "%s/%s", t->dir, path);
    for (char *c = full + strlen(t->dir) + 1; *c; c++)
        if (*c == '/') {
            *c = 0;
            assert_true(mkdir(full, 0755) == 0 || errno == EEXIST);
            *c = '/';
        }
    FILE *f = fopen(full, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(text.at, 1, text.n, f), text.n);
    fclose(f);
}

/* A settings document, like harness.yaml. */
static inline const Document *trial_settings(Trial *t, const char *yaml) {
    assert_true(document_parse(&t->l.docs, "config", STR("harness.yaml"), DOCUMENT_YAML, str_from(yaml), &t->settings));
    return &t->settings;
}

/* Every problem on its own line, warnings and hints marked, in order of position. */
static inline const char *trial_problems(Trial *t) {
    buf_reset(&t->text);
    problems_sort(&t->problems);
    for (size_t i = 0; i < t->problems.n; i++) {
        const Problem *p = &t->problems.at[i];
        if (p->severity != PROBLEM_ERROR) buf_add_fmt(&t->text, "%s: ", problem_severity_name(p->severity));
        problem_format(p, &t->text);
        buf_add_char(&t->text, '\n');
    }
    return t->text.at ? t->text.at : "";
}

#define trial_expect(t, expected) trial_compare((t), (expected), "", __FILE__, __LINE__)
static inline void trial_compare(Trial *t, const char *expected, const char *about, const char *file, int line) {
    const char *got = trial_problems(t);
    if (strcmp(got, expected) == 0) return;
    print_error("%s\n--- expected\n%s--- got\n%s---\n", about, expected, got);
    _fail(file, line);
}

static inline const ToolDef *trial_tool(const Trial *t, const char *name) {
    for (size_t i = 0; i < t->l.tools.n; i++)
        if (str_eq(t->l.tools.at[i].name, str_from(name))) return &t->l.tools.at[i];
    print_error("there is no tool %s\n", name);
    fail();
    return NULL;
}

#define assert_json(t, v, expected) trial_assert_json((t), (v), (expected), __FILE__, __LINE__)
static inline void trial_assert_json(Trial *t, Value v, const char *expected, const char *file, int line) {
    buf_reset(&t->text);
    Error err = { 0 };
    if (value_is_gone(v)) buf_add(&t->text, STR("gone"));
    else if (!json_write(&t->text, v, NULL, &err)) buf_add(&t->text, str_from(err.msg));
    unit_assert_str(buf_str(&t->text), expected, file, line);
}
