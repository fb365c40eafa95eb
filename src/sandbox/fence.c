#include "sandbox/fence.h"
#include "base/mem.h"
#include "base/nearly.h"
#include "base/table.h"
#include "base/utf8.h"
#include "base/vec.h"

enum { INDEX_MIN = 32 };

struct FenceNode {
    Str name;
    FenceNode *parent;
    VEC(FenceNode *) child;
    Table index;                        /* of the children by name, once there are INDEX_MIN */
    bool exists, locked, hidden, free;
    FileId id;
};

struct Fence {
    VEC(FenceNode *) node;              /* all of them; [0] is the top */
    VEC(FenceNode *) by_file;           /* those that exist, by id */
};

static FenceNode *node_new(Fence *f, FenceNode *parent, Str name) {
    FenceNode *n = mem_zero(1, sizeof *n);
    n->name = (Str){ mem_dup(name.at, name.n), name.n };
    n->parent = parent ? parent : n;
    VEC_PUSH(&f->node, n);
    return n;
}

Fence *fence_new(void) {
    Fence *f = mem_zero(1, sizeof *f);
    node_new(f, NULL, STR(""));
    return f;
}

void fence_free(Fence *f) {
    if (!f)
        return;
    for (size_t i = 0; i < f->node.n; i++) {
        VEC_CLEAR(&f->node.at[i]->child);
        table_clear(&f->node.at[i]->index);
        free((void *)(uintptr_t)f->node.at[i]->name.at);
        free(f->node.at[i]);
    }
    VEC_CLEAR(&f->node);
    VEC_CLEAR(&f->by_file);
    free(f);
}

FenceNode *fence_top(Fence *f) { return f->node.at[0]; }
FenceNode *fence_parent(FenceNode *node) { return node->parent; }

void fence_set(FenceNode *node, const FileId *id) {
    node->exists = true;
    node->id = *id;
}

/* A configuration of git can name thousands of files of one folder. */
static FenceNode *find_child(const FenceNode *parent, Str name) {
    if (parent->index.n)
        return table_get(&parent->index, name);
    for (size_t i = 0; i < parent->child.n; i++)
        if (str_eq(parent->child.at[i]->name, name))
            return parent->child.at[i];
    return NULL;
}

static void add_child(FenceNode *parent, FenceNode *n) {
    VEC_PUSH(&parent->child, n);
    if (parent->child.n < INDEX_MIN)
        return;
    for (size_t i = parent->index.n; i < parent->child.n; i++)
        table_put(&parent->index, parent->child.at[i]->name, parent->child.at[i]);
}

FenceNode *fence_child(Fence *f, FenceNode *parent, Str name, const FileId *id) {
    FenceNode *found = find_child(parent, name);
    if (!found) {
        found = node_new(f, parent, name);
        add_child(parent, found);
    }
    if (id)
        fence_set(found, id);
    return found;
}

void fence_close(FenceNode *node, bool hidden) {
    node->locked = true;
    node->hidden |= hidden;
}

void fence_free_name(FenceNode *node) { node->free = true; }

bool fence_is_free(const FenceNode *node) { return node->free && !node->locked && node->child.n == 0; }
bool fence_is_closed(const FenceNode *node) { return node->locked; }
Str fence_name(const FenceNode *node) { return node->name; }

size_t fence_children(const FenceNode *node, FenceNode *const **out) {
    *out = node->child.at;
    return node->child.n;
}

static int compare_ids(FileId a, FileId b) {
    return a.inode != b.inode ? (a.inode < b.inode ? -1 : 1)
         : a.device != b.device ? (a.device < b.device ? -1 : 1)
         : a.born_ns != b.born_ns ? (a.born_ns < b.born_ns ? -1 : 1) : 0;
}

static int compare_nodes(const void *a, const void *b) {
    return compare_ids((*(FenceNode *const *)a)->id, (*(FenceNode *const *)b)->id);
}

void fence_sort(Fence *f) {
    f->by_file.n = 0;
    for (size_t i = 0; i < f->node.n; i++)
        if (f->node.at[i]->exists)
            VEC_PUSH(&f->by_file, f->node.at[i]);
    if (f->by_file.n)
        qsort(f->by_file.at, f->by_file.n, sizeof *f->by_file.at, compare_nodes);
}

/* ---- names that may refer to the same file where a folder ignores case ---- */

/* Code points that a case-insensitive folder ignores or maps to ASCII letters. */
static bool is_ignored(uint32_t c) {
    static const uint32_t ranges[][2] = {
        { 0xad, 0xad }, { 0x34f, 0x34f }, { 0x61c, 0x61c }, { 0x115f, 0x1160 }, { 0x17b4, 0x17b5 }, { 0x180b, 0x180f },
        { 0x200b, 0x200f }, { 0x202a, 0x202e }, { 0x2060, 0x206f }, { 0x3164, 0x3164 }, { 0xfe00, 0xfe0f },
        { 0xfeff, 0xfeff }, { 0xffa0, 0xffa0 }, { 0xfff0, 0xfff8 }, { 0x1bca0, 0x1bca3 }, { 0x1d173, 0x1d17a },
        { 0xe0000, 0xe0fff },
    };
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (c >= ranges[i][0] && c <= ranges[i][1])
            return true;
    return false;
}

static const char *folded_to(uint32_t c) {
    static const struct { uint32_t c; const char *to; } folds[] = {
        { 0xdf, "ss" }, { 0x17f, "s" }, { 0x1e9e, "ss" }, { 0x212a, "k" }, { 0xfb00, "ff" }, { 0xfb01, "fi" },
        { 0xfb02, "fl" }, { 0xfb03, "ffi" }, { 0xfb04, "ffl" }, { 0xfb05, "st" }, { 0xfb06, "st" },
    };
    for (size_t i = 0; i < sizeof folds / sizeof *folds; i++)
        if (folds[i].c == c)
            return folds[i].to;
    return NULL;
}

static void fold(Str s, Buf *out) {
    for (size_t length; s.n; s = str_sub(s, length, s.n)) {
        uint32_t c = utf8_decode(s, &length);
        const char *to = c < 0x80 ? NULL : folded_to(c);
        if (c < 0x80)
            buf_add_char(out, (char)(c >= 'A' && c <= 'Z' ? c + 32 : c));
        else if (to)
            buf_add(out, str_from(to));
        else if (!is_ignored(c))
            buf_add(out, str_sub(s, 0, length));
    }
}

static bool same_folded(Str a, Str b) {
    Buf x = { 0 }, y = { 0 };
    fold(a, &x);
    fold(b, &y);
    bool same = str_eq(buf_str(&x), buf_str(&y));
    buf_clear(&x);
    buf_clear(&y);
    return same;
}

/* An existing name is compared exactly; for a missing one every spelling counts. */
static bool same_name(const FenceNode *n, Str name) {
    return str_eq(n->name, name) || (!n->exists && same_folded(n->name, name));
}

/* Matches every name for which the folder has no other node. */
static bool is_star(const FenceNode *n, Str name) {
    if (n->exists) return false;
    if (str_eq(n->name, STR(NEARLY_NAMES))) return nearly_project_file(name, true).n || nearly_project_file(name, false).n;
    return str_eq(n->name, STR("*"));
}

/* ---- matching ---- */

static void match_add(FenceMatch *m, const FenceNode *n) {
    if (fence_is_free(n))
        return;
    m->locked |= n->locked;
    m->hidden |= n->hidden;
    for (uint32_t i = 0; i < m->n; i++)
        if (m->node[i] == n)
            return;
    if (m->n == FENCE_MATCH_MAX)                       /* more names than realistic: err on the strict side */
        m->locked = true;
    else
        m->node[m->n++] = n;
}

static void match_file(const Fence *f, const FileId *id, FenceMatch *m) {
    size_t low = 0, high = f->by_file.n;
    while (low < high) {                               /* binary search: first node that is not less */
        size_t middle = low + (high - low) / 2;
        if (compare_ids(f->by_file.at[middle]->id, *id) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < f->by_file.n && fence_same(f->by_file.at[low]->id, *id); low++)
        match_add(m, f->by_file.at[low]);
}

FenceMatch fence_start(const Fence *f, const FileId *id, const FenceMatch *above) {
    FenceMatch m = above ? *above : (FenceMatch){ 0 };
    match_file(f, id, &m);
    return m;
}

FenceMatch fence_enter(const Fence *f, const FenceMatch *parent, Str name, const FileId *id) {
    FenceMatch m = { .locked = parent->locked, .hidden = parent->hidden };
    for (uint32_t i = 0; i < parent->n; i++) {
        const FenceNode *p = parent->node[i], *star = NULL;
        bool named = false;
        for (size_t k = 0; k < p->child.n; k++) {
            if (is_star(p->child.at[k], name))
                star = p->child.at[k];
            if (!same_name(p->child.at[k], name))
                continue;
            named = true;
            match_add(&m, p->child.at[k]);
        }
        if (star && !named)
            match_add(&m, star);
    }
    if (id)
        match_file(f, id, &m);
    return m;
}
