/* rules_judge(): rows against calls. */
#include <unistd.h>
#include <sys/stat.h>
#include "artifact/archive.h"
#include "artifact/project.h"
#include "policy/rules.h"

typedef struct Case {
    const char *rules;                  /* of harness.md, below `rules:` */
    const char *vendor, *tool;          /* "" vendor: our own */
    const char *what;                   /* the command, path or URL; NULL: unknown */
    const char *verdict;                /* "deny by a", "none" */
} Case;

static Project *load(const char *rules, const char *dir) {
    Project *p = NULL;
    Problems problems = { 0 };
    char *text = NULL;
    assert_true(asprintf(&text, "---\nbuiltin_tools: all\nmeta: { enabled: true }\nrules:\n%s---\n", rules) > 0);
    archive_write(dir, STR("harness.md"), str_from(text));
    bool ok = project_load(&(ProjectInput){ .dir = dir }, &p, &problems);
    for (size_t i = 0; i < problems.n; i++) print_error(STR_FMT "\n", STR_ARG(problems.at[i].message));
    assert_true(ok);
    problems_clear(&problems);
    free(text);
    return p;
}

static void judge(const Case *c, const char *dir) {
    Project *p = load(c->rules, dir);
    Arena arena = { 0 };
    RulesPath path = { str_from(c->what), RULES_READS };
    CallKind kind = call_kind_of_tool(str_from(c->tool));
    RulesCall call = { .tool = str_from(c->tool), .kind = kind, .root = p->root, .home = STR("/home/me") };
    if (*c->vendor) assert_true(vendor_find(str_from(c->vendor), &call.vendor));
    path.role = rules_role(kind);
    if (kind == CALL_SHELL) call.command = str_from(c->what);
    else if (kind == CALL_NET_FETCH) call.url = str_from(c->what);
    else if (c->what && *call_kind_argument(kind)) call.paths = &path, call.n_paths = 1;
    RulesVerdict v = rules_judge(&p->rules, &call, &arena);
    Buf is = { 0 };
    buf_add(&is, str_from(rule_verdict_name(v.verdict)));
    if (v.rule) buf_add_fmt(&is, " by " STR_FMT "%s%s", STR_ARG(v.rule->name), v.otherwise ? " (otherwise)" : "", v.unknown ? " (unknown)" : "");
    if (v.answered) buf_add_fmt(&is, ", answers " STR_FMT, STR_ARG(v.answered->name));
    if (!str_eq(buf_str(&is), str_from(c->verdict))) print_error("%s\n  %s %s: %s, expected %s\n", c->rules, c->tool, c->what, is.at, c->verdict);
    assert_string_equal(is.at, c->verdict);
    buf_clear(&is);
    arena_clear(&arena);
    project_free(p);
}

static void run(const Case *cases, size_t n) {
    char *dir = archive_folder();
    char *link = NULL, *target = NULL;
    archive_write(dir, STR("docs/a.md"), STR("x"));
    archive_write(dir, STR("secrets/key"), STR("x"));
    assert_true(asprintf(&link, "%s/docs/link", dir) > 0 && asprintf(&target, "%s/secrets", dir) > 0);
    assert_int_equal(symlink("../secrets", link), 0);
    free(link);
    assert_true(asprintf(&link, "%s/docs/new", dir) > 0);
    assert_int_equal(symlink("../secrets/not-yet", link), 0);       /* a link to a file that does not exist */
    for (size_t i = 0; i < n; i++) judge(&cases[i], dir);
    free(link);
    free(target);
    archive_remove(dir);
}

#define DENY(what) "  - { name: a, " what ", decide: deny }\n"
#define ASK(name, what) "  - { name: " name ", " what ", decide: ask }\n"
#define ALLOW(name, what) "  - { name: " name ", " what ", decide: allow }\n"
#define ONLY(name, what) "  - { name: " name ", " what ", decide: allow, otherwise: deny }\n"

/* ---- shell, rows that deny ---- */

static const Case deny_cases[] = {
    { DENY("shell: [git, push]"), "", "bash", "git push", "deny by a" },
    { DENY("shell: [git, push]"), "", "bash", "/usr/bin/git -C x push y", "deny by a" },
    { DENY("shell: [git, push]"), "", "bash", "push git", "none" },
    { DENY("shell: [git, push]"), "", "bash", "gitk push", "none" },
    { DENY("shell: [\"git*\", push]"), "", "bash", "git-lfs push", "deny by a" },
    { DENY("shell: [a, b, c]"), "", "bash", "a x b y c", "deny by a" },
    { DENY("shell: [a, b, c]"), "", "bash", "a c b", "none" },
    { DENY("shell: [a, b, b]"), "", "bash", "a b", "none" },
    { DENY("shell: [a, b, b]"), "", "bash", "a b b", "deny by a" },
    /* options */
    { DENY("shell: [rm, -r]"), "", "bash", "rm -vrf x", "deny by a" },
    { DENY("shell: [rm, -rf]"), "", "bash", "rm -f -r x", "deny by a" },
    { DENY("shell: [rm, -rf]"), "", "bash", "rm -f x", "none" },
    { DENY("shell: [rm, -r]"), "", "bash", "rm -- -r", "deny by a" },
    { DENY("shell: [rm, -r]"), "", "bash", "rm --regular", "none" },
    { DENY("shell: [rm, --recursive]"), "", "bash", "rm --rec x", "deny by a" },
    { DENY("shell: [rm, --recursive]"), "", "bash", "rm --recursivexx x", "none" },
    { DENY("shell: [x, --opt]"), "", "bash", "x --opt=1", "deny by a" },
    { DENY("shell: [x, --opt]"), "", "bash", "x --opt 1", "deny by a" },
    { DENY("shell: [x, --opt, \"1*\"]"), "", "bash", "x --opt=12", "deny by a" },
    { DENY("shell: [x, --opt, \"1*\"]"), "", "bash", "x --opt 12", "deny by a" },
    { DENY("shell: [x, --opt, \"1*\"]"), "", "bash", "x --opt=2", "none" },
    { DENY("shell: [x, \"--opt=1\"]"), "", "bash", "x --opt=1", "deny by a" },
    { DENY("shell: [x, \"--opt=1\"]"), "", "bash", "x --opt=2", "none" },
    { DENY("shell: [x, \"--opt=1\"]"), "", "bash", "x --opt 1", "deny by a" },
    { DENY("shell: [x, \"--opt=1\"]"), "", "bash", "x --opt 2", "none" },
    { DENY("shell: [x, \"--opt=1\"]"), "", "bash", "x --op=1", "deny by a" },
    { DENY("shell: [x, -d, \"@*\"]"), "", "bash", "x -vd@f", "deny by a" },
    { DENY("shell: [find, -delete]"), "", "bash", "find . -delete", "deny by a" },
    { DENY("shell: [find, -delete]"), "", "bash", "find . -name x", "none" },
    /* unknown words */
    { DENY("shell: [git, push]"), "", "bash", "git \"$x\"", "deny by a (unknown)" },
    { DENY("shell: [git, push]"), "", "bash", "git commit -m \"$x\"", "deny by a (unknown)" },
    { DENY("shell: [git, push, --force]"), "", "bash", "git commit -m \"$x\"", "none" },     /* one word cannot be both */
    { DENY("shell: [git, push, --force]"), "", "bash", "git \"$x\" \"$y\"", "deny by a (unknown)" },
    { DENY("shell: [git, push, --force]"), "", "bash", "git push \"$x\"", "deny by a (unknown)" },
    { DENY("shell: [git, push, --force]"), "", "bash", "git push \"origin/$x\"", "none" },
    { DENY("shell: [git, push, --force]"), "", "bash", "git commit $x", "deny by a (unknown)" },
    { DENY("shell: [git, push]"), "", "bash", "$x", "deny by a (unknown)" },
    { DENY("shell: [git, push]"), "", "bash", "\"$x\" commit", "none" },
    { DENY("shell: [git, push]"), "", "bash", "\"$x\" push", "deny by a (unknown)" },
    { DENY("shell: [git, push]"), "", "bash", "\"g$x\" push", "deny by a (unknown)" },
    { DENY("shell: [git, push]"), "", "bash", "\"h$x\" push", "none" },
    { DENY("shell: [git, push]"), "", "bash", "echo \"$x\"", "none" },
    { DENY("shell: [cat, \"*.env\"]"), "", "bash", "cat ~/.env", "deny by a" },               /* whatever ~ expands to */
    { DENY("shell: [cat, \"*.env\"]"), "", "bash", "cat .e*", "deny by a (unknown)" },
    { DENY("shell: [cat, \"*.env\"]"), "", "bash", "cat .[a-e]nv", "deny by a (unknown)" },
    { DENY("shell: [cat, \"*.env\"]"), "", "bash", "cat *.c", "none" },
    { DENY("shell: [git, push]"), "", "bash", "eval \"$x\"", "deny by a (unknown)" },
    { DENY("shell: [git, push]"), "", "bash", "cat x | sh", "deny by a (unknown)" },
    { DENY("shell: [git, push]"), "", "bash", "sh x.sh", "none" },                            /* files are not read */
    { DENY("shell: [git, push]"), "", "bash", "echo 'x", "deny by a (unknown)" },             /* cannot be parsed */
    { DENY("shell: [git, push]"), "", "bash", "", "none" },
    { DENY("shell: [git, push]"), "", "bash", NULL, "deny by a (unknown)" },
    { DENY("shell: [git]"), "", "read", "git", "none" },
    /* a certain match is named before an uncertain one */
    { DENY("shell: [x]") "  - { name: b, shell: [git, push], decide: deny }\n", "", "bash", "git push; $y", "deny by b" },
    /* assignments and redirections */
    { DENY("shell: [\"*\", \"A=1\"]"), "", "bash", "A=1 make", "deny by a" },
    { DENY("shell: [\"*\", \"A=1\"]"), "", "bash", "A=$x make", "deny by a (unknown)" },
    { DENY("shell: [\"*\", \"A=1\"]"), "", "bash", "env A=1 make", "deny by a" },
    { DENY("shell: [\"*\", \"*.env\"]"), "", "bash", "make > .env", "deny by a" },
    { DENY("shell: [\"*\", \"*.env\"]"), "", "bash", "{ make; } 2>> .env", "deny by a" },
    { DENY("shell: [make, \"*.env\"]"), "", "bash", "echo > .env", "none" },
    { DENY("shell: [sudo]"), "", "bash", "sudo ls", "deny by a" },
    { ASK("a", "shell: [git, push]"), "", "bash", "ls && git push", "ask by a" },
    { ASK("a", "shell: [git, push]") "  - { name: b, shell: [rm], decide: deny }\n", "", "bash", "git push; rm x", "deny by b" },
};

/* ---- shell, rows that allow ---- */

static const Case allow_cases[] = {
    { ONLY("a", "shell: [git, status]"), "", "bash", "git status", "allow by a" },
    { ONLY("a", "shell: [git, status]"), "", "bash", "git status -s src", "allow by a" },
    { ONLY("a", "shell: [git, status]"), "", "bash", "git status; git status", "allow by a" },
    { ONLY("a", "shell: [git, status]"), "", "bash", "git status && rm x", "deny by a (otherwise)" },
    { ONLY("a", "shell: [git, status]"), "", "bash", "git push status", "deny by a (otherwise)" },
    { ONLY("a", "shell: [git, status]"), "", "bash", "git -c alias.status=!x status", "deny by a (otherwise)" },
    { ONLY("a", "shell: [git, status]"), "", "bash", "git status $x", "deny by a (otherwise)" },
    { ONLY("a", "shell: [git, status]"), "", "bash", "git status $(rm x)", "deny by a (otherwise)" },
    { ONLY("a", "shell: [git, status]"), "", "bash", "git status > x", "deny by a (otherwise)" },
    { ONLY("a", "shell: [git, status]"), "", "bash", "git status > /dev/null 2>&1", "allow by a" },
    { ONLY("a", "shell: [git, status]"), "", "bash", "PATH=/tmp git status", "deny by a (otherwise)" },
    { ONLY("a", "shell: [git, status]"), "", "bash", "PATH=/tmp; git status", "deny by a (otherwise)" },
    { ONLY("a", "shell: [git, status]"), "", "bash", "env PATH=/tmp git status", "deny by a (otherwise)" },
    { ONLY("a", "shell: [git, status]"), "", "bash", "timeout 5 git status", "allow by a" },
    { ONLY("a", "shell: [git, status]"), "", "bash", "sh -c 'git status'", "allow by a" },
    { ONLY("a", "shell: [git, status]"), "", "bash", "sh -c 'git status; rm x'", "deny by a (otherwise)" },
    { ONLY("a", "shell: [git, status]"), "", "bash", "sudo git status", "deny by a (otherwise)" },
    { ONLY("a", "shell: [git, status]"), "", "bash", "xargs git status", "deny by a (otherwise)" },
    { ONLY("a", "shell: [git, status]"), "", "bash", "git 'status", "deny by a (otherwise)" },
    { ONLY("a", "shell: [git, status]"), "", "bash", "", "deny by a (otherwise)" },
    { ONLY("a", "shell: [git, status]"), "", "bash", NULL, "deny by a (otherwise)" },
    { ONLY("a", "shell: [git, status]"), "", "read", "x", "none" },
    { ONLY("a", "shell: [git, push, --dry-run]"), "", "bash", "git push --dry-run", "allow by a" },
    { ONLY("a", "shell: [git, push, --dry-run]"), "", "bash", "git push -- --dry-run", "deny by a (otherwise)" },
    { ONLY("a", "shell: [git, push, --dry-run]"), "", "bash", "git push", "deny by a (otherwise)" },
    { ONLY("a", "shell: [git, --no-pager, log]"), "", "bash", "git --no-pager log", "allow by a" },
    /* rows that share `otherwise` are one set */
    { ONLY("a", "shell: [git, status]") ONLY("b", "shell: [ls]"), "", "bash", "ls | git status", "allow by b" },
    { ONLY("a", "shell: [git, status]") ONLY("b", "shell: [ls]"), "", "bash", "ls | wc", "deny by a (otherwise)" },
    { ONLY("a", "shell: [git, status]") ALLOW("b", "shell: [ls]"), "", "bash", "ls", "deny by a (otherwise)" },
    /* an allow answers ask rows, never deny rows */
    { ASK("a", "shell: [git]") ALLOW("b", "shell: [git, status]"), "", "bash", "git status", "allow by b, answers a" },
    { ASK("a", "shell: [git]") ALLOW("b", "shell: [git, status]"), "", "bash", "git status; git push", "ask by a" },
    { DENY("shell: [git]") ALLOW("b", "shell: [git, status]"), "", "bash", "git status", "deny by a" },
    { ALLOW("b", "tool: bash"), "", "bash", "x", "allow by b" },
    { "  - { name: a, shell: [git], decide: allow, otherwise: ask }\n", "", "bash", "ls", "ask by a (otherwise)" },
};

/* ---- paths ---- */

static const Case path_cases[] = {
    { DENY("file: [\"**/.env*\"]"), "", "read", ".env", "deny by a" },
    { DENY("file: [\"**/.env*\"]"), "", "write", "x/y/.env.local", "deny by a" },
    { DENY("file: [\"**/.env*\"]"), "", "edit", ".ENV", "deny by a" },
    { DENY("file: [\"**/.env*\"]"), "", "delete", "/other/.env", "deny by a" },
    { DENY("file: [\"**/.env*\"]"), "", "grep", ".env", "deny by a" },
    { DENY("file: [\"**/.env*\"]"), "", "read", "env", "none" },
    { DENY("file: [\"**/.env*\"]"), "", "read", NULL, "deny by a (unknown)" },
    { DENY("file: [\"**/.env*\"]"), "", "bash", "cat .env", "none" },                         /* commands are `shell` */
    { DENY("file.read: [x]"), "", "read", "x", "deny by a" },
    { DENY("file.read: [x]"), "", "write", "x", "none" },
    { DENY("file.write: [x]"), "", "write", "x", "deny by a" },
    { DENY("file.write: [x]"), "", "edit", "x", "deny by a" },
    { DENY("file.write: [x]"), "", "delete", "x", "deny by a" },
    { DENY("file.write: [x]"), "", "read", "x", "none" },
    { DENY("file.edit: [x]"), "", "edit", "x", "deny by a" },
    { DENY("file.edit: [x]"), "", "write", "x", "none" },
    { DENY("file.delete: [x]"), "", "delete", "x", "deny by a" },
    { DENY("file.delete: [x]"), "", "edit", "x", "none" },
    { DENY("file: [x], kind: file.write"), "", "write", "x", "deny by a" },
    { DENY("file: [x], kind: file.write"), "", "edit", "x", "none" },
    /* spellings */
    { DENY("file: [\"secrets/**\"]"), "", "read", "secrets/key", "deny by a" },
    { DENY("file: [\"secrets/**\"]"), "", "read", "docs/../secrets/key", "deny by a" },
    { DENY("file: [\"secrets/**\"]"), "", "read", "./secrets//./key", "deny by a" },
    { DENY("file: [\"secrets/**\"]"), "", "read", "docs/link/key", "deny by a" },
    { DENY("file: [\"secrets/**\"]"), "", "write", "docs/link/made", "deny by a" },
    { DENY("file: [\"secrets/**\"]"), "", "write", "docs/new", "deny by a" },
    { DENY("file: [\"secrets/**\"]"), "", "delete", "secrets", "deny by a" },
    { DENY("file: [\"secrets/**\"]"), "", "delete", "secrets/", "deny by a" },
    { DENY("file: [\"secrets/\"]"), "", "read", "secrets/a/b", "deny by a" },
    { DENY("file: [\"secrets/\"]"), "", "listdir", "secrets", "deny by a" },
    { DENY("file: [\"docs/link\"]"), "", "read", "docs/link", "deny by a" },                  /* as written, too */
    { DENY("file: [\"secrets/**\"]"), "", "read", "secrets2/key", "none" },
    { DENY("file: [\"/etc/**\"]"), "", "read", "/etc/passwd", "deny by a" },
    { DENY("file: [\"/etc/**\"]"), "", "read", "etc/passwd", "none" },
    { DENY("file: [\"etc/**\"]"), "", "read", "/etc/passwd", "none" },
    { DENY("file: [\"~/.ssh/**\"]"), "", "read", "/home/me/.ssh/id", "deny by a" },
    { DENY("file: [\"~/.ssh/**\"]"), "", "read", "~/.ssh/id", "deny by a" },
    { DENY("file: [\"{a,b}/*.c\"]"), "", "read", "b/x.c", "deny by a" },
    /* allow needs every spelling, and the case as written */
    { ONLY("a", "file.write: [\"docs/**\"]"), "", "write", "docs/a.md", "allow by a" },
    { ONLY("a", "file.write: [\"docs/**\"]"), "", "write", "Docs/a.md", "deny by a (otherwise)" },
    { ONLY("a", "file.write: [\"docs/**\"]"), "", "write", "docs/link/x", "deny by a (otherwise)" },
    { ONLY("a", "file.write: [\"docs/**\"]"), "", "write", "docs/new", "deny by a (otherwise)" },
    { ONLY("a", "file.write: [\"docs/**\"]"), "", "write", "docs/../x", "deny by a (otherwise)" },
    { ONLY("a", "file.write: [\"docs/**\"]"), "", "edit", "src/x", "deny by a (otherwise)" },
    { ONLY("a", "file.write: [\"docs/**\"]"), "", "delete", "docs", "deny by a (otherwise)" },
    { ONLY("a", "file.write: [\"docs/**\"]"), "", "write", NULL, "deny by a (otherwise)" },
    { ONLY("a", "file.write: [\"docs/**\"]"), "", "read", "src/x", "none" },
    { ONLY("a", "file.write: [\"**/x\"]"), "", "write", "/other/x", "deny by a (otherwise)" },
    { ONLY("a", "file.read: [\"docs/**\"]"), "", "grep", "docs", "allow by a" },
    { ONLY("a", "file.read: [\"docs/*.md\"]"), "", "grep", "docs", "deny by a (otherwise)" },
    { ONLY("a", "file.read: [\"docs/**\"]"), "", "grep", ".", "deny by a (otherwise)" },
    { ONLY("a", "file.write: [\"docs/**\"]") ONLY("b", "file.write: [\"tests/**\"]"), "", "write", "tests/x", "allow by b" },
};

/* ---- tools, kinds, vendors, addresses ---- */

static const Case other_cases[] = {
    { ASK("a", "tool: \"mcp:deploy:*\""), "", "mcp:deploy:now", "", "ask by a" },
    { ASK("a", "tool: \"mcp:deploy:*\""), "", "mcp:other:now", "", "none" },
    { DENY("tool: [read, \"wri?e\"]"), "", "write", "x", "deny by a" },
    { DENY("tool: \"*\""), "", "anything", "", "deny by a" },
    { DENY("kind: [mcp, agent]"), "", "delegate", "", "deny by a" },
    { DENY("kind: [mcp, agent]"), "", "read", "x", "none" },
    { ONLY("a", "tool: \"mcp:docs:*\""), "", "mcp:docs:find", "", "allow by a" },
    { ONLY("a", "tool: \"mcp:docs:*\""), "", "mcp:shop:buy", "", "deny by a (otherwise)" },
    { ONLY("a", "tool: \"mcp:docs:*\""), "", "read", "x", "none" },
    { DENY("vendor: [cursor], tool: read"), "cursor", "read", "x", "deny by a" },
    { DENY("vendor: [cursor], tool: read"), "claude", "read", "x", "none" },
    { DENY("vendor: [cursor], tool: read"), "", "read", "x", "none" },
    { DENY("vendor: [harness, codex], tool: read"), "", "read", "x", "deny by a" },
    { DENY("vendor: [cursor]"), "cursor", "anything", "", "deny by a" },
    { ONLY("a", "vendor: [cursor], file.write: [\"docs/**\"]"), "cursor", "write", "src/x", "deny by a (otherwise)" },
    { ONLY("a", "vendor: [cursor], file.write: [\"docs/**\"]"), "claude", "write", "src/x", "none" },
    { DENY("host: [example.com, \"*.bad.org\"]"), "", "fetch", "https://example.com/x", "deny by a" },
    { DENY("host: [example.com]"), "", "fetch", "HTTPS://EXAMPLE.com.:8443/", "deny by a" },
    { DENY("host: [example.com]"), "", "fetch", "https://user@good.org@example.com/", "deny by a" },
    { DENY("host: [example.com]"), "", "fetch", "https://example.com@good.org/", "none" },
    { DENY("host: [\"*.bad.org\"]"), "", "fetch", "https://a.bad.org/", "deny by a" },
    { DENY("host: [\"*.bad.org\"]"), "", "fetch", "https://bad.org/", "none" },
    { DENY("host: [example.com]"), "", "fetch", "example.com", "deny by a (unknown)" },
    { DENY("host: [example.com]"), "", "fetch", NULL, "deny by a (unknown)" },
    { ONLY("a", "host: [example.com]"), "", "fetch", "https://example.com/", "allow by a" },
    { ONLY("a", "host: [example.com]"), "", "fetch", "https://other.org/", "deny by a (otherwise)" },
    { ONLY("a", "host: [example.com]"), "", "fetch", "example.com", "deny by a (otherwise)" },
    { DENY("url: [\"https://example.com/private/*\"]"), "", "fetch", "https://example.com/private/x", "deny by a" },
    { DENY("url: [\"https://example.com/private/*\"]"), "", "fetch", "https://example.com/public", "none" },
};

#define TEST(name) static void test_##name(void **state) { (void)state; run(name##_cases, sizeof name##_cases / sizeof *name##_cases); }
TEST(deny)
TEST(allow)
TEST(path)
TEST(other)

/* A row of an artifact source may deny; its allow does not answer the project's question. */
static void test_pulled(void **state) {
    (void)state;
    char *dir = archive_folder();
    Project *p = load(ASK("a", "shell: [git]") ALLOW("b", "shell: [git, status]"), dir);
    Arena arena = { 0 };
    RulesCall call = { .tool = STR("bash"), .kind = CALL_SHELL, .command = STR("git status"), .root = p->root };
    p->rules.at[1].pulled = true;
    assert_int_equal(rules_judge(&p->rules, &call, &arena).verdict, RULE_ASK);
    p->rules.at[0].pulled = true;
    assert_int_equal(rules_judge(&p->rules, &call, &arena).verdict, RULE_ALLOW);
    arena_clear(&arena);
    project_free(p);
    archive_remove(dir);
}

/* A path of many missing parts, a path that is too long, and links in a circle. */
static void test_odd_paths(void **state) {
    (void)state;
    char *dir = archive_folder(), *link = NULL;
    Project *p = load(DENY("file: [\"secrets/**\"]") "  - { name: b, file: [\"**/round\"], decide: deny }\n", dir);
    assert_true(asprintf(&link, "%s/round", dir) > 0);
    assert_int_equal(symlink("round", link), 0);
    Buf deep = { 0 }, longer = { 0 };
    buf_add(&deep, STR("secrets"));
    for (size_t i = 0; i < 1900; i++) buf_add(&deep, STR("/a"));
    buf_add(&longer, STR("secrets"));
    for (size_t i = 0; i < 20000; i++) buf_add(&longer, STR("/a"));
    const struct { Str path; RuleVerdict verdict; } cases[] = {
        { buf_str(&deep), RULE_DENY }, { buf_str(&longer), RULE_DENY }, { STR("round"), RULE_DENY }, { STR("round/x"), RULE_NONE }, { STR(""), RULE_NONE },
        { STR("/"), RULE_NONE }, { STR("//"), RULE_NONE }, { STR("/../../.."), RULE_NONE }, { STR("x/../../../../../../../../.."), RULE_NONE },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Arena arena = { 0 };
        RulesPath path = { cases[i].path, RULES_WRITES };
        RulesCall call = { .tool = STR("write"), .kind = CALL_FILE_WRITE, .root = p->root, .paths = &path, .n_paths = 1 };
        assert_int_equal(rules_judge(&p->rules, &call, &arena).verdict, cases[i].verdict);
        arena_clear(&arena);
    }
    buf_clear(&deep);
    buf_clear(&longer);
    free(link);
    project_free(p);
    archive_remove(dir);
}

static void test_stronger(void **state) {
    (void)state;
    RuleDef a = { .name = STR("a") }, b = { .name = STR("b") };
    RulesVerdict ask = { .verdict = RULE_ASK, .rule = &a }, deny = { .verdict = RULE_DENY, .rule = &b }, none = { 0 };
    RulesVerdict also = { .verdict = RULE_ASK, .rule = &b };
    assert_ptr_equal(rules_stronger(ask, deny).rule, &b);
    assert_ptr_equal(rules_stronger(deny, ask).rule, &b);
    assert_ptr_equal(rules_stronger(ask, also).rule, &a);
    assert_ptr_equal(rules_stronger(none, ask).rule, &a);
}

static void test_explain(void **state) {
    (void)state;
    RuleDef r = { .name = STR("no-push"), .file = STR("harness.md"), .line = 7, .because = STR("history is shared") };
    RulesVerdict v = { .verdict = RULE_DENY, .rule = &r, .unknown = "a word of git is unknown before it runs" };
    Buf text = { 0 };
    rules_explain(&v, &text);
    assert_string_equal(text.at, "rule \"no-push\" (harness.md:7): history is shared (a word of git is unknown before it runs)");
    buf_clear(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_deny), cmocka_unit_test(test_allow), cmocka_unit_test(test_path), cmocka_unit_test(test_other),
                                        cmocka_unit_test(test_pulled),
                                        cmocka_unit_test(test_odd_paths), cmocka_unit_test(test_stronger), cmocka_unit_test(test_explain) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
