#include "sandbox/userns.h"
#include <fcntl.h>
#include <linux/capability.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Capabilities that let root work on other users' files. A user namespace has none over users that are not mapped. */
#define FILE_RIGHTS (1u << CAP_DAC_OVERRIDE | 1u << CAP_DAC_READ_SEARCH | 1u << CAP_FOWNER)

UsernsNeed userns_need(void) {
    struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3, .pid = 0 };
    struct __user_cap_data_struct data[2] = { { 0 } };
    if (syscall(SYS_capget, &head, data) < 0) return USERNS_NEEDED;
    if (data[0].effective & 1u << CAP_SYS_ADMIN) return USERNS_NOT_NEEDED;
    return data[0].effective & FILE_RIGHTS ? USERNS_LOSES : USERNS_NEEDED;
}

void userns_prepare(UsernsMaps *out) {
    unsigned uid = (unsigned)geteuid(), gid = (unsigned)getegid();
    snprintf(out->uid, sizeof out->uid, "%u %u 1\n", uid, uid);
    snprintf(out->gid, sizeof out->gid, "%u %u 1\n", gid, gid);
}

static bool put(const char *path, const char *text) {
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0) return false;
    bool ok = write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    close(fd);
    return ok;
}

bool userns_map(const UsernsMaps *maps) {
    int before = prctl(PR_GET_DUMPABLE);
    if (before != 1) (void)prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    bool ok = put("/proc/self/setgroups", "deny") && put("/proc/self/uid_map", maps->uid) && put("/proc/self/gid_map", maps->gid);
    if (before != 1) (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    /* A second lock in addition to the system call filter; a container may have protected the file. */
    if (ok) (void)put("/proc/sys/user/max_user_namespaces", "0");
    return ok;
}

bool userns_drop(void) {
    struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3, .pid = 0 };
    struct __user_cap_data_struct none[2] = { { 0 } };
    return syscall(SYS_capset, &head, none) == 0;
}
