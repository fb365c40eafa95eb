#include "artifact/trial.h"
#include <sys/wait.h>
#include "artifact/git.h"
#include "artifact/source.h"
#include "base/digest.h"

#define COUNT(table) (sizeof(table) / sizeof *(table))

/* ---- rules ---- */

static void knows_pins(void **state) {
    (void)state;
    assert_true(git_pin_is_commit(STR("0123456789abcdef0123456789ABCDEF01234567")));
    assert_false(git_pin_is_commit(STR("0123456789abcdef0123456789abcdef0123456")));
    assert_false(git_pin_is_commit(STR("g123456789abcdef0123456789abcdef01234567")));
    static const char *const good[] = { "v1", "1.2.3", "release/2024-01", "v1.0+build", "a@b" };
    static const char *const bad[] = { "", "-x", "a b", "a..b", "a//b", "/a", "a/", "a.", "a.lock", "a:b", "a*", "a?", "a^", "a~1", "a[", "a@{1}", "+a" };
    for (size_t i = 0; i < COUNT(good); i++) assert_true(source_tag_ok(str_from(good[i])));
    for (size_t i = 0; i < COUNT(bad); i++) assert_false(source_tag_ok(str_from(bad[i])));
    assert_true(source_checksum_ok(STR("sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef")));
    assert_false(source_checksum_ok(STR("sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde")));
    assert_false(source_checksum_ok(STR("sha1:00123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0")));
    assert_false(source_checksum_ok(STR("sha256:0123456789ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef")));
}

static void knows_urls(void **state) {
    (void)state;
    static const char *const good[] = {
        "https://github.com/acme/tools", "http://localhost:8080/x.git", "ssh://git@host/x", "git@github.com:acme/tools.git", "file:///srv/git/x", "/srv/git/x",
        "ssh://host/x", "ssh://git@host:22/x", "ssh://git@host/~ada/x", "git@host:~ada/x.git", "a.b-c@my_host.example:x", "git://host/x",
            "https://[2001:db8:0:1:2:3:4:5]/x",
        "https://[2001:db8:0:1:2:3:4:5]:8443/x", "https://host/a@b", "https://host/a:b", "https://host/x@v1.git", "git@host:a@b",
            "/srv/c#/x?", "file:///srv/c#/x",
        "https://1.2.3.4/x", "https://xn--bcher-kva.example/x",
    };
    static const char *const bad[] = {
        "", "tools", "../x", "ftp://x/y", "ext::sh -c id", "https://a/b c", "https://a/../b", "https://a/./b", "https://a/%2e%2e/b",
            "https://a\\b", "file:///a\nb",
        "--upload-pack=x", "a:b",
        /* another host than it seems */
        "http://evil.example?@github.com/acme/x", "http://evil.example#@github.com/acme/x", "https://evil.example?github.com/acme/x",
            "https://evil.example#/acme/x",
        "https://github.com@evil.example/acme/x", "https://github.com:x@evil.example/acme/x", "https://user@github.com/acme/x",
            "https://user:pass@github.com/acme/x",
        "https://@github.com/acme/x", "git://github.com@evil.example/x", "ssh://a@b@github.com/x", "ssh://evil?@github.com/x", "ssh://evil#@github.com/x",
        "ssh://git:pass@github.com/x", "ssh://@github.com/x", "ssh://-oProxyCommand=id@host/x", "ssh://-oX/x", "ssh://git@-oX/x", "ssh://git@host:x/y",
        "git@evil?@github.com:x", "git@evil#@github.com:x", "a@b@github.com:x", "@github.com:x", "-oX@host:x", "git@-oX:x", "git@[host]:x",
            "git@:x", "git@host:",
        "git@host:../x", "git@host:x?y", "https://github.com/acme/x?y", "https://github.com/acme/x#y", "https:///github.com/acme/x",
            "https://", "https://host", "https://host/",
        "https://host:/x", "https://host:port/x", "https://host:80:80/x", "https://host:123456/x", "https://a;b/x", "https://a&b/x",
            "https://a,b/x", "https://a*b/x",
        "https://evil.example\xef\xbc\x8f.github.com/acme/x", "https://g\xc3\xaethub.com/acme/x", "https://[::1/x", "https://::1/x",
            "https://[x]/y", "file://host/x",
        "file://?/x", "file://", "HTTPS://github.com/acme/x", "//github.com/../x", "https:github.com/acme/x", "https:/github.com/acme/x",
            "ext::ssh://git@host/x",
    };
    const char *why;
    for (size_t i = 0; i < COUNT(good); i++)
        if (!source_url_ok(str_from(good[i]), &why)) fail_msg("%s: %s", good[i], why);
    for (size_t i = 0; i < COUNT(bad); i++)
        if (source_url_ok(str_from(bad[i]), &why)) fail_msg("%s was taken", bad[i]);
}

static void trusts_whole_segments(void **state) {
    (void)state;
    static const struct { const char *entry, *where; bool local, trusted; } cases[] = {
        { "github.com/acme", "https://github.com/acme/tools", false, true },
        { "github.com/acme/", "https://github.com/acme/tools.git", false, true },
        { "github.com/acme/tools", "https://github.com/acme/tools.git", false, true },
        { "github.com/acme", "https://github.com/acme-evil/tools", false, false },
        { "github.com/acme", "https://github.com.evil.org/acme/tools", false, false },
        { "github.com", "https://github.com@evil.org/acme", false, false },
        { "github.com", "https://user:pass@GitHub.com/acme", false, true },
        { "github.com/acme", "http://evil.example?@github.com/acme/x", false, false },
        { "github.com/acme", "http://evil.example#@github.com/acme/x", false, false },
        { "github.com/acme", "ssh://evil.example?@github.com/acme/x", false, false },
        { "evil.example", "http://evil.example?@github.com/acme/x", false, false },
        { "https://github.com/acme", "https://github.com/acme/tools", false, true },
        { "https://github.com/acme", "http://github.com/acme/tools", false, false },
        { "https://github.com/acme", "git@github.com:acme/tools.git", false, false },
        { "github.com/acme", "git@github.com:acme/tools.git", false, true },
        { "git@github.com:acme", "git@github.com:acme/tools.git", false, true },
        { "github.com/acme", "ssh://git@github.com/acme/x", false, true },
        { "localhost:1", "http://localhost:12/x", false, false },
        { "file:///srv/git", "file:///srv/git/x", false, true },
        { "/srv/git", "file:///srv/git/x", false, true },
        { "/srv/git", "file:///srv/git2/x", false, false },
        { "", "https://github.com/acme", false, false },
        { "/srv/tools", "/srv/tools", true, true },
        { "/srv/tools/", "/srv/tools/a", true, true },
        { "/srv/tools", "/srv/tools2", true, false },
        { "/", "/srv", true, true },
        { "vendor", "/root/vendor/a", true, true },
        { "../shared", "/shared/a", true, true },
        { "./vendor", "/root/vendor2", true, false },
        { "file:///srv", "/srv/a", true, true },
    };
    Arena arena = { 0 };
    for (size_t i = 0; i < COUNT(cases); i++) {
        Str entry = str_from(cases[i].entry);
        bool got = source_is_trusted(&arena, str_from(cases[i].where), cases[i].local, &(StrList){ &entry, 1 }, STR("/root"));
        if (got != cases[i].trusted) fail_msg("%s and %s: %d", cases[i].entry, cases[i].where, got);
    }
    assert_false(source_is_trusted(&arena, STR("https://a/b"), false, &(StrList){ NULL, 0 }, STR("/root")));
    assert_str(source_absolute(&arena, STR("/a/b"), STR("../../../c/./d//e/..")), "/c/d");
    assert_str(source_absolute(&arena, STR("/a"), STR("..")), "/");
    arena_clear(&arena);
}

/* ---- checksums ---- */

static void digest_text(Str text, Buf *out) {
    uint8_t sum[DIGEST_SHA256_BYTES];
    assert_true(digest_sha256(text, sum, NULL));
    buf_add(out, STR("sha256:"));
    digest_hex(sum, sizeof sum, out);
}

static int open_folder(Trial *t, const char *path) {
    int fd = open(trial_path(t, path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(fd >= 0);
    return fd;
}

static void sums_paths_sizes_and_contents(void **state) {
    (void)state;
    Trial t;
    Buf want = { 0 }, got = { 0 };
    Error err = { 0 };
    trial_open(&t);
    trial_put(&t, "s/b.md", STR("two\n"));
    trial_put(&t, "s/a/z.md", STR("one"));
    trial_put(&t, "s/a.md", STR(""));
    trial_put(&t, "s/.hidden", STR("x"));
    trial_put(&t, "s/.git/config", STR("not part of it"));
    int fd = open_folder(&t, "s");
    digest_text(STR(".hidden\0" "1\0x" "a.md\0" "0\0" "a/z.md\0" "3\0one" "b.md\0" "4\0two\n"), &want);      /* '.' sorts before '/' */
    assert_true(source_checksum(fd, &got, &err));
    assert_str(buf_str(&got), want.at);
    assert_true(source_verify(fd, buf_str(&want), &err));
    assert_true(source_verify(fd, STR(""), &err));
    trial_put(&t, "s/b.md", STR("tvo\n"));
    assert_false(source_verify(fd, buf_str(&want), &err));
    assert_non_null(strstr(err.msg, "checksum is sha256:"));
    assert_int_equal(symlink("b.md", trial_path(&t, "s/link")), 0);
    assert_false(source_verify(fd, buf_str(&want), &err));
    assert_string_equal(err.msg, "link is a link, which a checksum cannot pin");
    assert_int_equal(unlink(trial_path(&t, "s/link")), 0);
    assert_int_equal(mkfifo(trial_path(&t, "s/pipe"), 0600), 0);
    assert_false(source_verify(fd, buf_str(&want), &err));
    assert_string_equal(err.msg, "pipe is not a regular file, which a checksum cannot pin");
    close(fd);
    buf_clear(&want);
    buf_clear(&got);
    trial_close(&t);
}

/* ---- artifact_sources in the settings ---- */

#define HEX "0123456789abcdef0123456789abcdef01234567"
#define SUM "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define LIST "artifact_sources:\n"
#define AT "harness.yaml"
static const struct { const char *yaml, *expected; } cases[] = {
    { LIST "  - {type: git, url: \"https://h/x\", ref: " HEX "}\n", "" },
    { LIST "  - {type: git, url: \"https://h/x\", ref: v1, checksum: \"" SUM "\", path: sub/dir}\n", "" },
    { LIST "  - {type: local, path: ../shared}\n", "" },
    { "artifact_sources: {}\n", AT ":1:1: artifact_sources: expected list, got map\n" },
    { LIST "  - git\n", AT ":2:5: artifact_sources[0]: expected map, got string\n" },
    { LIST "  - {}\n", AT ":2:5: artifact_sources[0].type is required\n" },
    { LIST "  - {type: svn}\n", AT ":2:6: artifact_sources[0].type: expected git or local, got \"svn\"\n" },
    { LIST "  - {type: 1}\n", AT ":2:6: artifact_sources[0].type: expected string, got int\n" },
    { LIST "  - type: git\n", AT ":2:5: artifact_sources[0].url is required\n" AT ":2:5: artifact_sources[0].ref is required\n" },
    { LIST "  - type: git\n    url: x\n    ref: " HEX "\n", AT ":3:5: artifact_sources[0].url: must be an https, ssh or file URL\n" },
    { LIST "  - type: git\n    url: https://h/x\n    ref: v1\n",
      AT ":4:5: artifact_sources[0].ref \"v1\" is not pinned: it must be a 40-hex commit, or a tag together with checksum\n" },
    { LIST "  - type: git\n    url: https://h/x\n    ref: main*\n    checksum: " SUM "\n",
      AT ":4:5: artifact_sources[0].ref \"main*\" is not pinned: it must be a 40-hex commit, or a tag together with checksum\n" },
    { LIST "  - type: git\n    url: https://h/x\n    ref: 1\n    checksum: 5\n",
      AT ":4:5: artifact_sources[0].ref: expected string, got int\n"
      AT ":5:5: artifact_sources[0].checksum: expected string, got int\n" },
    { LIST "  - type: git\n    url: https://h/x\n    ref: v1\n    checksum: sha256:12\n",
      AT ":5:5: artifact_sources[0].checksum: must be sha256: and 64 lower-case hex digits\n" },
    { LIST "  - type: git\n    url: https://h/x\n    ref: " HEX "\n    path: ../x\n",
        AT ":5:5: artifact_sources[0].path: must be a folder inside the repository\n" },
    { LIST "  - type: git\n    url: https://h/x\n    ref: " HEX "\n    path: /x\n",
        AT ":5:5: artifact_sources[0].path: must be a folder inside the repository\n" },
    { LIST "  - type: local\n", AT ":2:5: artifact_sources[0].path is required\n" },
    { LIST "  - type: local\n    path: \"a\\0b\"\n", AT ":3:5: artifact_sources[0].path: must not contain NUL\n" },
    { LIST "  - type: local\n    path: x\n    branch: main\n", "" AT ":4:5: artifact_sources[0]: unknown key \"branch\"\n" },
};

static void load_list(Trial *t, const char *yaml) {
    trial_forget(t);
    const Document *d = trial_settings(t, yaml);
    load_source(&t->l, d, *dict_find_str(value_dict(d->root), STR("artifact_sources")));
}

static void checks_the_list(void **state) {
    (void)state;
    Trial t;
    trial_open(&t);
    t.in.sources_only = true;
    for (size_t i = 0; i < COUNT(cases); i++) {
        load_list(&t, cases[i].yaml);
        trial_compare(&t, cases[i].expected, cases[i].yaml, __FILE__, __LINE__);
    }
    Str trusted[] = { STR("https://h/good"), STR("vendor") };
    t.project.settings.trusted_sources = (StrList){ trusted, 2 };
    load_list(&t, LIST "  - {type: git, url: \"https://h/good/x\", ref: " HEX "}\n  - {type: git, url: \"https://h/goodness\", ref: " HEX "}\n"
                       "  - {type: local, path: vendor/a}\n  - {type: local, path: other}\n");
    trial_expect(&t, AT ":3:17: artifact_sources[1]: \"https://h/goodness\" is not in trusted_sources\n"
                     AT ":5:19: artifact_sources[3]: \"other\" is not in trusted_sources\n");
    assert_int_equal(t.l.sources.n, 2);
    t.project.settings.trusted_sources.n = 0;              /* an empty list trusts nothing */
    load_list(&t, LIST "  - {type: local, path: vendor/a}\n");
    assert_int_equal(t.problems.errors, 1);
    trial_close(&t);
}

/* ---- whole projects, with real repositories ---- */

static void run(Trial *t, const char *script) {
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (chdir(t->dir) != 0) _exit(126);
        setenv("GIT_CONFIG_GLOBAL", "/dev/null", 1);
        setenv("GIT_CONFIG_SYSTEM", "/dev/null", 1);
        setenv("GIT_AUTHOR_NAME", "a", 1);
        setenv("GIT_AUTHOR_EMAIL", "a@example.com", 1);
        setenv("GIT_COMMITTER_NAME", "a", 1);
        setenv("GIT_COMMITTER_EMAIL", "a@example.com", 1);
        execl("/bin/sh", "sh", "-ec", script, (char *)NULL);
        _exit(127);
    }
    int status;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) fail_msg("%s: status %d", script, status);
}

static const char *read_line(Trial *t, const char *path) {
    static char line[200];
    FILE *f = fopen(trial_path(t, path), "r");
    assert_non_null(f);
    assert_non_null(fgets(line, sizeof line, f));
    fclose(f);
    line[strcspn(line, "\n")] = 0;
    return line;
}

#define TOOL "---\nscript: |\n  def run(args):\n      return 1\n---\nSays hello.\n"

/* A repository with a tool, a hook that would fail open, settings and overrides that must be ignored, a link and a
 * submodule. */
static void make_repository(Trial *t) {
    trial_put(t, "repo/tools/hello.md", STR(TOOL));
    trial_put(t, "repo/hooks/guard.md", STR("---\nevent: tool.pre\non_error: allow\nscript: |\n  def handle(event, payload):\n      return allow()\n---\n"));
    trial_put(t, "repo/overrides/o.md", STR("---\ntools:\n  - name: hello\n    script: |\n      def run(args):\n          return 2\n---\n"));
    trial_put(t, "repo/harness.md", STR("---\nsandbox:\n  mode: off\n---\nEvil prompt\n"));
    trial_put(t, "repo/sub/tools/deep.md", STR(TOOL));
    trial_put(t, "repo/run.sh", STR("#!/bin/sh\n"));
    run(t, "cd repo; chmod +x run.sh; ln -s /etc/passwd tools/evil.md; git init -q -b main .; git add -A;"
           "git update-index --add --cacheinfo 160000,0123456789012345678901234567890123456789,tools/module;"
           "git commit -qm one; git tag v1; git tag -a -m two v2; git rev-parse HEAD > ../commit; echo x > tools/later.md; git add tools/later.md; git commit -qm two");
}

static SourceDef git_source(Trial *t, const char *ref, const char *checksum, const char *path) {
    return (SourceDef){ .type = STR("git"), .url = str_from(arena_fmt(&t->arena, "file://%s/repo", t->dir)), .ref = arena_str(&t->arena, str_from(ref)),
                        .checksum = str_from(checksum), .path = str_from(path) };
}

static void pulls_commits_and_tags(void **state) {
    (void)state;
    Trial t;
    SourcePull out;
    Error err = { 0 };
    Buf sum = { 0 };
    struct stat st;
    trial_open(&t);
    make_repository(&t);
    Str top = str_from(trial_path(&t, "state"));
    const char *commit = arena_fmt(&t.arena, "%s", read_line(&t, "commit"));
    SourceDef s = git_source(&t, commit, "", "");

    assert_false(source_pull(top, STR("/"), &s, true, &out, &err));
    assert_non_null(strstr(err.msg, "is not in the cache, and HARNESS_OFFLINE is set"));
    assert_int_equal(stat(top.at, &st), -1);                     /* and nothing was created */

    if (!source_pull(top, STR("/"), &s, false, &out, &err)) fail_msg("%s", err.msg);
    assert_int_equal(out.kind, SOURCE_PULL_FETCHED);
    assert_string_equal(out.commit, commit);
    assert_int_equal(out.files, 6);
    assert_int_equal(out.links, 1);
    assert_int_equal(out.submodules, 1);
    Str dir = source_cache_dir(&t.arena, top, &s), shown;
    assert_int_equal(stat(dir.at, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    assert_int_equal(stat(arena_fmt(&t.arena, "%s/tree/run.sh", dir.at), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    assert_int_equal(stat(arena_fmt(&t.arena, "%s/tree/tools/hello.md", dir.at), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(lstat(arena_fmt(&t.arena, "%s/tree/tools/evil.md", dir.at), &st), -1);
    assert_int_equal(lstat(arena_fmt(&t.arena, "%s/tree/tools/later.md", dir.at), &st), -1);
    assert_int_equal(lstat(arena_fmt(&t.arena, "%s/tree/tools/module", dir.at), &st), -1);

    assert_true(source_pull(top, STR("/"), &s, true, &out, &err));            /* pinned and cached: works offline */
    assert_int_equal(out.kind, SOURCE_PULL_CURRENT);
    assert_string_equal(out.commit, commit);
    assert_int_equal(out.files, 6);

    int fd = source_open(&t.arena, top, STR("/"), &s, &shown, &err);
    assert_true(fd >= 0 && source_checksum(fd, &sum, &err));
    close(fd);
    for (int i = 1; i <= 2; i++) {                                            /* a lightweight tag and an annotated one */
        SourceDef tag = git_source(&t, i == 1 ? "v1" : "v2", sum.at, "");
        if (!source_pull(top, STR("/"), &tag, false, &out, &err)) fail_msg("%s", err.msg);
        assert_string_equal(out.commit, commit);
    }
    SourceDef sub = git_source(&t, commit, "", "sub");
    assert_true(source_pull(top, STR("/"), &sub, false, &out, &err));
    assert_int_equal(out.files, 1);
    SourceDef upper = git_source(&t, commit, "", "");
    char *text = arena_fmt(&t.arena, "%s", commit);
    for (char *c = text; *c; c++) *c = (char)(*c >= 'a' ? *c - 32 : *c);
    upper.ref = str_from(text);
    assert_true(source_pull(top, STR("/"), &upper, false, &out, &err));
    assert_string_equal(out.commit, commit);
    buf_clear(&sum);
    trial_close(&t);
}

static void refuses_what_is_not_pinned_there(void **state) {
    (void)state;
    Trial t;
    SourcePull out;
    Error err = { 0 };
    trial_open(&t);
    make_repository(&t);
    Str top = str_from(trial_path(&t, "state"));
    const char *commit = arena_fmt(&t.arena, "%s", read_line(&t, "commit"));
    SourceDef cases_[] = { git_source(&t, HEX, "", ""), git_source(&t, "v9", SUM, ""), git_source(&t, "v1", SUM, ""), git_source(&t, commit, "", "nowhere"),
                           git_source(&t, commit, "", "tools/hello.md"), git_source(&t, "main", SUM, "") };
    static const char *const texts[] = { "no branch or tag of ", "git fetch: ", "checksum is sha256:", "the commit has no folder \"nowhere\"",
                                         "the commit has no folder \"tools/hello.md\"", "git fetch: " };
    for (size_t i = 0; i < COUNT(cases_); i++) {
        err = (Error){ 0 };
        assert_false(source_pull(top, STR("/"), &cases_[i], false, &out, &err));
        bool found = strstr(err.msg, texts[i]) || (texts[i][4] == 'f' && strstr(err.msg, "has no tag"));
        if (!found) fail_msg("%zu: %s", i, err.msg);
        assert_int_equal(access(source_cache_dir(&t.arena, top, &cases_[i]).at, F_OK), -1);
    }
    SourceDef gone = git_source(&t, commit, "", "");
    gone.url = str_from(arena_fmt(&t.arena, "file://%s/no-repo", t.dir));
    assert_false(source_pull(top, STR("/"), &gone, false, &out, &err));
    run(&t, "test $(ls state/sources | grep -c new-) = 0");                   /* no partial folders are left */
    trial_close(&t);
}

/* A moved tag gives other files, which the checksum detects; the pulled version stays usable. */
static void notices_a_moved_tag_and_a_damaged_cache(void **state) {
    (void)state;
    Trial t;
    SourcePull out;
    Error err = { 0 };
    Buf sum = { 0 };
    Str shown;
    trial_open(&t);
    make_repository(&t);
    Str top = str_from(trial_path(&t, "state"));
    const char *commit = arena_fmt(&t.arena, "%s", read_line(&t, "commit"));
    SourceDef s = git_source(&t, commit, "", "");
    assert_true(source_pull(top, STR("/"), &s, false, &out, &err));
    int fd = source_open(&t.arena, top, STR("/"), &s, &shown, &err);
    assert_true(source_checksum(fd, &sum, &err));
    close(fd);
    SourceDef tag = git_source(&t, "v1", sum.at, "");
    assert_true(source_pull(top, STR("/"), &tag, false, &out, &err));
    const char *file = arena_fmt(&t.arena, "%s/tree/tools/hello.md", source_cache_dir(&t.arena, top, &tag).at);
    FILE *f = fopen(file, "a");
    fputs("tampered", f);
    fclose(f);
    assert_false(source_pull(top, STR("/"), &tag, true, &out, &err));          /* damaged: not current */
    assert_true(source_pull(top, STR("/"), &tag, false, &out, &err));          /* and repaired */
    assert_int_equal(out.kind, SOURCE_PULL_FETCHED);
    run(&t, "cd repo; git tag -f v1 HEAD >/dev/null");
    assert_true(source_pull(top, STR("/"), &tag, false, &out, &err));
    assert_int_equal(out.kind, SOURCE_PULL_CURRENT);
    run(&t, "rm -rf state/sources/repo-*");
    assert_false(source_pull(top, STR("/"), &tag, false, &out, &err));
    assert_non_null(strstr(err.msg, "checksum is sha256:"));
    buf_clear(&sum);
    trial_close(&t);
}

static bool has_tool(const Project *p, const char *name) { return p && project_tool(p, str_from(name)) != NULL; }

static void load_project(Trial *t, const char *settings, Project **out) {
    problems_clear(&t->problems);
    trial_put(t, "proj/harness.md", str_from(arena_fmt(&t->arena, "---\n%s---\n", settings)));
    project_load(&(ProjectInput){ .dir = trial_path(t, "proj"), .state_dir = trial_path(t, "state") }, out, &t->problems);
}

static void projects_load_sources(void **state) {
    (void)state;
    Trial t;
    SourcePull out;
    Error err = { 0 };
    Project *p;
    trial_open(&t);
    make_repository(&t);
    const char *commit = arena_fmt(&t.arena, "%s", read_line(&t, "commit"));
    const char *settings = arena_fmt(&t.arena, "artifact_sources:\n  - type: git\n    url: file://%s/repo\n    ref: %s\n", t.dir, commit);

    load_project(&t, settings, &p);
    assert_null(p);
    trial_expect(&t, arena_fmt(&t.arena, "harness.md:3:5: artifact_sources[0]: file://%s/repo is not pulled yet (run harness pull)\n", t.dir));

    SourceDef s = git_source(&t, commit, "", "");
    assert_true(source_pull(str_from(trial_path(&t, "state")), STR("/"), &s, false, &out, &err));
    load_project(&t, settings, &p);
    if (!p) fail_msg("%s", trial_problems(&t));
    assert_true(has_tool(p, "hello") && !has_tool(p, "evil") && !has_tool(p, "later"));
    assert_int_equal(p->n_hooks, 1);
    assert_false(p->hooks[0].allow_on_error);
    assert_true(value_is_gone(p->settings.sandbox));
    assert_int_equal(p->settings.prompt.n, 0);
    assert_int_equal(project_tool(p, STR("hello"))->origin.source, SOURCE_PULLED);
    const char *text = trial_problems(&t);
    assert_non_null(strstr(text, "on_error: allow is ignored in an artifact source"));
    assert_non_null(strstr(text, "overrides outside of the project's own .harness/ are ignored"));
    project_free(p);

    /* a local source, inside the project and outside */
    trial_put(&t, "proj/vendor/tools/inner.md", STR(TOOL));
    trial_put(&t, "shared/tools/outer.md", STR(TOOL));
    load_project(&t, "artifact_sources:\n  - {type: local, path: ./vendor}\n  - {type: local, path: ../shared}\n", &p);
    if (!p) fail_msg("%s", trial_problems(&t));
    assert_true(has_tool(p, "inner") && has_tool(p, "outer"));
    assert_str(project_tool(p, STR("inner"))->origin.file, "vendor/tools/inner.md");
    assert_str(project_tool(p, STR("outer"))->origin.file, "../shared/tools/outer.md");
    project_free(p);

    load_project(&t, "artifact_sources:\n  - {type: local, path: ../none}\n", &p);
    trial_expect(&t, "harness.md:3:5: artifact_sources[0]: open ../none: No such file or directory\n");
    load_project(&t, "artifact_sources:\n  - {type: local, path: ../shared, checksum: \"" SUM "\"}\n", &p);
    assert_null(p);
    assert_non_null(strstr(trial_problems(&t), "harness.md:3:5: artifact_sources[0]: checksum is sha256:"));

    /* a link out of a source is not followed */
    trial_put(&t, "secret.md", STR(TOOL));
    assert_int_equal(symlink("../../secret.md", trial_path(&t, "shared/tools/link.md")), 0);
    load_project(&t, "artifact_sources:\n  - {type: local, path: ../shared}\n", &p);
    assert_null(p);
    trial_expect(&t, "../shared/tools/link.md:1:1: parse tool link.md: it leads out of the project\n");
    trial_close(&t);
}

/* ---- fault injection ---- */

#ifdef HARNESS_FAULTS
#include <dirent.h>
#include "base/fault.h"

static int open_fds(void) {
    DIR *d = opendir("/proc/self/fd");
    int n = 0;
    while (readdir(d)) n++;
    closedir(d);
    return n;
}

static void fails_cleanly_at_every_step(void **state) {
    (void)state;
    Trial t;
    trial_open(&t);
    make_repository(&t);
    Str top = str_from(trial_path(&t, "state"));
    SourceDef s = git_source(&t, read_line(&t, "commit"), "", "");
    bool done = false;
    for (long nth = 1; !done; nth++) {
        SourcePull out;
        Error err = { 0 };
        int fds = open_fds();
        fault_arm(nth);
        bool ok = source_pull(top, STR("/"), &s, false, &out, &err);
        done = !fault_disarm();
        assert_true(done ? ok : ok || err.msg[0]);
        assert_int_equal(open_fds(), fds);
        run(&t, "test $(ls state/sources 2>/dev/null | grep -c new-) = 0; rm -rf state/sources/repo-*");
    }
    trial_close(&t);
}
#endif

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(knows_pins), cmocka_unit_test(knows_urls), cmocka_unit_test(trusts_whole_segments),
        cmocka_unit_test(sums_paths_sizes_and_contents), cmocka_unit_test(checks_the_list), cmocka_unit_test(pulls_commits_and_tags),
        cmocka_unit_test(refuses_what_is_not_pinned_there), cmocka_unit_test(notices_a_moved_tag_and_a_damaged_cache),
        cmocka_unit_test(projects_load_sources),
#ifdef HARNESS_FAULTS
        cmocka_unit_test(fails_cleanly_at_every_step),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
