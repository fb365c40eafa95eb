/* attempts LIST           runs the attempts of a list: NAME, TAB, a shell line or "@" and the name of a function
 * attempts victim FOLDER  a process with secrets, outside
 * attempts hold KIND MIB MARK  holds memory in unusual places: see hold.c
 * attempts forbid CMD…   CMD where the kernel refuses private mounts
 * attempts no-mount CMD…  CMD with a filter that refuses mount() and allows new namespaces
 * attempts read FILE      shows it; for copies of this program that have privileges by their file
 *
 * Lines NAME=VALUE of the list are variables. Each attempt has the time limit below and a line "@@ NAME STATUS TIME" over what it
 * has printed. */
#define _GNU_SOURCE
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include "attempt.h"

enum { SECONDS = 8, OUTPUT_MAX = 20000 };
static const Attempt *const all[] = { file_attempts, race_attempts, process_attempts, kernel_attempts, mount_attempts, network_attempts, limit_attempts };

const char *out_path(const char *name) {
    static char paths[8][4096];
    static int next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", getenv("OUT"), name);
    return path;
}

int number(const char *name) {
    const char *value = getenv(name);
    return value ? atoi(value) : 0;
}

void say_escaped(const char *how) { printf("ESCAPED: %s\n", how); }

void want(const char *what, long rc) {
    if (rc < 0) printf("%s: stopped, %s\n", what, strerror(errno));
    else say_escaped(what);
}

void show(int fd) {
    char text[4096];
    if (fd < 0) {
        printf("stopped, %s\n", strerror(errno));
        return;
    }
    ssize_t n = read(fd, text, sizeof text);
    if (n < 0) printf("read: stopped, %s\n", strerror(errno));
    else fwrite(text, 1, (size_t)n, stdout);
}

void show_file(const char *path) {
    int fd = open(path, O_RDONLY);
    show(fd);
    if (fd >= 0) close(fd);
}

void mean_it(void) {
    int fd = open("mine", O_CREAT | O_WRONLY | O_TRUNC, 0644);
    if (fd < 0 || write(fd, "mine\n", 5) != 5) perror("mine");
    close(fd);
}

static const Attempt *find(const char *name) {
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        for (const Attempt *a = all[i]; a->name; a++)
            if (strcmp(a->name, name) == 0) return a;
    return NULL;
}

static _Noreturn void run_one(const char *line, int output) {
    setpgid(0, 0);
    dup2(output, 1);
    dup2(output, 2);
    close(output);
    const Attempt *a = *line == '@' ? find(line + 1) : NULL;
    if (a) a->run();
    else if (*line == '@') printf("no attempt of this name\nESCAPED: the table is wrong\n");
    else execl("/bin/bash", "bash", "-c", line, (char *)NULL);
    fflush(stdout);
    _exit(*line == '@' ? 0 : 99);
}

static long now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int wait_for(pid_t child) {
    int status = 0;
    struct timespec nap = { 0, 500000 };
    for (long until = now_ms() + SECONDS * 1000; now_ms() < until;) {
        if (waitpid(child, &status, WNOHANG) == child) return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        nanosleep(&nap, NULL);
    }
    kill(-child, SIGKILL);
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    return 124;
}

static void report(const char *name, int status, long ms, int output) {
    static char text[OUTPUT_MAX];
    ssize_t n = pread(output, text, sizeof text, 0);
    printf("@@ %s %d %ld ms\n", name, status, ms);
    if (n > 0) fwrite(text, 1, (size_t)n, stdout);
    printf("\n");
    fflush(stdout);
}

/* The output goes to a file: a process left behind by an attempt could keep a pipe open. */
static void attempt(const char *name, const char *line, const char *outside) {
    char path[16384];
    int output = open("output", O_CREAT | O_TRUNC | O_RDWR, 0600);
    snprintf(path, sizeof path, "%s/%s", outside, name);
    setenv("OUT", path, 1);
    fflush(stdout);
    long from = now_ms();
    pid_t child = fork();
    if (child == 0) {
        if (chdir(name) < 0) _exit(98);
        run_one(line, output);
    }
    int status = child < 0 ? 97 : wait_for(child);
    report(name, status, now_ms() - from, output);
    close(output);
}

static int run_list(const char *path) {
    char line[8192], supervisor[20];
    snprintf(supervisor, sizeof supervisor, "%d", (int)getppid());
    setenv("SUPERVISOR", supervisor, 0);
    const char *proxy = getenv("http_proxy");
    if (proxy) setenv("PROXY", strrchr(proxy, ':') + 1, 1);
    FILE *list = fopen(path, "re");
    while (list && fgets(line, sizeof line, list)) {
        line[strcspn(line, "\n")] = 0;
        char *tab = strchr(line, '\t'), *equals = strchr(line, '=');
        if (tab) {
            *tab = 0;
            attempt(line, tab + 1, getenv("OUTSIDE"));
        } else if (equals) {
            *equals = 0;
            setenv(line, equals + 1, 1);
        }
    }
    printf("@@ end 0\n");
    return list ? 0 : 1;
}

static bool put(const char *path, const char *text) {
    int fd = open(path, O_WRONLY);
    bool ok = fd >= 0 && write(fd, text, strlen(text)) >= 0;
    if (fd >= 0) close(fd);
    return ok;
}

static bool enclose(void) {
    char uid[40], gid[40];
    snprintf(uid, sizeof uid, "%d %d 1", (int)geteuid(), (int)geteuid());
    snprintf(gid, sizeof gid, "%d %d 1", (int)getegid(), (int)getegid());
    return unshare(CLONE_NEWUSER) == 0 && put("/proc/self/setgroups", "deny") && put("/proc/self/uid_map", uid) && put("/proc/self/gid_map", gid)
        && put("/proc/sys/user/max_user_namespaces", "0");
}

/* Root loses CAP_SYS_ADMIN, which execve() would restore if it were not removed from the bounding set; any other user
 * gets a user namespace that allows no further ones. Tried in a child: if it fails, the kernel already refuses them. */
static int forbid(char **argv) {
    if (geteuid() == 0) {
        if (prctl(PR_CAPBSET_DROP, CAP_SYS_ADMIN, 0, 0, 0) < 0) return perror("bounding set"), 125;
    } else {
        int status = 1;
        pid_t child = fork();
        if (child == 0) _exit(enclose() ? 0 : 1);
        if (waitpid(child, &status, 0) == child && status == 0 && !enclose()) return perror("user namespace"), 125;
    }
    execvp(argv[0], argv);
    return perror(argv[0]), 125;
}

static int no_mount(char **argv) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mount, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };
    struct sock_fprog filter = { sizeof code / sizeof *code, code };
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) < 0) return perror("seccomp"), 125;
    execvp(argv[0], argv);
    return perror(argv[0]), 125;
}

int main(int argc, char **argv) {
    if (argc > 2 && strcmp(argv[1], "no-mount") == 0) return no_mount(argv + 2);
    if (argc > 2 && strcmp(argv[1], "forbid") == 0) return forbid(argv + 2);
    if (argc == 5 && strcmp(argv[1], "hold") == 0) return hold_main(argv + 2);
    if (argc == 3 && strcmp(argv[1], "victim") == 0) return victim_main(argv[2]);
    if (argc == 2) return run_list(argv[1]);
    if (argc != 3 || strcmp(argv[1], "read") != 0) return 2;
    if (geteuid() == 0 && getuid() != 0) say_escaped("user 0 by the mode of a file");
    show_file(argv[2]);
    return 0;
}
