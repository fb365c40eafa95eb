#include "sandbox/public.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/mem.h"

const char *const public_folders[] = { "/etc", "/opt", NULL };

enum { FRESH_NS = 100000000, DEPTH_MAX = 60,
    WATCH_FOR = IN_ATTRIB | IN_CREATE | IN_DELETE | IN_MOVE | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR | IN_DONT_FOLLOW };

/* From best to worst: a folder has the state of the worst entry in it. */
typedef enum {
    WHOLE,                              /* others may read everything in it */
    LISTED,                             /* contains private files but no private folders: all its folders may be
                                         * listed */
    PARTS,                              /* contains or is a private folder */
} State;

bool public_needed(void) {
    struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3, .pid = 0 };
    struct __user_cap_data_struct data[2] = { { 0 } };
    if (geteuid() == 0) return true;                     /* as the owner, without any capability */
    return syscall(SYS_capget, &head, data) == 0 && (data[0].permitted & (1u << CAP_DAC_OVERRIDE | 1u << CAP_DAC_READ_SEARCH));
}

/* ---- the walk --------------------------------------------------------------------------------------------------- */

static void push(Public *p, const char *path, PublicKind kind) {
    PublicEntry e = { mem_dup(path, strlen(path)), kind, -1, false };
    VEC_PUSH(&p->entries, e);
}

static void drop_from(Public *p, size_t n) {
    while (p->entries.n > n) {
        PublicEntry *e = &p->entries.at[--p->entries.n];
        if (e->fd >= 0) close(e->fd);
        free(e->path);
    }
}

static void watch(Public *p, const char *path) {
    if (p->watches < 0 || inotify_add_watch(p->watches, path, WATCH_FOR) >= 0 || errno == ENOENT || errno == ENOTDIR) return;
    close(p->watches);                                   /* not everything can be watched: then walk every time */
    p->watches = -1;
}

static bool is_public(mode_t mode) {
    mode_t need = S_ISDIR(mode) ? S_IROTH | S_IXOTH : S_IROTH;
    return (mode & need) == need;
}

static State walk(Public *p, const char *path, int depth);

/* `type`: from the folder's listing, which saves most stat calls. */
static State look_at(Public *p, int dir, const char *path, unsigned char type, int depth) {
    struct stat st;
    if (type == DT_LNK) return WHOLE;
    if (type == DT_DIR) return walk(p, path, depth + 1);
    if (fstatat(dir, strrchr(path, '/') + 1, &st, AT_SYMLINK_NOFOLLOW) < 0) return LISTED;      /* removed: the change of its folder causes another walk */
    if (S_ISLNK(st.st_mode)) return WHOLE;               /* its target decides */
    if (S_ISDIR(st.st_mode)) return walk(p, path, depth + 1);
    if (!is_public(st.st_mode)) return LISTED;
    push(p, path, PUBLIC_WHOLE);
    return WHOLE;
}

static State read_folder(Public *p, DIR *dir, const char *path, int depth) {
    char below[PATH_MAX];
    State state = WHOLE;
    for (struct dirent *e; (e = readdir(dir));) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
        if (++p->seen > PUBLIC_ENTRIES_MAX || snprintf(below, sizeof below, "%s/%s", path, e->d_name) >= (int)sizeof below) {
            p->partial = true;
            return PARTS;
        }
        State one = look_at(p, dirfd(dir), below, e->d_type, depth);
        if (one > state) state = one;
    }
    return state;
}

/* Lists the entries of a folder one by one until it is known that the folder itself can be listed instead. */
static State walk(Public *p, const char *path, int depth) {
    size_t before = p->entries.n;
    struct stat st;
    State state = PARTS;
    watch(p, path);
    DIR *dir = depth > DEPTH_MAX ? NULL : opendir(path);
    if (!dir) p->partial = p->partial || depth > DEPTH_MAX || errno != ENOENT;
    else if (fstat(dirfd(dir), &st) < 0 || !is_public(st.st_mode)) VEC_PUSH(&p->hidden, mem_dup(path, strlen(path)));
    else {
        state = read_folder(p, dir, path, depth);
        if (state == WHOLE) drop_from(p, before);
        push(p, path, state == WHOLE ? PUBLIC_WHOLE : state == LISTED ? PUBLIC_LISTED : PUBLIC_LISTED_COVERED);
    }
    if (dir) closedir(dir);
    return state;
}

/* ---- for the launcher ------------------------------------------------------------------------------------------- */

static bool has_changed(const Public *p) {
    char events[4096];
    bool any = false;
    while (read(p->watches, events, sizeof events) > 0) any = true;
    return any;
}

static void forget(Public *p) {
    drop_from(p, 0);
    while (p->hidden.n) free(p->hidden.at[--p->hidden.n]);
    p->known = p->partial = false;
    p->seen = 0;
}

/* An entry replaced since the walk was not checked. */
static int open_entry(const PublicEntry *e, bool *folder) {
    struct stat st;
    int fd = open(e->path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    bool ok = fd >= 0 && fstat(fd, &st) == 0 && is_public(st.st_mode);
    if (ok) *folder = S_ISDIR(st.st_mode);
    else if (fd >= 0) close(fd);
    return ok ? fd : -1;
}

bool public_refresh(Public *p, bool want_watches) {
    int64_t now = clock_mono_ns();
    if (p->known && p->watches >= 0 ? !has_changed(p) : p->known && !want_watches && now - p->walked_at < FRESH_NS) return true;
    forget(p);
    p->walked_at = now;
    if (want_watches && p->watches < 0) p->watches = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    for (const char *const *path = public_folders; *path; path++) (void)walk(p, *path, 0);
    for (size_t i = 0; i < p->entries.n && p->entries.n <= PUBLIC_OPEN_MAX; i++) {
        PublicEntry *e = &p->entries.at[i];
        e->fd = open_entry(e, &e->folder);
    }
    p->known = true;
    return false;
}

/* ---- for a call ------------------------------------------------------------------------------------------------- */

bool public_allow(const Public *p, bool covered, int ruleset, const RulesetOptions *o, Error *err) {
    for (size_t i = 0; i < p->entries.n; i++) {
        const PublicEntry *e = &p->entries.at[i];
        if (e->kind == PUBLIC_LISTED_COVERED && (!covered || p->partial)) continue;
        bool folder = e->folder;
        int fd = e->fd >= 0 ? e->fd : open_entry(e, &folder);
        if (fd < 0) continue;                            /* removed meanwhile, or private by now */
        bool ok = ruleset_allow_open(ruleset, o, fd, folder, e->path, e->kind == PUBLIC_WHOLE ? RULESET_READ : RULESET_LIST, err);
        if (e->fd < 0) close(fd);
        if (!ok) return false;
    }
    return true;
}
