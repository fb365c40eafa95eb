#include <stdlib.h>
#include "cli/cli.h"
#include "schema/folder.h"
#include "value/json.h"
#include "value/list.h"

#define TEXT_MAX ((size_t)1 << 30)
#define HEAP_MAX ((size_t)8 << 30)
enum { PROBLEMS_MAX = 1000 };

static bool read_json(Heap *h, const char *path, Value *out, Error *err) {
    Buf text = { 0 };
    bool ok = cli_read(path, TEXT_MAX, &text, err);
    if (ok && !json_read(h, buf_str(&text), NULL, out, err))
        ok = error_place(err, strcmp(path, "-") == 0 ? "<stdin>" : path, err->line, err->column);
    buf_clear(&text);
    return ok;
}

/* ---- schema validate ---- */

/* Files next to the schema have file: URIs, so that relative references find them. */
static SchemaFolder *folder_of(const char *path, char **base) {
    char *whole = realpath(path, NULL), *slash = whole ? strrchr(whole, '/') : NULL;
    *base = NULL;
    if (!slash) { free(whole); return NULL; }
    Buf prefix = { 0 };
    buf_add_fmt(&prefix, "file://" STR_FMT, STR_ARG(((Str){ whole, (size_t)(slash - whole) + 1 })));
    *slash = 0;
    SchemaFolder *f = schema_folder_new(buf_str(&prefix), *whole ? whole : "/");
    buf_add(&prefix, str_from(slash + 1));
    *base = buf_take(&prefix);
    free(whole);
    return f;
}

/* One line per problem, whatever names the instance contains. */
static void add_line(Buf *out, Str s) {
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.at[i];
        if (c < 0x20 || c == 0x7f) buf_add_fmt(out, "\\u%04x", c);
        else buf_add_char(out, s.at[i]);
    }
}

static void print_problems(Cli *cli, const SchemaProblems *p) {
    for (size_t i = 0; i < p->n; i++) {
        add_line(&cli->out, p->at[i].path);
        buf_add(&cli->out, STR(": "));
        add_line(&cli->out, p->at[i].message);
        buf_add_char(&cli->out, '\n');
    }
    if (p->more) LOG_WRITE(&cli->log, LOG_WARN, "there are more problems; only the first %zu are shown", p->n);
}

static void print_json(Cli *cli, bool valid, const SchemaProblems *p) {
    buf_add_fmt(&cli->out, "{\"valid\":%s,\"problems\":[", valid ? "true" : "false");
    for (size_t i = 0; i < p->n; i++) {
        buf_add(&cli->out, i ? STR(",{\"path\":") : STR("{\"path\":"));
        json_write_string(&cli->out, p->at[i].path, false);
        buf_add(&cli->out, STR(",\"message\":"));
        json_write_string(&cli->out, p->at[i].message, false);
        buf_add(&cli->out, STR(",\"schema\":"));
        json_write_string(&cli->out, p->at[i].schema, false);
        buf_add_char(&cli->out, '}');
    }
    buf_add(&cli->out, STR("]}\n"));
}

static int validate(Cli *cli, const Schema *s, Value instance) {
    SchemaProblems problems = { .limit = PROBLEMS_MAX };
    bool valid = schema_validate(s, instance, &problems);
    if (cli->json) print_json(cli, valid, &problems);
    else print_problems(cli, &problems);
    schema_problems_clear(&problems);
    return valid ? CLI_OK : CLI_FAILED;
}

int command_schema_validate(Cli *cli) {
    const char *path = cli->args.operands[0];
    Error err = { 0 };
    Heap *heap = heap_new(HEAP_MAX);
    Value root, instance;
    Schema *s = NULL;
    char *base = NULL;
    SchemaFolder *folder = folder_of(path, &base);
    int status;
    if (!read_json(heap, path, &root, &err)) {
        status = cli_fail(cli, CLI_WRONG_USE, &err);
    } else if (!schema_compile(&(SchemaInput){ .root = root, .base_uri = str_from(base), .resolve_ctx = folder,
                                              .resolve = folder ? schema_folder_resolve : NULL }, &s, &err)) {
        error_place(&err, path, 0, 0);
        status = cli_fail(cli, CLI_WRONG_USE, &err);
    } else if (!read_json(heap, cli->args.operands[1], &instance, &err)) {
        status = cli_fail(cli, CLI_FAILED, &err);
    } else {
        status = validate(cli, s, instance);
    }
    schema_free(s);
    schema_folder_free(folder);
    heap_free(heap);
    free(base);
    return status;
}

/* ---- schema test ---- */

typedef struct { Cli *cli; SchemaFolder *remotes; bool assert_format; size_t passed, failed; } Suite;

static Str text_of(Value v) { return value_is_string(v) ? value_str(v) : STR("?"); }

static void count(Suite *t, const char *file, Value group, Value test, bool passed) {
    t->passed += passed;
    t->failed += !passed;
    if (!passed)
        buf_add_fmt(&t->cli->out, "%s: " STR_FMT ": " STR_FMT "\n", file, STR_ARG(text_of(value_member(group, "description"))),
                    STR_ARG(text_of(value_member(test, "description"))));
}

static void run_group(Suite *t, const char *file, Value group) {
    Value tests = value_member(group, "tests");
    Error err = { 0 };
    Schema *s = NULL;
    SchemaInput input = { .root = value_member(group, "schema"), .assert_format = t->assert_format, .resolve_ctx = t->remotes,
                          .resolve = t->remotes ? schema_folder_resolve : NULL };
    if (!schema_compile(&input, &s, &err)) LOG_WRITE(&t->cli->log, LOG_INFO, "%s: " STR_FMT ": %s", file,
        STR_ARG(text_of(value_member(group, "description"))), err.msg);
    for (uint32_t i = 0; value_is_list(tests) && i < value_list(tests)->n; i++) {
        Value test = value_list(tests)->at[i], want = value_member(test, "valid"), data = value_member(test, "data");
        bool known = s && value_is_bool(want) && !value_is_gone(data);
        SchemaProblems problems = { 0 };
        bool valid = known && schema_validate(s, data, &problems), told = valid == (problems.n == 0);
        count(t, file, group, test, known && told && valid == value_bool(want));
        schema_problems_clear(&problems);
    }
    schema_free(s);
}

static bool run_file(Suite *t, const char *file, Error *err) {
    Heap *heap = heap_new(HEAP_MAX);
    Value groups;
    bool ok = read_json(heap, file, &groups, err);
    if (ok && !value_is_list(groups)) {
        ok = error_set(err, ERR_VALIDATION, "not a file of tests: expected an array");
        error_place(err, file, 0, 0);
    }
    for (uint32_t i = 0; ok && i < value_list(groups)->n; i++) run_group(t, file, value_list(groups)->at[i]);
    heap_free(heap);
    return ok;
}

static void print_totals(Suite *t) {
    if (!t->cli->json) {
        buf_add_fmt(&t->cli->out, "%zu passed, %zu failed\n", t->passed, t->failed);
        return;
    }
    Buf list = { 0 };
    Str rest = buf_str(&t->cli->out), line;
    while (str_next_line(&rest, &line)) {
        if (list.n) buf_add_char(&list, ',');
        json_write_string(&list, line, false);
    }
    buf_reset(&t->cli->out);
    buf_add_fmt(&t->cli->out, "{\"passed\":%zu,\"failed\":%zu,\"failures\":[" STR_FMT "]}\n", t->passed, t->failed, STR_ARG(buf_str(&list)));
    buf_clear(&list);
}

int command_schema_test(Cli *cli) {
    const char *dir = args_value(&cli->args, "--remotes");
    Suite t = { .cli = cli, .assert_format = args_has(&cli->args, "--assert-format") };
    Error err = { 0 };
    bool ok = true;
    if (dir) t.remotes = schema_folder_new(STR("http://localhost:1234/"), dir);
    for (size_t i = 0; ok && i < cli->args.n_operands; i++) ok = run_file(&t, cli->args.operands[i], &err);
    schema_folder_free(t.remotes);
    if (!ok) return cli_fail(cli, CLI_FAILED, &err);
    print_totals(&t);
    return t.failed ? CLI_FAILED : CLI_OK;
}
