/* The searches of the tools grep and glob compared with ripgrep and fd, on a tree of 60,000 files. Every round is a new
 * process for both: this program with "grep PATTERN TYPE FOLDER" or "glob PATTERN FOLDER". */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/clock.h"
#include "report.h"
#include "tool/builtin/glob_files.h"
#include "tool/builtin/grep.h"

enum { FOLDERS = 3000, FILES = 20, ROUNDS = 15 };

extern char **environ;

/* ---- one search ---- */

static int fail(const char *what) { return fprintf(stderr, "bench_search: %s\n", what), 1; }

static int open_folder(const char *path) { return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC); }

static int run_grep(const char *pattern, const char *type, const char *folder) {
    Arena arena = { 0 };
    Error err = { 0 };
    GrepResult out;
    GrepInput in = { .root = open_folder(folder), .pattern = str_from(pattern), .type = str_from(type) };
    if (!grep_files(&in, NULL, &arena, &out, &err)) return fail(err.msg);
    for (size_t i = 0; i < out.n; i++)
        printf(STR_FMT ":%llu:" STR_FMT "\n", STR_ARG(out.matches[i].path), (unsigned long long)out.matches[i].line, STR_ARG(out.matches[i].text));
    return fflush(stdout);
}

static int run_glob(const char *pattern, const char *folder) {
    Arena arena = { 0 };
    Error err = { 0 };
    GlobFilesResult out;
    GlobFilesInput in = { .root = open_folder(folder), .pattern = str_from(pattern) };
    if (!glob_files(&in, NULL, &arena, &out, &err)) return fail(err.msg);
    for (size_t i = 0; i < out.n; i++) printf(STR_FMT "\n", STR_ARG(out.files[i].path));
    return fflush(stdout);
}

/* ---- test tree ---- */

static uint32_t next_random(uint32_t *state) { return *state = *state * 1664525u + 1013904223u, *state >> 8; }

static void write_file(const char *path, uint32_t *seed, size_t number) {
    static const char *const words[] = { "static", "const", "return", "value", "buffer", "if (", ") {", "};", "int", "char *", "length",
                                         "+=", "struct", "node", "->next", "error", "for (size_t i = 0;", "size_t", "/* comment */", "\n", "\n    " };
    FILE *f = fopen(path, "w");
    if (!f) exit(fail("cannot write the tree"));
    for (size_t n = 60 + next_random(seed) % 800; n > 0; n--)
        fprintf(f, "%s ", words[next_random(seed) % (sizeof words / sizeof *words)]);
    if (number % 97 == 0) fprintf(f, "\nint needle_in_haystack_%zu(void);\n", number);
    fputc('\n', f);
    fclose(f);
}

static void make_tree(const char *root) {
    static const char *const extensions[] = { "c", "h", "js", "py", "md", "txt", "o", "json" };
    uint32_t seed = 1;
    char path[512];
    snprintf(path, sizeof path, "%s/.gitignore", root);
    FILE *f = fopen(path, "w");
    if (!f) exit(fail("cannot write the tree"));
    fputs("*.o\n/build/\nnode_modules\n!keep.o\n*.tmp\ndoc/**/draft\n", f);
    fclose(f);
    snprintf(path, sizeof path, "%s/.git", root);
    mkdir(path, 0755);
    for (size_t d = 0; d < FOLDERS; d++) {
        int n = snprintf(path, sizeof path, "%s/m%zu", root, d % 20);
        mkdir(path, 0755);
        n += snprintf(path + n, sizeof path - (size_t)n, "/part%zu", d / 20 % 15);
        mkdir(path, 0755);
        n += snprintf(path + n, sizeof path - (size_t)n, "/sub%zu", d / 300);
        mkdir(path, 0755);
        for (size_t k = 0; k < FILES; k++) {
            snprintf(path + n, sizeof path - (size_t)n, "/file_%zu.%s", k, extensions[next_random(&seed) % 8]);
            write_file(path, &seed, d * FILES + k);
        }
    }
}

/* Eight executables of 1 GB in total: repeated copies of this program. */
static void add_executables(const char *root, const char *self) {
    static const size_t sizes[] = { 40, 60, 80, 100, 120, 140, 160, 320 };     /* MB */
    static char program[1 << 20];
    char path[512];
    FILE *f = fopen(self, "r");
    size_t n = f ? fread(program, 1, sizeof program, f) : 0;
    if (n == 0) exit(fail("cannot read itself"));
    fclose(f);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        snprintf(path, sizeof path, "%s/m%zu/program", root, i);
        f = fopen(path, "w");
        for (size_t done = 0; f && done < sizes[i] * 1000000; done += n)
            if (fwrite(program, 1, n, f) != n) exit(fail("cannot write the tree"));
        if (!f || fclose(f) != 0) exit(fail("cannot write the tree"));
    }
}

/* ---- measurement ---- */

typedef struct { double ms, mb; } Cost;

static bool is_there(const char *program) {
    char command[64];
    snprintf(command, sizeof command, "command -v %s >/dev/null", program);
    return system(command) == 0;
}

static Cost run_once(const char *const *argv, bool search) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    pid_t pid;
    int status = 0;
    int64_t start = clock_mono_ns();
    char *const *args = (char *const *)(uintptr_t)argv;
    if ((search ? posix_spawnp : posix_spawn)(&pid, argv[0], &actions, NULL, args, environ) != 0) exit(fail(argv[0]));
    struct rusage used;
    wait4(pid, &status, 0, &used);
    double ms = (double)(clock_mono_ns() - start) / 1e6;
    posix_spawn_file_actions_destroy(&actions);
    if (!WIFEXITED(status) || WEXITSTATUS(status) > 1) exit(fail(argv[0]));
    return (Cost){ ms, (double)used.ru_maxrss / 1024 };
}

/* Alternates, so that a load spike affects both. */
static void compare(const char *name, const char *memory, const char *const *ours, const char *const *peer) {
    Cost least_ours = { 1e9, 1e9 }, least_peer = { 1e9, 1e9 };
    bool both = is_there(peer[0]);
    for (int i = 0; i < ROUNDS; i++) {
        Cost a = run_once(ours, false), b = both ? run_once(peer, true) : (Cost){ 0, 0 };
        if (a.ms < least_ours.ms) least_ours.ms = a.ms;
        if (b.ms < least_peer.ms) least_peer.ms = b.ms;
        if (a.mb < least_ours.mb) least_ours.mb = a.mb;
        if (b.mb < least_peer.mb) least_peer.mb = b.mb;
    }
    report_line(name, least_ours.ms, least_peer.ms, "ms");
    if (memory) report_line(memory, least_ours.mb, least_peer.mb, "MB");
}

static void compare_all(const char *self, const char *dir) {
    static const struct { const char *name, *pattern; } patterns[] = {
        { "literal", "needle_in_haystack" }, { "word", "\\bneedle_in_haystack_[0-9]+" }, { "class", "[a-z]+_in_[a-z]+_[0-9]{3,}" },
        { "alternatives", "needle_in|absent_word|nowhere" }, { "ignore_case", "(?i)NEEDLE_IN_HAYSTACK" }, { "absent", "zzz_not_there" },
    };
    char name[64];
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        snprintf(name, sizeof name, "grep_%s_vs_rg", patterns[i].name);
        compare(name, NULL, (const char *[]){ self, "grep", patterns[i].pattern, "", dir, NULL },
                (const char *[]){ "rg", "-n", "--no-messages", patterns[i].pattern, dir, NULL });
    }
    compare("grep_type_vs_rg", NULL, (const char *[]){ self, "grep", "needle_in_haystack", "py", dir, NULL },
            (const char *[]){ "rg", "-n", "-tpy", "needle_in_haystack", dir, NULL });
    compare("glob_ext_vs_fdfind", NULL, (const char *[]){ self, "glob", "**/*.py", dir, NULL },
            (const char *[]){ "fdfind", "--type", "f", "--glob", "*.py", dir, NULL });
    compare("glob_all_vs_fdfind", NULL, (const char *[]){ self, "glob", "**", dir, NULL }, (const char *[]){ "fdfind", "--type", "f", ".", dir, NULL });
    compare("glob_narrow_vs_fdfind", NULL, (const char *[]){ self, "glob", "m1/**/file_{1,2}.c", dir, NULL },
            (const char *[]){ "fdfind", "--type", "f", "--full-path", "--glob", "**/m1/**/file_{1,2}.c", dir, NULL });
    add_executables(dir, self);
    compare("grep_executables_vs_rg", "grep_executables_memory_vs_rg", (const char *[]){ self, "grep", "needle_in_haystack", "", dir, NULL },
            (const char *[]){ "rg", "-n", "--no-messages", "needle_in_haystack", dir, NULL });
}

int main(int argc, char **argv) {
    if (argc == 5 && strcmp(argv[1], "grep") == 0) return run_grep(argv[2], argv[3], argv[4]);
    if (argc == 4 && strcmp(argv[1], "glob") == 0) return run_glob(argv[2], argv[3]);
    char self[4096], dir[] = "/tmp/bench-search-XXXXXX", command[64];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n < 0 || !mkdtemp(dir)) return fail("cannot start");
    self[n] = 0;
    make_tree(dir);
    compare_all(self, dir);
    snprintf(command, sizeof command, "rm -r %s", dir);
    return system(command);
}
