#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
#include "base/fault.h"
#include "sandbox/displaced.h"
#include "sandbox/jail_temp.h"
#include "sandbox/jail_tree.h"
#include "sandbox/snapshot.h"
#include "sandbox/git_steps.h"

/* ---- restoring ---- */

/* Records the restored state; its times are new and inconclusive for a moment. */
static bool noted(int dir, SnapshotNode *n) {
    struct statx now;
    if (!walk_stat(dir, n->name, &now))
        return false;
    now.stx_mode = n->st.stx_mode;                     /* the expected mode; the actual one is irrelevant */
    now.stx_uid = n->st.stx_uid;
    now.stx_gid = n->st.stx_gid;
    n->st = now;
    return n->recent = true;
}

/* True if this process can set the file's group. An ordinary user can only set groups that it is a member of; `chown -R USER` leaves
 * files of others. Their content is restored without the group, which a call could not have preserved either. */
static bool can_give_group(gid_t group) {
    enum { GROUPS_MAX = 1024 };
    gid_t groups[GROUPS_MAX];
    int n = getgroups(GROUPS_MAX, groups);
    if (geteuid() == 0 || group == getegid())
        return true;
    for (int i = 0; i < n; i++)
        if (groups[i] == group)
            return true;
    return false;
}

static bool restore_owner(int fd, const struct statx *st) {
    struct statx now;
    if (!walk_stat(fd, "", &now))
        return false;
    if (now.stx_uid == st->stx_uid && (now.stx_gid == st->stx_gid || !can_give_group(st->stx_gid)))
        return true;
    return fchownat(fd, "", st->stx_uid, st->stx_gid, AT_EMPTY_PATH) == 0;
}

static bool restore_file(int dir, SnapshotNode *n) {
    JailTemp t;
    struct timespec times[2] = { { .tv_nsec = UTIME_NOW }, { n->st.stx_mtime.tv_sec, n->st.stx_mtime.tv_nsec } };
    if (!n->known)
        return errno = n->has_mac ? ENODATA : EACCES, false;
    bool ok = jail_temp_open(&t, dir, 0600) && jail_temp_write(&t, buf_str(&n->content)) && restore_owner(t.fd, &n->st)
              && fchmod(t.fd, n->st.stx_mode & 07777) == 0 && futimens(t.fd, times) == 0 && jail_temp_finish(&t, NULL)
              && jail_temp_place(&t, n->name, false, NULL);
    jail_temp_drop(&t);
    return ok && noted(dir, n);
}

static bool restore_link(int dir, SnapshotNode *n) {
    char temp[JAIL_TEMP_NAME];
    jail_temp_name(temp);
    if (fault_hit() ? (errno = EIO, true) : symlinkat(n->content.at, dir, temp) < 0)
        return false;
    if (renameat(dir, temp, dir, n->name) < 0) {
        int error = errno;
        return unlinkat(dir, temp, 0), errno = error, false;
    }
    return noted(dir, n);
}

static bool restore_folder(int dir, SnapshotNode *n) {
    bool ok = fault_hit() ? (errno = EIO, false) : mkdirat(dir, n->name, 0700) == 0 || errno == EEXIST;
    int fd = ok ? walk_open(dir, n->name, O_PATH | O_DIRECTORY, 0) : -1;
    if (fd < 0)
        return false;
    for (size_t i = 0; ok && i < n->child.n; i++)
        ok = !n->child.at[i]->needed || snapshot_restore(fd, n->child.at[i]);
    ok = ok && restore_owner(fd, &n->st) && walk_chmod(fd, n->st.stx_mode & 07777);
    int error = errno;
    close(fd);
    return errno = error, ok && noted(dir, n);
}

bool snapshot_restore(int dir, SnapshotNode *n) {
    return n->kind == 'd' ? restore_folder(dir, n) : n->kind == 'l' ? restore_link(dir, n)
         : n->kind == 'f' ? restore_file(dir, n) : true;
}

/* With everything below it; makes inaccessible folders accessible first. */
static bool remove_entry(const Snapshot *s, int dir, const char *name) {
    Walk w;
    bool ok = walk_at(&w, &s->nowhere, dir, name);
    w.force = true;
    ok = ok ? jail_remove_target(&w, str_from(name), NULL, NULL) : errno == ENOENT;
    int error = errno;
    ok = ok || (error == ENOENT && faccessat(dir, name, F_OK, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT);     /* already gone */
    walk_end(&w);
    return errno = error, ok;
}

/* Renames an object of the call that replaced a folder on the path to a protected file. */
static bool displace(int dir, const char *name) {
    char other[NAME_MAX + 1], temp[JAIL_TEMP_NAME];
    jail_temp_name(temp);
    snprintf(other, sizeof other, "%.200s.displaced%.17s", name, temp + strlen(".harness"));
    return renameat2(dir, name, dir, other, RENAME_NOREPLACE) == 0;
}

/* ---- reporting ---- */

static void tell(SnapshotCheck *c, const SnapshotNode *n, const char *below, const char *what, const char *then, bool ok) {
    Buf path = { 0 };
    int error = errno;
    snapshot_path(n, &path);
    if (below)
        buf_add_fmt(&path, "/%s", below);
    Str shown = buf_str(&path);
    if (c->workspace.n && str_starts(shown, c->workspace) && shown.n > c->workspace.n && shown.at[c->workspace.n] == '/')
        shown = str_sub(shown, c->workspace.n + 1, shown.n);    /* only for display */
    char clean[320];
    errno = error;
    c->differences++;
    c->failed |= !ok;
    if (c->text.n > ERROR_MSG_MAX)
        return buf_clear(&path);
    buf_add_fmt(&c->text, "%s%s %s%s", c->text.n ? "; " : "", walk_show(shown, clean), what, c->look_only ? "" : " by the call");
    if (c->look_only)
        ;
    else if (ok)
        buf_add_fmt(&c->text, " and has been %s", then);
    else
        buf_add_fmt(&c->text, " and could NOT be %s: %m", then);
    buf_clear(&path);
}

/* Keeps a copy: it may be the user's work. */
static void keep_other(SnapshotCheck *c, const SnapshotNode *n, int dir, const char *below) {
    Buf path = { 0 };
    if (!c->displaced || displaced_is_full(&c->room))
        return;
    snapshot_path(n, &path);
    if (below)
        buf_add_fmt(&path, "/%s", below);
    c->kept += displaced_keep(c->displaced, c->root, dir, below ? below : n->name, buf_str(&path), &c->room);
    buf_clear(&path);
}

/* ---- comparing ---- */

static bool same_time(struct statx_timestamp a, struct statx_timestamp b) { return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec; }

static bool same_rights(const struct statx *a, const struct statx *b) {
    return a->stx_mode == b->stx_mode && a->stx_uid == b->stx_uid && (a->stx_gid == b->stx_gid || !can_give_group(b->stx_gid));
}

static bool touched(const SnapshotNode *n, const struct statx *now) {
    return now->stx_ino != n->st.stx_ino || now->stx_dev_minor != n->st.stx_dev_minor || now->stx_dev_major != n->st.stx_dev_major
        || !same_time(now->stx_ctime, n->st.stx_ctime) || !same_time(now->stx_mtime, n->st.stx_mtime)
        || now->stx_size != n->st.stx_size || !same_rights(now, &n->st);
}

/* Only for folders: their entries do not change without a new time. */
static bool unchanged(const SnapshotNode *n, const struct statx *now) { return !n->recent && !touched(n, now); }

static void check(Snapshot *s, SnapshotCheck *c, SnapshotNode *n, int dir);

/* Times are inconclusive for content: a store through a shared mapping changes the file without a new time or size.
 * Reads one byte more than expected, and a regular file returns all it has. */
static bool same_content(SnapshotCheck *c, const SnapshotNode *n, int dir) {
    int fd = walk_open(dir, n->name, O_RDONLY | O_NONBLOCK, 0);
    ssize_t got = -1;
    buf_reset(&c->content);
    for (size_t want = n->content.n + 1; fd >= 0 && got != 0 && c->content.n < n->content.n; ) {
        got = fault_hit() ? (errno = EIO, -1) : read(fd, buf_room(&c->content, want), want - c->content.n);
        if (got > 0)
            buf_commit(&c->content, (size_t)got);
        else if (got < 0 && errno != EINTR)
            break;
    }
    if (fd >= 0)
        close(fd);
    return fd >= 0 && str_eq(buf_str(&c->content), buf_str(&n->content));
}

static bool same_mac(const Snapshot *s, SnapshotCheck *c, const SnapshotNode *n, int dir) {
    struct statx st;
    uint8_t mac[SNAPSHOT_MAC];
    buf_reset(&c->content);
    if (!snapshot_read_file(dir, n->name, (size_t)n->st.stx_size, &st, &c->content))
        return false;
    snapshot_mac(s, buf_str(&c->content), mac);
    return memcmp(mac, n->mac, sizeof mac) == 0;
}

/* The content is unchanged, but a program may keep a descriptor or a mapping of the file: gives it a new inode. Failure
 * is harmless, because the content is compared every time. */
static void renew_file(SnapshotNode *n, int dir, const struct statx *st) {
    if (restore_file(dir, n))
        return;
    n->st = *st;
    n->recent = !snapshot_settled(st);
}

static void check_file(const Snapshot *s, SnapshotCheck *c, SnapshotNode *n, int dir, const struct statx *now) {
    bool same = same_rights(now, &n->st) && now->stx_size == n->st.stx_size;
    if (same && n->known)
        same = same_content(c, n, dir);
    else if (same && n->has_mac)
        same = same_mac(s, c, n, dir);
    else if (same)
        same = same_time(now->stx_ctime, n->st.stx_ctime) && now->stx_ino == n->st.stx_ino;
    if (!same)
        tell(c, n, NULL, "was changed", "put back", c->look_only || (keep_other(c, n, dir, NULL), restore_file(dir, n)));
    else if (!c->look_only && n->known && touched(n, now))
        renew_file(n, dir, now);
    else if (c->learn)
        n->st = *now;
}

static void check_link(SnapshotCheck *c, SnapshotNode *n, int dir) {
    Buf text = { 0 };
    bool same = snapshot_read_link(dir, n->name, &text) && str_eq(buf_str(&text), buf_str(&n->content));
    buf_clear(&text);
    if (!same)
        tell(c, n, NULL, "was changed", "put back", c->look_only || restore_link(dir, n));
}

/* Both are sorted: entries only in `names` are new. */
static void remove_new(Snapshot *s, SnapshotCheck *c, SnapshotNode *n, int fd) {
    SnapshotNames names = { 0 };
    size_t k = 0;
    if (!snapshot_list(fd, &names))
        tell(c, n, NULL, "was changed", "compared", false);
    for (size_t i = 0; i < names.n; i++) {
        int order = -1;
        while (k < n->child.n && (order = strcmp(n->child.at[k]->name, names.at[i])) < 0)
            k++;
        if (k == n->child.n || order != 0)
            tell(c, n, names.at[i], "was made", "removed", c->look_only || (keep_other(c, n, fd, names.at[i]), remove_entry(s, fd, names.at[i])));
    }
    snapshot_names_clear(&names);
}

static void check_folder(Snapshot *s, SnapshotCheck *c, SnapshotNode *n, int dir, const struct statx *now) {
    bool as_it_was = unchanged(n, now), rights = same_rights(now, &n->st), settled = snapshot_settled(now);
    size_t before = c->differences;
    int fd = walk_open(dir, n->name, O_PATH | O_DIRECTORY, 0);
    if (fd < 0)
        return tell(c, n, NULL, "was changed", "compared", false);
    if (!rights && !c->look_only)                      /* it may deny us access; the right mode is set last */
        walk_chmod(fd, (n->st.stx_mode & 07777) | 0700);
    if (!as_it_was)
        remove_new(s, c, n, fd);
    for (size_t i = 0; i < n->child.n; i++)
        check(s, c, n->child.at[i], fd);
    if (!rights)
        tell(c, n, NULL, "was changed", "put back",
             c->look_only || (restore_owner(fd, &n->st) && walk_chmod(fd, n->st.stx_mode & 07777)));
    close(fd);
    if (c->differences != before) {
        if (!c->look_only)
            noted(dir, n);
    } else if (!as_it_was) {
        n->st = *now;
        n->recent = !settled;
    }
}

/* True if this link makes a path below n exist that must be missing or have another form. */
static bool leads_on(int dir, const SnapshotNode *n, Buf *path) {
    size_t length = path->n;
    struct stat st;
    bool found = false;
    buf_add_fmt(path, "%s%s", length ? "/" : "", n->name);
    if (n->whole)
        found = fstatat(dir, path->at, &st, 0) == 0;
    for (size_t i = 0; !n->whole && i < n->child.n && !found; i++)
        found = leads_on(dir, n->child.at[i], path);
    path->n = length;
    path->at[length] = 0;
    return found;
}

/* A folder on the path may be changed, but not made inaccessible. */
static void keep_open(SnapshotCheck *c, const SnapshotNode *n, int fd, const struct statx *now) {
    if (n->kind == 'd' && (n->st.stx_mode & ~now->stx_mode & 0700) && now->stx_uid == n->st.stx_uid && n->needed)
        tell(c, n, NULL, "was made inaccessible", "made accessible again", c->look_only || walk_chmod(fd, n->st.stx_mode & 07777));
}

static void check_way(Snapshot *s, SnapshotCheck *c, SnapshotNode *n, int dir, const struct statx *now, char kind) {
    Buf path = { 0 };
    if (n->kind == 'l' && kind == 'l') {
        check_link(c, n, dir);
    } else if (kind == 'd' && n->kind != 'l') {
        int fd = walk_open(dir, n->name, O_PATH | O_DIRECTORY, 0);
        if (fd >= 0)
            keep_open(c, n, fd, now);
        for (size_t i = 0; fd >= 0 && i < n->child.n; i++)
            check(s, c, n->child.at[i], fd);
        if (fd < 0)
            tell(c, n, NULL, "was changed", "compared", false);
        else
            close(fd);
    } else if (n->needed) {
        bool ok = c->look_only || ((kind == '-' || (kind == 'l' ? remove_entry(s, dir, n->name) : displace(dir, n->name)))
                                   && snapshot_restore(dir, n));
        tell(c, n, NULL, kind == '-' ? "was removed" : "was replaced", "put back", ok);
    } else if (kind == 'l' && leads_on(dir, n, &path)) {
        tell(c, n, NULL, "was made", "removed", c->look_only || remove_entry(s, dir, n->name));
    }
    buf_clear(&path);
}

/* A new git worktree names its repository: two folders up, and nothing else. */
static bool is_new_worktree(SnapshotCheck *c, const SnapshotNode *n, int dir) {
    struct statx st;
    buf_reset(&c->content);
    return strcmp(n->name, "commondir") == 0 && snapshot_read_file(dir, n->name, 16, &st, &c->content)
        && str_eq(str_trim(buf_str(&c->content)), STR("../.."));
}

/* The entry `name` of the folder above "*". Shows paths with its name. */
static void check_other(Snapshot *s, SnapshotCheck *c, SnapshotNode *n, int dir, char *name) {
    struct statx st;
    char *star = n->name;
    bool there = walk_stat(dir, name, &st);
    if (!there && errno == ENOENT)
        return;
    char kind = there ? snapshot_kind(&st) : '-';
    int fd = kind == 'd' ? walk_open(dir, name, O_PATH | O_DIRECTORY, 0) : -1;
    bool made = n->whole || kind == 'l' || strcmp(name, star) == 0;       /* an entry named "*" would match this node
                                                                           * next time */
    n->name = name;
    if (made && n->whole && !c->look_only)
        keep_other(c, n, dir, NULL);
    if (made)
        tell(c, n, NULL, "was made", "removed", c->look_only || remove_entry(s, dir, name));
    else if (!there || (kind == 'd' && fd < 0))
        tell(c, n, NULL, "was changed", "compared", false);
    for (size_t i = 0; !made && fd >= 0 && i < n->child.n; i++)
        if (!is_new_worktree(c, n->child.at[i], fd))
            check(s, c, n->child.at[i], fd);
    n->name = star;
    if (fd >= 0)
        close(fd);
}

static void check_others(Snapshot *s, SnapshotCheck *c, SnapshotNode *n, int dir) {
    SnapshotNames names = { 0 };
    Table known = { 0 };
    if (!snapshot_list(dir, &names))
        tell(c, n, NULL, "was changed", "compared", false);
    snapshot_index(n->parent, n, &known);
    for (size_t i = 0; i < names.n; i++)
        if (!table_has(&known, str_from(names.at[i])) && snapshot_means(n, dir, names.at[i]))
            check_other(s, c, n, dir, names.at[i]);
    table_clear(&known);
    snapshot_names_clear(&names);
}

/* A file of a git operation that waits to be continued: it may be removed, and may change as git_steps.h says. */
static bool is_allowed_step(SnapshotCheck *c, const SnapshotNode *n, int dir, char kind) {
    enum { STEP_BYTES_MAX = 4 << 20 };
    struct statx st;
    if (!snapshot_is_step(n) || (kind != '-' && (kind != 'f' || n->has_mac))) return false;
    if (kind == '-') return true;
    buf_reset(&c->content);
    return snapshot_read_file(dir, n->name, STEP_BYTES_MAX, &st, &c->content)
        && git_steps_allow(n->parent->name, n->name, n->kind == 'f' ? buf_str(&n->content) : STR(""), buf_str(&c->content));
}

/* Compares one node. Every protected path passes through here, so this is the place for a future check: if every running program has the
 * path mounted read-only, the user made the change, and it need not be reverted. */
static void check(Snapshot *s, SnapshotCheck *c, SnapshotNode *n, int dir) {
    struct statx now;
    if (snapshot_is_star(n))
        return check_others(s, c, n, dir);
    bool there = walk_stat(dir, n->name, &now);
    if (!there && errno != ENOENT && errno != ENOTDIR && errno != ENAMETOOLONG)
        return tell(c, n, NULL, "was changed", "compared", false);
    char kind = there ? snapshot_kind(&now) : '-';
    if (!n->whole)
        return check_way(s, c, n, dir, &now, kind);
    if (is_allowed_step(c, n, dir, kind))
        return;
    if ((n->kind == '-' || n->kind == 'o') && (kind == '-' || kind == n->kind))   /* sockets and similar files are ignored */
        return;
    if (n->kind == '-')
        return tell(c, n, NULL, "was made", "removed", c->look_only || (keep_other(c, n, dir, NULL), remove_entry(s, dir, n->name)));
    if (kind != n->kind && n->has_mac)
        return errno = ENODATA, tell(c, n, NULL, there ? "was replaced" : "was removed", "put back", c->look_only);
    if (kind != n->kind)
        return tell(c, n, NULL, there ? "was replaced" : "was removed", "put back",
                    c->look_only || (keep_other(c, n, dir, NULL), remove_entry(s, dir, n->name) && snapshot_restore(dir, n)));
    if (kind == 'f')
        check_file(s, c, n, dir, &now);
    else if (kind == 'l')
        check_link(c, n, dir);
    else
        check_folder(s, c, n, dir, &now);
}

void snapshot_verify(Snapshot *s, SnapshotCheck *c) {
    SnapshotNode *top = s->top;
    for (size_t i = 0; i < top->child.n; i++)
        check(s, c, top->child.at[i], s->nowhere.top);
    buf_clear(&c->content);
}
