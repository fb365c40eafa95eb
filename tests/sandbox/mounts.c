/* Private mounts, and the namespaces they need. The workspace, the parent folder, has protected files: .mcp.json and
 * those in .claude and .github/hooks. A successful attempt leaves them unchanged. */
#define _GNU_SOURCE
#include <linux/mount.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include "attempt.h"

/* <sys/mount.h> and <linux/mount.h> conflict. */
enum { BIND = 4096, REMOUNT = 32, DETACH = 2 };
static const char rules[] = "../.mcp.json", parent[] = "../.claude";

static long mount_call(const char *from, const char *to, const char *type, unsigned long flags) { return syscall(SYS_mount, from, to, type, flags, NULL); }
static void detach(const char *path) { (void)syscall(SYS_umount2, path, DETACH); }

static void shield_unmount(void) { want("umount", syscall(SYS_umount2, rules, DETACH)); want("of the parent", syscall(SYS_umount2, parent, DETACH)); }
static void shield_remount(void) { want("remount", mount_call(NULL, rules, NULL, REMOUNT | BIND)); }
static void shield_attributes(void) {
    struct mount_attr writable = { .attr_clr = MOUNT_ATTR_RDONLY };
    want("mount_setattr", syscall(SYS_mount_setattr, AT_FDCWD, rules, 0, &writable, sizeof writable));
    want("of the top", syscall(SYS_mount_setattr, AT_FDCWD, "/", AT_RECURSIVE, &writable, sizeof writable));
}
static void shield_move(void) { want("move_mount", syscall(SYS_move_mount, AT_FDCWD, rules, AT_FDCWD, "mine", 0)); }
static void shield_copy(void) {
    int fd = (int)syscall(SYS_open_tree, AT_FDCWD, rules, OPEN_TREE_CLONE);
    want("open_tree", fd);
}
static void shield_over(void) {
    mean_it();
    want("mount", mount_call("mine", rules, NULL, BIND));
    detach(rules);
}
static void shield_over_parent(void) {
    want("mount", mount_call("none", parent, "tmpfs", 0));
    detach(parent);
}
static void shield_mapping(void) {
    int fd = open(rules, O_RDWR);
    char *at = fd < 0 ? MAP_FAILED : mmap(NULL, 1, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    want("mapping", at == MAP_FAILED ? -1 : 0);
}
static void shield_exchange(void) {
    mkdir("other", 0755);
    int rc = renameat2(AT_FDCWD, parent, AT_FDCWD, "other", RENAME_EXCHANGE);
    want("exchange", rc);
    if (rc == 0) (void)renameat2(AT_FDCWD, parent, AT_FDCWD, "other", RENAME_EXCHANGE);
}
/* A link under a name outside of the mount would be writable there. */
static void shield_link(void) { want("link", link(rules, "link")); }
static void shield_descriptor(void) {
    int folder = open("..", O_PATH | O_DIRECTORY), file = open(rules, O_RDONLY);
    char path[40];
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    want("by the folder", openat(folder, ".mcp.json", O_WRONLY));
    want("by the descriptor", open(path, O_WRONLY));
}

/* Another view of the files, in which the mounts could be changed. */
static void in_child(const char *what, int flags) {
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        long rc = unshare(flags);
        want(what, rc);
        if (rc == 0) want("remount", mount_call(NULL, rules, NULL, REMOUNT | BIND));
        fflush(stdout);
        _exit(0);
    }
    waitpid(child, NULL, 0);
}
static void nested_unshare(void) { in_child("user and mount", CLONE_NEWUSER | CLONE_NEWNS); in_child("mount", CLONE_NEWNS); }
static void nested_clone(void) {
    long child = syscall(SYS_clone, CLONE_NEWUSER | CLONE_NEWNS | SIGCHLD, NULL, NULL, NULL, NULL);
    if (child == 0) _exit(0);
    want("clone", child);
}
static void supervisor_namespaces(void) {
    static const char *const names[] = { "mnt", "user", "pid", "ipc" };
    char path[60];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "/proc/%d/ns/%s", number("SUPERVISOR"), names[i]);
        int fd = open(path, O_RDONLY);
        want(names[i], fd < 0 ? -1 : setns(fd, 0));
    }
    want("by process", setns((int)syscall(SYS_pidfd_open, number("SUPERVISOR"), 0), CLONE_NEWUSER | CLONE_NEWNS));
}
static void supervisor_parent(void) {
    want("parent", setns(open("/proc/self/ns/user", O_RDONLY), CLONE_NEWUSER));
    want("first", setns(open("/proc/1/ns/user", O_RDONLY), CLONE_NEWUSER));
}
static void supervisor_write(void) {
    char path[60];
    snprintf(path, sizeof path, "/proc/%d/mem", number("SUPERVISOR"));
    want("memory", open(path, O_RDWR));
    snprintf(path, sizeof path, "/proc/%d/uid_map", number("SUPERVISOR"));
    want("map", open(path, O_WRONLY));
}
static void groups(void) { want("setgroups", syscall(SYS_setgroups, 0, NULL)); want("setresgid", setresgid(6, 6, 6)); }

const Attempt mount_attempts[] = {
    { "shield-umount", shield_unmount }, { "shield-remount", shield_remount }, { "shield-attributes", shield_attributes }, { "shield-move", shield_move },
    { "shield-copy", shield_copy }, { "shield-over", shield_over }, { "shield-over-parent", shield_over_parent }, { "shield-mapping", shield_mapping },
    { "shield-exchange", shield_exchange }, { "shield-link", shield_link }, { "shield-descriptor", shield_descriptor },
    { "nested-unshare", nested_unshare }, { "nested-clone", nested_clone }, { "supervisor-namespaces", supervisor_namespaces },
    { "supervisor-parent", supervisor_parent }, { "supervisor-write", supervisor_write }, { "namespace-groups", groups }, { NULL, NULL },
};
