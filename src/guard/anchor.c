#include "guard/anchor.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <syslog.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/file.h"

enum { HASH_BYTES = 32, HASH_TEXT = 2 * HASH_BYTES, FILE_MAX = 256 << 20 };

static void add_hash(Buf *out, const uint8_t hash[HASH_BYTES]) {
    for (int i = 0; i < HASH_BYTES; i++) buf_add_fmt(out, "%02x", hash[i]);
}

/* One write at the end of the file, so that lines of processes that run at once do not mix. */
static bool append(const char *path, Str line, Error *err) {
    struct stat st;
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    if (fd < 0) return error_set(err, ERR_IO, "audit.anchor: %s: %m", path);
    bool ok = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    if (!ok) error_set(err, ERR_IO, "audit.anchor: %s is not a file", path);
    else if (write(fd, line.at, line.n) != (ssize_t)line.n) ok = error_set(err, ERR_IO, "audit.anchor: %s: %m", path);
    close(fd);
    return ok;
}

static bool write_one(Str anchor, Str text, Error *err) {
    char time[CLOCK_TEXT_SIZE];
    Buf line = { 0 };
    if (!guard_anchor_is_file(anchor)) {
        openlog("harness-guard", LOG_PID, LOG_AUTHPRIV);
        syslog(LOG_NOTICE, STR_FMT, STR_ARG(text));
        closelog();
        return true;
    }
    clock_format(clock_wall_ns(), time);
    buf_add_fmt(&line, "%s " STR_FMT "\n", time, STR_ARG(text));
    Buf path = { 0 };
    buf_add(&path, anchor);
    bool ok = append(path.at, buf_str(&line), err);
    buf_clear(&path);
    buf_clear(&line);
    return ok;
}

bool guard_anchor_write(const GuardLayer *layers, size_t n_layers, Store *store, const char *path, Error *err) {
    Buf text = { 0 };
    uint8_t hash[HASH_BYTES];
    int64_t n = 0;
    bool ok = true, some = false;
    for (size_t i = 0; i < n_layers; i++) some |= layers[i].anchor.n > 0;
    if (!some) return true;
    if (!store_decision_last(store, &n, hash, err)) return false;
    buf_add_fmt(&text, "decision %lld ", (long long)n);
    add_hash(&text, hash);
    buf_add_fmt(&text, " %s", path);
    for (size_t i = 0; ok && i < n_layers; i++)
        if (layers[i].anchor.n) ok = write_one(layers[i].anchor, buf_str(&text), err);
    buf_clear(&text);
    return ok;
}

/* "TIME decision N HASH PATH" about the store at `path`. */
static bool read_line(Str line, const char *path, int64_t *n, Str *hash) {
    Str rest = line, parts[4];
    for (int i = 0; i < 4; i++) {
        ptrdiff_t blank = str_find_char(rest, ' ');
        if (blank < 0) return false;
        parts[i] = str_sub(rest, 0, (size_t)blank);
        rest = str_sub(rest, (size_t)blank + 1, rest.n);
    }
    if (!str_eq(parts[1], STR("decision")) || !str_eq(rest, str_from(path)) || parts[3].n != HASH_TEXT) return false;
    *n = strtoll(parts[2].at, NULL, 10);                 /* a blank follows */
    *hash = parts[3];
    return *n > 0;
}

static bool compare(Store *store, int64_t n, Str hash, GuardAnchored *out, Error *err) {
    uint8_t stored[HASH_BYTES];
    bool found = false;
    Buf text = { 0 };
    if (store && !store_decision_hash(store, n, stored, &found, err)) return false;
    if (found) add_hash(&text, stored);
    *out = (GuardAnchored){ n, !found || !str_eq(buf_str(&text), hash) };
    buf_clear(&text);
    return true;
}

/* Each hash covers all decisions before it, so the line with the largest number is enough; processes that ran at once may have written theirs in
 * another order. */
bool guard_anchor_check(Str anchor, Store *store, const char *path, GuardAnchored *out, Error *err) {
    Buf text = { 0 }, name = { 0 };
    int64_t n = 0, last = 0;
    Str hash = { 0 }, found = { 0 }, line;
    *out = (GuardAnchored){ 0 };
    buf_add(&name, anchor);
    bool there = access(name.at, F_OK) == 0, ok = !there || file_read(name.at, FILE_MAX, &text, err) || error_wrap(err, "audit.anchor: %s", name.at);
    for (Str rest = buf_str(&text); ok && rest.n && str_next_line(&rest, &line);)
        if (read_line(line, path, &n, &hash) && n >= last) last = n, found = hash;
    if (ok && last) ok = compare(store, last, found, out, err);
    buf_clear(&text);
    buf_clear(&name);
    return ok;
}
