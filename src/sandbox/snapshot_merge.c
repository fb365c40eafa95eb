/* Merges and compares two snapshots of the same files. */
#include <stdlib.h>
#include "base/diff.h"
#include "base/mem.h"
#include "base/nearly.h"
#include "base/utf8.h"
#include "sandbox/snapshot.h"

enum { DIFF_BYTES_MAX = 1 << 20 };

static SnapshotNode *find_child(const SnapshotNode *n, const char *name) {
    for (size_t i = 0; i < n->child.n; i++)
        if (strcmp(n->child.at[i]->name, name) == 0) return n->child.at[i];
    return NULL;
}

static int by_name(const void *a, const void *b) { return strcmp((*(SnapshotNode *const *)a)->name, (*(SnapshotNode *const *)b)->name); }

/* After nodes were added or removed. */
static bool settle(SnapshotNode *n) {
    n->needed = n->kind != '-' && ((n->whole && !snapshot_is_step(n)) || n->kind == 'l');
    if (n->child.n) qsort(n->child.at, n->child.n, sizeof *n->child.at, by_name);
    for (size_t i = 0; i < n->child.n; i++) n->needed |= settle(n->child.at[i]);
    return n->needed;
}

static size_t bytes_of(const SnapshotNode *n) {
    size_t sum = n->kind == 'f' ? n->content.n : 0;
    for (size_t i = 0; i < n->child.n; i++) sum += bytes_of(n->child.at[i]);
    return sum;
}

/* ---- paths ---- */

/* A "*" next to it does not match it. */
static bool is_free(const SnapshotNode *n) { return !n->whole && n->kind == '-' && n->child.n == 0 && n->parent && find_child(n->parent, "*"); }

static void add_paths(const SnapshotNode *n, SnapshotNames *out) {
    if (!n->whole && !is_free(n)) {
        for (size_t i = 0; i < n->child.n; i++) add_paths(n->child.at[i], out);
        return;
    }
    Buf path = { 0 };
    snapshot_path(n, &path);
    if (is_free(n)) buf_add(&path, STR("/?"));
    VEC_PUSH(out, buf_take(&path));
}

bool snapshot_take_again(const Snapshot *s, size_t limit, Snapshot *now) {
    SnapshotNames paths = { 0 };
    add_paths(s->top, &paths);
    VEC_PUSH(&paths, NULL);
    union { char **in; const char *const *out; } list = { paths.at };
    bool ok = snapshot_take(now, list.out, limit, NULL);
    paths.n--;
    snapshot_names_clear(&paths);
    return ok;
}

/* ---- merging ---- */

/* `b` belongs to the snapshot `base`, and may have only a digest. */
static bool same_content(const SnapshotNode *n, const SnapshotNode *b, const Snapshot *base) {
    uint8_t mac[SNAPSHOT_MAC];
    if (n->known && b->known) return str_eq(buf_str(&n->content), buf_str(&b->content));
    if (!n->known || !b->has_mac) return !n->known && !n->has_mac && !b->known && !b->has_mac;
    snapshot_mac(base, buf_str(&n->content), mac);
    return memcmp(mac, b->mac, sizeof mac) == 0;
}

/* True if `n`, without its children, equals `b`. Ignores times and inodes. */
static bool agrees(const SnapshotNode *n, const SnapshotNode *b, const Snapshot *base) {
    if (n->kind != b->kind) return false;
    if (n->kind == 'l' && !str_eq(buf_str(&n->content), buf_str(&b->content))) return false;
    if (n->kind == '-' || n->kind == 'o' || n->kind == 'l' || !b->whole) return true;
    if (n->st.stx_mode != b->st.stx_mode || n->st.stx_uid != b->st.stx_uid || n->st.stx_gid != b->st.stx_gid) return false;
    return n->kind != 'f' || same_content(n, b, base);
}

static void take_from(SnapshotNode *n, const SnapshotNode *b) {
    n->kind = b->kind;
    n->whole = b->whole;
    n->known = b->known;
    n->recent = true;                                      /* its times are inconclusive here */
    n->st = b->st;
    buf_reset(&n->content);
    buf_add(&n->content, buf_str(&b->content));
}

static void drop_children(SnapshotNode *n) {
    for (size_t i = 0; i < n->child.n; i++) snapshot_node_free(n->child.at[i]);
    n->child.n = 0;
}

static bool is_nearly(const char *name) { return nearly_project_file(str_from(name), true).n || nearly_project_file(str_from(name), false).n; }

/* Entries without a node in `b`. In a folder that is protected as a whole they did not exist. Elsewhere a node "*" covers all of them, and
 * NEARLY_NAMES some names. */
static void drop_new(SnapshotNode *n, const SnapshotNode *b, bool nearly) {
    size_t kept = 0;
    for (size_t i = 0; i < n->child.n; i++) {
        if (find_child(b, n->child.at[i]->name) || (nearly && !is_nearly(n->child.at[i]->name))) n->child.at[kept++] = n->child.at[i];
        else snapshot_node_free(n->child.at[i]);
    }
    n->child.n = kept;
}

typedef struct Merge { const Snapshot *base; const SnapshotNode *lost; } Merge;

static void merge(Merge *m, SnapshotNode *n, const SnapshotNode *b) {
    if ((b->whole && n->kind == 'd' && b->kind == 'd') || find_child(b, "*")) {
        drop_new(n, b, false);
        n->recent = true;
    } else if (find_child(b, NEARLY_NAMES)) {
        drop_new(n, b, true);
    }
    if ((b->whole || b->needed) && !agrees(n, b, m->base)) {
        bool whole = n->whole && n->kind == b->kind;       /* it may be fully protected in one and only lead to a
                                                            * protected path in the other */
        if (n->kind != b->kind) drop_children(n);
        if (b->has_mac) m->lost = b;
        take_from(n, b);
        n->whole = n->whole || whole;
    }
    n->whole = n->whole || b->whole;
    for (size_t i = 0; i < b->child.n; i++) {
        SnapshotNode *mine = find_child(n, b->child.at[i]->name);
        if (!mine) {
            take_from(mine = snapshot_node(n, str_from(b->child.at[i]->name)), b->child.at[i]);
            if (b->child.at[i]->has_mac) m->lost = b->child.at[i];
        }
        merge(m, mine, b->child.at[i]);
    }
}

bool snapshot_merge(Snapshot *s, const Snapshot *base, Error *err) {
    Merge m = { .base = base };
    Buf path = { 0 };
    merge(&m, s->top, base->top);
    (void)settle(s->top);
    s->bytes = bytes_of(s->top);
    if (!m.lost) return true;
    snapshot_path(m.lost, &path);
    error_set(err, ERR_SANDBOX, "%s changed while another harness is running a call here, and only a digest of the earlier content was recorded", buf_str(&path).at);
    error_hint(err, "wait until the other harness has ended");
    buf_clear(&path);
    return false;
}

/* ---- moving ---- */

static SnapshotNode *find_path(SnapshotNode *n, Str path) {
    Str part;
    while (n && path.n) {
        size_t end = 1;
        while (end < path.n && path.at[end] != '/') end++;
        part = str_sub(path, 1, end);
        path = str_sub(path, end, path.n);
        char *name = str_dup(part);
        if (part.n) n = find_child(n, name);
        free(name);
    }
    return n;
}

static void detach(SnapshotNode *n) {
    SnapshotNode *p = n->parent;
    size_t kept = 0;
    for (size_t i = 0; i < p->child.n; i++)
        if (p->child.at[i] != n) p->child.at[kept++] = p->child.at[i];
    p->child.n = kept;
}

/* The node of an existing folder, with its parents. */
static SnapshotNode *make_way(SnapshotNode *n, Str path) {
    while (path.n > 1) {
        size_t end = 1;
        while (end < path.n && path.at[end] != '/') end++;
        char *name = str_dup(str_sub(path, 1, end));
        SnapshotNode *next = find_child(n, name);
        if (!next) {
            next = snapshot_node(n, str_from(name));
            next->kind = 'd';
        }
        free(name);
        n = next;
        path = str_sub(path, end, path.n);
    }
    return n;
}

void snapshot_move(Snapshot *s, const char *from, const char *to) {
    SnapshotNode *n = find_path(s->top, str_from(from));
    const char *slash = strrchr(to, '/');
    if (!n || !n->parent || !slash || strcmp(from, to) == 0) return;
    detach(n);
    SnapshotNode *above = make_way(s->top, (Str){ to, (size_t)(slash - to) }), *old = find_child(above, slash + 1);
    if (old) detach(old), snapshot_node_free(old);
    free(n->name);
    n->name = str_dup(str_from(slash + 1));
    n->parent = above;
    VEC_PUSH(&above->child, n);
    (void)settle(s->top);
}

void snapshot_forget(Snapshot *s, const char *path) {
    SnapshotNode *n = find_path(s->top, str_from(path));
    if (!n || !n->parent) return;
    detach(n);
    snapshot_node_free(n);
    (void)settle(s->top);
}

void snapshot_only(Snapshot *s, const char *path) {
    SnapshotNode *n = find_path(s->top, str_from(path));
    if (!n) drop_children(s->top);
    for (; n && n->parent; n = n->parent) {
        SnapshotNode *above = n->parent;
        detach(n);
        drop_children(above);
        VEC_PUSH(&above->child, n);
    }
    (void)settle(s->top);
}

/* ---- differences ---- */

typedef struct Differ { Str root; Buf *out; const Snapshot *s; } Differ;

static bool is_text(Str s) { return s.n == 0 || !memchr(s.at, 0, s.n); }

static Str shown_path(const Differ *d, const SnapshotNode *n, Buf *path) {
    snapshot_path(n, path);
    Str p = buf_str(path);
    return d->root.n > 1 && str_starts(p, d->root) && p.n > d->root.n && p.at[d->root.n] == '/' ? str_sub(p, d->root.n + 1, p.n) : p;
}

static const char *what_happened(const SnapshotNode *a, const SnapshotNode *b) {
    if (!a || a->kind == '-') return b->kind == 'd' ? "a new folder" : b->kind == 'l' ? "a new link" : "a new file";
    if (!b || b->kind == '-') return "removed";
    if (a->kind != b->kind) return "replaced by something of another kind";
    return a->kind == 'l' ? "has another target" : "changed";
}

static void add_text(Differ *d, const char *path, const SnapshotNode *a, const SnapshotNode *b) {
    bool was = a && a->kind == 'f', is = b && b->kind == 'f';
    Str before = was ? buf_str(&a->content) : STR(""), now = is ? buf_str(&b->content) : STR("");
    bool show = (was || is) && (!was || a->known) && (!is || b->known) && is_text(before) && is_text(now) && before.n + now.n <= DIFF_BYTES_MAX;
    if (show && str_eq(before, now)) buf_add_fmt(d->out, "  rights or owner: %04o to %04o\n", a && was ? a->st.stx_mode & 07777u : 0u, b
        && is ? b->st.stx_mode & 07777u : 0u);
    else if (show) diff_unified(before, now, &(DiffStyle){ .from = was ? path : "/dev/null", .to = is ? path : "/dev/null", .context = 3 }, d->out);
    else if (was || is) buf_add(d->out, STR("  the content is not shown: it is large, not text, or not recorded\n"));
    if (!b || b->kind != 'l') return;
    buf_add(d->out, STR("  it leads to "));
    utf8_escape(buf_str(&b->content), false, d->out);
    buf_add_char(d->out, '\n');
}

static void add_one(Differ *d, const SnapshotNode *a, const SnapshotNode *b) {
    Buf path = { 0 }, name = { 0 };
    utf8_escape(shown_path(d, a ? a : b, &path), false, &name);
    buf_add_fmt(d->out, STR_FMT ": %s\n", STR_ARG(buf_str(&name)), what_happened(a, b));
    add_text(d, name.at, a, b);
    buf_clear(&path);
    buf_clear(&name);
}

/* `a` from the record, `b` from disk; NULL: absent. */
static void differ(Differ *d, const SnapshotNode *a, const SnapshotNode *b) {
    bool whole = (a && a->whole) || (b && b->whole), none = (!a || a->kind == '-') && (!b || b->kind == '-');
    if (whole && !none && (!a || !b || !agrees(b, a, d->s))) add_one(d, a, b);
    for (size_t i = 0; a && i < a->child.n; i++) differ(d, a->child.at[i], b ? find_child(b, a->child.at[i]->name) : NULL);
    for (size_t i = 0; b && i < b->child.n; i++)
        if (!a || !find_child(a, b->child.at[i]->name)) differ(d, NULL, b->child.at[i]);
}

void snapshot_diff(const Snapshot *s, const Snapshot *now, Str root, Buf *out) {
    Differ d = { .root = root, .out = out, .s = s };
    differ(&d, s->top, now->top);
}
