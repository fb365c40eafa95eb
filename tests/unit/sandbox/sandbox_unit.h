/* A tree in a temporary folder: ws (the workspace), out (outside), ro and rw (roots); and a jail on it. */
#pragma once
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>
#include "sandbox/jail.h"
#include "unit.h"

static char tree_top[100];

static inline const char *tree_path(const char *name) {
    static _Thread_local char path[16][4096];
    static _Thread_local int next;
    char *p = path[next = (next + 1) % 16];
    snprintf(p, sizeof path[0], "%s/%s", tree_top, name);
    return p;
}

static inline void tree_mkdirs(const char *name) {
    char path[4096];
    snprintf(path, sizeof path, "%s", tree_path(name));
    for (char *c = path + strlen(tree_top) + 1; (c = strchr(c, '/')); c++) {
        *c = 0;
        assert_true(mkdir(path, 0755) == 0 || errno == EEXIST);
        *c = '/';
    }
}

static inline void tree_put(const char *name, const char *text) {
    tree_mkdirs(name);
    FILE *f = fopen(tree_path(name), "w");
    if (!f) fail_msg("%s: %s", tree_path(name), strerror(errno));
    fputs(text, f);
    fclose(f);
}

static inline void tree_link(const char *to, const char *name) {
    tree_mkdirs(name);
    assert_int_equal(symlink(to, tree_path(name)), 0);
}

/* The content of a file, read outside of the jail; NULL if it does not exist. */
static inline const char *tree_text(const char *name) {
    static char text[4096];
    FILE *f = fopen(tree_path(name), "r");
    if (!f) return NULL;
    text[fread(text, 1, sizeof text - 1, f)] = 0;
    fclose(f);
    return text;
}

static inline void tree_make(void) {
    umask(022);
    /* In memory if possible: hundreds of trees are created and synced. */
    snprintf(tree_top, sizeof tree_top, "%s/harness-jail-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    assert_non_null(mkdtemp(tree_top));
    static const char *const folders[] = { "ws/", "out/", "ro/", "rw/" };
    for (size_t i = 0; i < 4; i++) tree_mkdirs(folders[i]);
}

static inline int tree_unlink(const char *path, const struct stat *st, int kind, struct FTW *f) {
    (void)st, (void)kind, (void)f;
    return remove(path);
}

static inline void tree_remove(void) {
    nftw(tree_top, tree_unlink, 16, FTW_DEPTH | FTW_PHYS);
}

static inline Jail *tree_jail(bool read_only, Error *err) {
    Jail *j = NULL;
    const char *ro[] = { tree_path("ro"), NULL }, *rw[] = { tree_path("rw"), NULL };
    const char *protect[] = { tree_path("ws/.harness"), tree_path("ws/harness.yaml"), tree_path("ws/pkg/deep/harness.yaml"),
                              tree_path("ws/later/on/harness.yaml"), NULL };
    const char *hidden[] = { tree_path("ws/state"), NULL };
    JailInput in = { .workspace = tree_path("ws"), .read_roots = ro, .write_roots = rw, .protect = protect, .hidden = hidden,
                     .read_only = read_only };
    return jail_new(&in, &j, err) ? j : NULL;
}

/* Runs all tests as the current user and, if that is root, also as an ordinary user. */
#include <grp.h>
#include <sys/wait.h>
#define tree_run(tests) (tree_run_as_nobody(tests, sizeof tests / sizeof *tests) | cmocka_run_group_tests(tests, NULL, NULL))
static inline int tree_run_as_nobody(const struct CMUnitTest *tests, size_t n) {
    if (geteuid() != 0) return 0;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        if (setgroups(0, NULL) || setgid(65534) || setuid(65534)) _exit(99);
        int failed = _cmocka_run_group_tests("as an ordinary user", tests, n, NULL, NULL);
        exit(failed);
    }
    int status;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 98;
}

static inline int tree_open_fds(void) {
    int n = 0;
    for (int fd = 0; fd < 1024; fd++) n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

/* True if no temporary file is left in the folder. */
static inline bool tree_has_litter(const char *name) {
    char command[4200];
    snprintf(command, sizeof command, "find '%s' -name '.harness-*.tmp' | grep -q .", tree_path(name));
    return system(command) == 0;
}
