#include "tool/protect/nested.h"
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "base/vec.h"

typedef struct Search { VEC(char *) folder; Table *known; Buf *fresh; } Search;

static char *join(const char *folder, const char *name) {
    Buf b = { 0 };
    buf_add_fmt(&b, "%s%s%s", folder, *folder ? "/" : "", name);
    return buf_take(&b);
}

static void note(Search *s, const char *path) {
    if (table_has(s->known, str_from(path))) return;
    table_put(s->known, str_from(str_dup(str_from(path))), s->known);
    if (s->fresh) buf_add_fmt(s->fresh, "%s\n", path);
}

static bool is_folder(int dir, const struct dirent *e) {
    struct stat st;
    if (e->d_type != DT_UNKNOWN) return e->d_type == DT_DIR;
    return fstatat(dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

/* Skips the workspace's own .git, which is protected, and does not search the .git of a nested repository. */
static void look_at(Search *s, const char *folder, DIR *d) {
    unsigned bare = 0;
    bool found = false;
    for (struct dirent *e; (e = readdir(d));) {
        const char *name = e->d_name;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) continue;
        found = found || strcmp(name, ".git") == 0;
        bare |= strcmp(name, "HEAD") == 0 ? 1 : strcmp(name, "objects") == 0 ? 2 : strcmp(name, "refs") == 0 ? 4 : 0;
        if (strcmp(name, ".git") != 0 && s->folder.n < NESTED_FOLDERS_MAX && is_folder(dirfd(d), e)) VEC_PUSH(&s->folder, join(folder, name));
    }
    if (*folder && (found || bare == 7)) note(s, folder);
}

void nested_look(const char *workspace, Table *known, Buf *fresh) {
    Search s = { .known = known, .fresh = fresh };
    VEC_PUSH(&s.folder, str_dup(STR("")));
    for (size_t i = 0; i < s.folder.n; i++) {
        char path[PATH_MAX];
        int n = snprintf(path, sizeof path, "%s/%s", workspace, s.folder.at[i]);
        DIR *d = n > 0 && n < (int)sizeof path ? opendir(path) : NULL;
        if (!d) continue;
        look_at(&s, s.folder.at[i], d);
        closedir(d);
    }
    for (size_t i = 0; i < s.folder.n; i++) free(s.folder.at[i]);
    VEC_CLEAR(&s.folder);
}

void nested_clear(Table *known) {
    for (size_t i = 0; i < known->n; i++) {
        union { const char *in; void *out; } key = { known->entry[i].key.at };
        free(key.out);
    }
    table_clear(known);
}
