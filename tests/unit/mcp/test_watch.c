/* Changes of the project's files between its load and the first scan of the watcher. */
#include <time.h>
#include "mcp/host/host_private.h"
#include "tool/tree.h"

#define TOOL(text) "---\nscript: |\n  def run(args):\n      return 1\n---\n" text "\n"

typedef struct Change { Tree tree; const char *path, *text, *gone, *from; } Change;

/* The runtime calls it once the project is loaded, before the watcher starts. */
static bool change(void *ctx, const Project *p, Error *err) {
    Change *c = ctx;
    (void)p, (void)err;
    if (c->text) tree_text(&c->tree, c->path, c->text);
    if (c->gone) assert_int_equal(unlinkat(c->tree.fd, c->gone, 0), 0);
    if (c->from) assert_int_equal(renameat(c->tree.fd, c->from, c->tree.fd, c->path), 0);
    return true;
}

static bool served(McpHost *s, const char *tool, const char *description) {
    ServeProject *version = serve_project(s);
    const ToolDef *t = project_tool(runtime_project(version->rt), str_from(tool));
    bool found = t ? description && str_eq(str_trim(t->description), str_from(description)) : !description;
    serve_project_release(s, version);
    return found;
}

/* Waits until the server has the tool with this description; NULL: until it does not have it. */
static void expect(Change *c, const char *tool, const char *description) {
    Error err = { 0 };
    Problems problems = { 0 };
    McpHost *s;
    tree_text(&c->tree, "harness.md", "---\nbuiltin_tools: none\n---\n");
    tree_text(&c->tree, ".harness/tools/old.md", TOOL("One."));
    tree_text(&c->tree, "aside/new.md", TOOL("New."));
    nanosleep(&(struct timespec){ .tv_nsec = 50000000 }, NULL);      /* the time stamps of these files are older than the load */
    McpHostConfig config = { .runtime = { .dir = c->tree.path, .ephemeral = true, .open_files = change, .open_files_ctx = c }, .events = -1,
                             .version = "1", .watch = true };
    if (!mcp_host_new(&config, &s, &problems, &err)) fail_msg("%s", err.msg);
    for (int i = 0; i < 3000 && !served(s, tool, description); i++) nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
    assert_true(served(s, tool, description));
    mcp_host_close(s, 0);
    problems_clear(&problems);
    tree_free(&c->tree);
}

static void changed_text(void **state) {
    (void)state;
    Change c = { .tree = tree_new(), .path = ".harness/tools/old.md", .text = TOOL("Two.") };
    expect(&c, "old", "Two.");
}

static void new_file(void **state) {
    (void)state;
    Change c = { .tree = tree_new(), .path = ".harness/tools/new.md", .text = TOOL("New.") };
    expect(&c, "new", "New.");
}

static void removed_file(void **state) {
    (void)state;
    Change c = { .tree = tree_new(), .gone = ".harness/tools/old.md" };
    expect(&c, "old", NULL);
}

static void moved_file(void **state) {
    (void)state;
    Change c = { .tree = tree_new(), .from = "aside/new.md", .path = ".harness/tools/new.md" };
    expect(&c, "new", "New.");
}

static void new_manifest(void **state) {
    (void)state;
    Change c = { .tree = tree_new(), .path = "tools.json", .text = "{\"tools\":[{\"name\":\"late\",\"description\":\"Late.\",\"command\":[\"/bin/true\"]}]}" };
    expect(&c, "late", "Late.");
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(changed_text), cmocka_unit_test(new_file), cmocka_unit_test(removed_file),
                                        cmocka_unit_test(moved_file), cmocka_unit_test(new_manifest) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
