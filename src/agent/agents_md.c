#include "agent/agents_md.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>
#include "artifact/document.h"
#include "base/utf8.h"

/* The working folder, relative to the root; empty: the root itself, or a folder elsewhere. */
static Str start_folder(Str root, char cwd[static PATH_MAX]) {
    if (!getcwd(cwd, PATH_MAX)) return STR("");
    Str at = str_from(cwd);
    if (!str_starts(at, root) || at.n <= root.n + 1 || at.at[root.n] != '/') return STR("");
    return str_sub(at, root.n + 1, at.n);
}

static bool read_text(const DocumentContext *c, Str path, Buf *out) {
    struct stat st;
    int fd = document_open(c, path, O_RDONLY);
    bool ok = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    while (ok && out->n <= AGENTS_MD_MAX) {
        char *room = buf_room(out, AGENTS_MD_MAX + 1);
        ssize_t n = read(fd, room, AGENTS_MD_MAX + 1 - out->n);
        if (n < 0 && errno == EINTR) continue;
        ok = n >= 0;
        if (n <= 0) break;
        buf_commit(out, (size_t)n);
    }
    if (fd >= 0) close(fd);
    return ok && str_trim(buf_str(out)).n > 0;
}

/* Looks in `folder` and then in each folder above it, up to the root. */
static bool find(const DocumentContext *c, Str folder, const char *name, Buf *path, Buf *text) {
    for (;;) {
        buf_reset(path);
        buf_reset(text);
        buf_add_fmt(path, STR_FMT "%s%s", STR_ARG(folder), folder.n ? "/" : "", name);
        if (read_text(c, buf_str(path), text)) return true;
        if (folder.n == 0) return false;
        while (folder.n && folder.at[folder.n - 1] != '/') folder.n--;
        if (folder.n) folder.n--;
    }
}

void agents_md_read(const Project *p, Buf *out) {
    char cwd[PATH_MAX];
    Value wanted = value_member(p->settings.context, "agents_md");
    if (value_is_bool(wanted) && !value_bool(wanted)) return;
    Str folder = start_folder(p->root, cwd);
    DocumentContext c = { .root_fd = open(p->root.at, O_PATH | O_DIRECTORY | O_CLOEXEC) };
    Buf path = { 0 }, text = { 0 };
    if (c.root_fd >= 0 && (find(&c, folder, "AGENTS.md", &path, &text) || find(&c, folder, "CLAUDE.md", &path, &text))) {
        bool cut = text.n > AGENTS_MD_MAX;
        Str shown = str_sub(buf_str(&text), 0, cut ? AGENTS_MD_MAX : text.n);
        shown.n = utf8_valid_prefix(shown);
        buf_add_fmt(out, "# Instructions of this repository (" STR_FMT ")\n\n", STR_ARG(buf_str(&path)));
        buf_add(out, str_trim(shown));
        if (cut) buf_add_fmt(out, "\n\n(" STR_FMT " is longer than 32 KiB; the rest is left out)", STR_ARG(buf_str(&path)));
    }
    if (c.root_fd >= 0) close(c.root_fd);
    buf_clear(&path);
    buf_clear(&text);
}
