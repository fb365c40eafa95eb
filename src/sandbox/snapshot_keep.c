/* Serializes a snapshot for another process: a header, the nodes from the top down, a checksum.
 *
 * The files are this program's own, in the state folder. Rejects anything that is not a snapshot of this version. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>
#include "base/hash.h"
#include "base/mem.h"
#include "base/random.h"
#include "sandbox/snapshot.h"

static const char magic[8] = "hsnap 1";
static const uint8_t sum_key[16] = "snapshot of file";
enum { WHOLE = 1, NEEDED = 2, KNOWN = 4, RECENT = 8, MAC = 16 };

typedef struct Record {
    uint32_t depth, name_n;
    uint64_t content_n;
    uint8_t kind, flags;
    uint8_t mac[SNAPSHOT_MAC];
    uint8_t pad[6];
    struct statx st;
} Record;

void snapshot_mac(const Snapshot *s, Str bytes, uint8_t out[SNAPSHOT_MAC]) {
    uint64_t a = hash_sip24(bytes, s->key), b = hash_sip24(bytes, s->key + 16);
    memcpy(out, &a, sizeof a);
    memcpy(out + sizeof a, &b, sizeof b);
}

/* For folders on the path only the rights matter, and access times never do, so that an unchanged tree gives the same
 * bytes. */
static struct statx plain(const SnapshotNode *n) {
    struct statx st = n->st, kept = { .stx_mode = st.stx_mode, .stx_uid = st.stx_uid, .stx_gid = st.stx_gid };
    if (n->kind == '-') return (struct statx){ 0 };
    if (!n->whole) return kept;
    kept.stx_ino = st.stx_ino;
    kept.stx_size = n->kind == 'd' ? 0 : st.stx_size;
    kept.stx_dev_major = st.stx_dev_major;
    kept.stx_dev_minor = st.stx_dev_minor;
    kept.stx_mtime = st.stx_mtime;
    kept.stx_ctime = st.stx_ctime;
    return kept;
}

static void write_node(const Snapshot *s, const SnapshotNode *n, bool contents, uint32_t depth, Buf *out) {
    bool file = n->kind == 'f' && n->known, mac = (file && !contents) || n->has_mac;
    Str content = mac ? STR("") : buf_str(&n->content);
    Record r = { .depth = depth, .name_n = (uint32_t)strlen(n->name), .content_n = content.n, .kind = (uint8_t)n->kind, .st = plain(n) };
    r.flags = (uint8_t)((n->whole ? WHOLE : 0) | (n->needed ? NEEDED : 0) | (n->known && !mac ? KNOWN : 0) | (n->recent
        && n->kind == 'd' ? RECENT : 0) | (mac ? MAC : 0));
    if (mac && n->has_mac) memcpy(r.mac, n->mac, sizeof r.mac);
    else if (mac) snapshot_mac(s, buf_str(&n->content), r.mac);
    buf_add(out, (Str){ (const char *)&r, sizeof r });
    buf_add(out, str_from(n->name));
    buf_add(out, content);
    for (size_t i = 0; i < n->child.n; i++) write_node(s, n->child.at[i], contents, depth + 1, out);
}

void snapshot_write(Snapshot *s, bool contents, Buf *out) {
    size_t from = out->n;
    if (!contents) random_fill(s->key, sizeof s->key);
    buf_add(out, (Str){ magic, sizeof magic });
    buf_add(out, (Str){ (const char *)s->key, sizeof s->key });
    write_node(s, s->top, contents, 0, out);
    uint64_t sum = hash_sip24(str_sub(buf_str(out), from, out->n), sum_key);
    buf_add(out, (Str){ (const char *)&sum, sizeof sum });
}

static bool take_bytes(Str *rest, void *out, size_t n) {
    if (rest->n < n) return false;
    memcpy(out, rest->at, n);
    *rest = str_sub(*rest, n, rest->n);
    return true;
}

static bool read_node(Str *rest, SnapshotNode **way, uint32_t *deep, Snapshot *s) {
    Record r;
    if (!take_bytes(rest, &r, sizeof r) || r.name_n > rest->n || r.content_n > rest->n - r.name_n) return false;
    if (r.depth > *deep + 1 || r.depth > SNAPSHOT_DEPTH_MAX + 1 || (r.depth == 0) != (s->top == NULL)) return false;
    SnapshotNode *n = snapshot_node(r.depth ? way[r.depth - 1] : NULL, str_sub(*rest, 0, r.name_n));
    n->kind = (char)r.kind;
    n->whole = r.flags & WHOLE;
    n->needed = r.flags & NEEDED;
    n->known = r.flags & KNOWN;
    n->recent = r.flags & RECENT;
    n->has_mac = r.flags & MAC;
    n->st = r.st;
    memcpy(n->mac, r.mac, sizeof n->mac);
    buf_add(&n->content, str_sub(*rest, r.name_n, r.name_n + (size_t)r.content_n));
    *rest = str_sub(*rest, r.name_n + (size_t)r.content_n, rest->n);
    if (!s->top) s->top = n;
    way[r.depth] = n;
    *deep = r.depth;
    return true;
}

bool snapshot_read(Str bytes, Snapshot *s, Error *err) {
    SnapshotNode *way[SNAPSHOT_DEPTH_MAX + 2];
    uint64_t sum;
    uint32_t deep = 0;
    char head[sizeof magic];
    if (!snapshot_open(s, err)) return false;
    bool ok = bytes.n > sizeof magic + sizeof sum;
    Str rest = ok ? str_sub(bytes, 0, bytes.n - sizeof sum) : (Str){ 0 };
    if (ok) memcpy(&sum, bytes.at + rest.n, sizeof sum);
    ok = ok && hash_sip24(rest, sum_key) == sum && take_bytes(&rest, head, sizeof head) && memcmp(head, magic, sizeof magic) == 0
         && take_bytes(&rest, s->key, sizeof s->key);
    while (ok && rest.n) ok = read_node(&rest, way, &deep, s);
    return (ok && s->top) || error_set(err, ERR_IO, "not a snapshot of this version");
}
