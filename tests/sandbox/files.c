/* Files: reading, changing and creating them outside. */
#define _GNU_SOURCE
#include <linux/fs.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <utime.h>
#include "attempt.h"

static void rename_in(void) {
    if (rename(out_path("secret"), "taken") < 0) perror("rename");
    show_file("taken");
}
static void rename_out(void) { mean_it(); want("rename", rename("mine", out_path("mine"))); }
static void rename_over(void) { mean_it(); want("rename", rename("mine", out_path("file"))); }
static void rename_exchange(void) {
    mean_it();
    want("exchange", syscall(SYS_renameat2, AT_FDCWD, "mine", AT_FDCWD, out_path("secret"), 2));
    show_file("mine");
}
static void rename_whiteout(void) {
    mean_it();
    want("whiteout", syscall(SYS_renameat2, AT_FDCWD, out_path("file"), AT_FDCWD, out_path("moved"), 4));
}
static void rename_folder(void) { mkdir("d", 0755); want("rename", rename("d", out_path("d"))); }

/* Moves the folder that ".." refers to while a descriptor is below it. */
static void rename_parent(void) {
    char path[4096] = "";
    mkdir("a", 0755); mkdir("a/b", 0755); mkdir("a/b/c", 0755);
    int fd = open("a/b/c", O_PATH | O_DIRECTORY);
    if (rename("a/b/c", "c") < 0) perror("rename");
    for (int i = 0; i < 20; i++) strcat(path, "../");
    strcat(path, out_path("secret") + 1);
    show(openat(fd, path, O_RDONLY));
}

static void link_in(void) {
    if (link(out_path("secret"), "linked") < 0) perror("link");
    show_file("linked");
}
static void link_out(void) { mean_it(); want("link", link("mine", out_path("mine"))); }
static void link_by_descriptor(void) {
    char path[40];
    int fd = open(out_path("secret"), O_PATH);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (linkat(fd, "", AT_FDCWD, "one", AT_EMPTY_PATH) < 0) perror("by descriptor");
    if (linkat(AT_FDCWD, path, AT_FDCWD, "two", AT_SYMLINK_FOLLOW) < 0) perror("by /proc");
    show_file("one");
    show_file("two");
}
static void link_nameless(void) {
    char path[40];
    int fd = open(".", O_TMPFILE | O_RDWR, 0644);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    want("link", linkat(AT_FDCWD, path, AT_FDCWD, out_path("nameless"), AT_SYMLINK_FOLLOW));
}
static void nameless_outside(void) { want("O_TMPFILE", open(out_path("dir"), O_TMPFILE | O_RDWR, 0644)); }

static void path_reopen(void) {
    char path[40];
    snprintf(path, sizeof path, "/proc/self/fd/%d", open(out_path("secret"), O_PATH));
    show_file(path);
    want("write", open(path, O_WRONLY));
}
static void path_folder(void) {
    int fd = open(getenv("OUT"), O_PATH | O_DIRECTORY);
    show(openat(fd, "secret", O_RDONLY));
    want("create", openat(fd, "made", O_CREAT | O_WRONLY, 0644));
}
static void path_enter(void) {
    if (fchdir(open(getenv("OUT"), O_PATH | O_DIRECTORY)) < 0) perror("fchdir");
    show_file("secret");
    want("create", open("made", O_CREAT | O_WRONLY, 0644));
}
static void path_exec(void) {
    int fd = open(out_path("tool"), O_PATH);
    char *argv[] = { "tool", NULL }, *env[] = { NULL };
    fflush(stdout);
    syscall(SYS_execveat, fd, "", argv, env, AT_EMPTY_PATH);
    perror("execveat");
}
static void openat2_plain(void) {
    struct { uint64_t flags, mode, resolve; } how = { O_RDONLY, 0, 0 };
    show((int)syscall(SYS_openat2, AT_FDCWD, out_path("secret"), &how, sizeof how));
}

static void truncate_path(void) { want("truncate", truncate(out_path("file"), 0)); }
static void truncate_read(void) { want("open", open(out_path("file"), O_RDONLY | O_TRUNC)); }
static void truncate_neither(void) { want("open", open(out_path("file"), O_ACCMODE | O_TRUNC)); }
static void truncate_openat2(void) {
    struct { uint64_t flags, mode, resolve; } how = { O_RDONLY | O_TRUNC, 0, 0 };
    want("openat2", syscall(SYS_openat2, AT_FDCWD, out_path("file"), &how, sizeof how));
}
static void truncate_creat(void) { want("creat", creat(out_path("file"), 0644)); }

static void chmod_path(void) { want("chmod", chmod(out_path("file"), 0777)); }
static void chmod_link(void) {
    if (symlink(out_path("file"), "l") < 0) perror("symlink");
    want("chmod", chmod("l", 0777));
}
static void chmod_base(void) { want("fchmodat", fchmodat(open(getenv("OUT"), O_PATH), "file", 0777, 0)); }
static void chmod_relative(void) {
    if (chdir(getenv("OUT")) < 0) perror("chdir");
    want("chmod", chmod("file", 0777));
}
static void chmod_proc(void) {
    char path[40];
    snprintf(path, sizeof path, "/proc/self/fd/%d", open(out_path("file"), O_PATH));
    want("chmod", chmod(path, 0777));
}
static void chmod_newer(void) {
    want("fchmodat2", syscall(452, AT_FDCWD, out_path("file"), 0777, 0));
    want("fchmodat2 by descriptor", syscall(452, open(out_path("file"), O_PATH), "", 0777, AT_EMPTY_PATH));
}
static void chmod_folder(void) { want("chmod", chmod(getenv("OUT"), 0700)); }
static void chmod_system(void) { want("chmod", chmod("/etc", 0755)); }

static void times_path(void) {
    struct timespec t[2] = { { 5, 0 }, { 5, 0 } };
    want("utimensat", utimensat(AT_FDCWD, out_path("file"), t, 0));
}
static void times_link(void) {
    struct timespec t[2] = { { 5, 0 }, { 5, 0 } };
    int fd = open(out_path("file"), O_PATH);
    want("by descriptor", syscall(SYS_utimensat, fd, "", t, AT_EMPTY_PATH));
    want("link itself", utimensat(AT_FDCWD, out_path("link"), t, AT_SYMLINK_NOFOLLOW));
}
static void times_older(void) {
    struct utimbuf one = { 5, 5 };
    struct timeval two[2] = { { 5, 0 }, { 5, 0 } };
    want("utime", syscall(SYS_utime, out_path("file"), &one));
    want("utimes", syscall(SYS_utimes, out_path("file"), two));
    want("futimesat", syscall(SYS_futimesat, AT_FDCWD, out_path("file"), two));
}
static void owner(void) {
    want("chown", chown(out_path("file"), 12345, 12345));
    want("lchown", lchown(out_path("link"), 12345, 12345));
    want("fchownat", fchownat(open(out_path("file"), O_PATH), "", 12345, 12345, AT_EMPTY_PATH));
}
static void owner_inside(void) { mean_it(); want("chown", chown("mine", 12345, 12345)); }

static void attributes(void) {
    struct { const char *path; void *value; uint32_t size, flags; } args = { NULL, "x", 1, 0 };
    want("setxattr", setxattr(out_path("file"), "user.x", "x", 1, 0));
    want("lsetxattr", lsetxattr(out_path("file"), "user.y", "x", 1, 0));
    want("setxattrat", syscall(463, AT_FDCWD, out_path("file"), 0, "user.z", &args.value, 16));
    want("removexattr", removexattr(out_path("file"), "user.kept"));
}
static void attribute_capability(void) {
    uint32_t all[5] = { 0x02000001, ~0u, 0, ~0u, 0 };
    mean_it();
    want("setxattr", setxattr("mine", "security.capability", all, sizeof all, 0));
}
static void attribute_flags(void) {
    struct { uint64_t xflags; uint32_t extsize, nextents, projid, cow; } newer = { 0 };
    long flags = 0x40;                                   /* no dump */
    want("file_setattr", syscall(469, AT_FDCWD, out_path("file"), &newer, sizeof newer, 0));
    mean_it();
    int fd = open("mine", O_RDONLY);
    want("flags", ioctl(fd, FS_IOC_SETFLAGS, &flags));
}

static void device_char(void) {
    want("mknod", mknod("memory", S_IFCHR | 0666, makedev(1, 1)));
    want("mknodat outside", mknod(out_path("zero"), S_IFCHR | 0666, makedev(1, 5)));
}
static void device_block(void) { want("mknod", mknod("disk", S_IFBLK | 0666, makedev(254, 0))); }
static void device_disks(void) {
    char line[200], name[100], path[120];
    FILE *list = fopen("/proc/partitions", "re");
    while (list && fgets(line, sizeof line, list))
        if (sscanf(line, "%*d %*d %*d %99s", name) == 1) {
            snprintf(path, sizeof path, "/dev/%s", name);
            want(path, open(path, O_RDONLY));
        }
}
static void handle(void) {
    union { struct file_handle head; char space[sizeof(struct file_handle) + MAX_HANDLE_SZ]; } h = { .head.handle_bytes = MAX_HANDLE_SZ };
    int mount;
    if (name_to_handle_at(AT_FDCWD, out_path("secret"), &h.head, &mount, 0) < 0) perror("name_to_handle_at");
    show(open_by_handle_at(open(".", O_RDONLY), &h.head, O_RDONLY));
}
static void set_id(void) {
    struct stat st;
    mean_it();
    if (chmod("mine", 06755) < 0) perror("chmod");
    if (fchmod(open("mine", O_RDONLY), 04755) < 0) perror("fchmod");
    if (stat("mine", &st) == 0 && st.st_mode & 06000) say_escaped("a file that runs as its owner stays behind");
}
static void set_id_made(void) {
    struct stat st;
    umask(0);
    int fd = open("made", O_CREAT | O_RDWR, 06755);
    if (write(fd, "x", 1) == 1 && fstat(fd, &st) == 0 && st.st_mode & 06000) say_escaped("written");
    fd = open("mapped", O_CREAT | O_RDWR, 06755);
    if (fallocate(fd, 0, 0, 4096) < 0) perror("fallocate");
    char *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at != MAP_FAILED) at[0] = 'x';
    if (fstat(fd, &st) == 0 && st.st_size && st.st_mode & 06000) say_escaped("mapped");
}
static void fifo_out(void) { want("mkfifo", mkfifo(out_path("made"), 0666)); }
static void symlink_out(void) { want("symlink", symlink("/etc/passwd", out_path("made"))); }
static void mkdir_out(void) { want("mkdir", mkdir(out_path("made"), 0755)); }
static void rmdir_out(void) { want("rmdir", rmdir(out_path("dir"))); }
static void unlink_out(void) { want("unlink", unlink(out_path("file"))); }
static void copy_range(void) {
    int from = open(out_path("secret"), O_RDONLY), to = open("copy", O_CREAT | O_RDWR, 0644);
    want("copy_file_range", copy_file_range(from, NULL, to, NULL, 100, 0));
    want("sendfile", sendfile(to, from, NULL, 100));
}

const Attempt file_attempts[] = {
    { "rename-in", rename_in }, { "rename-out", rename_out }, { "rename-over", rename_over }, { "rename-exchange", rename_exchange },
    { "rename-whiteout", rename_whiteout }, { "rename-folder", rename_folder }, { "rename-parent", rename_parent },
    { "hardlink-in", link_in }, { "hardlink-out", link_out }, { "hardlink-by-descriptor", link_by_descriptor },
    { "hardlink-nameless", link_nameless }, { "nameless-outside", nameless_outside },
    { "descriptor-reopen", path_reopen }, { "descriptor-folder", path_folder }, { "descriptor-enter", path_enter },
    { "descriptor-exec", path_exec }, { "openat2", openat2_plain },
    { "truncate", truncate_path }, { "truncate-read", truncate_read }, { "truncate-neither", truncate_neither },
    { "truncate-openat2", truncate_openat2 }, { "truncate-creat", truncate_creat },
    { "chmod", chmod_path }, { "chmod-link", chmod_link }, { "chmod-base", chmod_base }, { "chmod-relative", chmod_relative },
    { "chmod-proc", chmod_proc }, { "chmod-newer", chmod_newer }, { "chmod-folder", chmod_folder }, { "chmod-system", chmod_system },
    { "times", times_path }, { "times-link", times_link }, { "times-older", times_older }, { "owner", owner },
    { "owner-inside", owner_inside }, { "attributes", attributes }, { "attribute-capability", attribute_capability },
    { "attribute-flags", attribute_flags }, { "device-char", device_char }, { "device-block", device_block },
    { "device-disks", device_disks }, { "file-handle", handle }, { "setuid-left", set_id }, { "setuid-made", set_id_made },
    { "fifo-out", fifo_out }, { "symlink-out", symlink_out }, { "mkdir-out", mkdir_out }, { "rmdir-out", rmdir_out },
    { "unlink-out", unlink_out }, { "copy-range", copy_range }, { NULL, NULL },
};
