#include "artifact/git.h"
#include <fcntl.h>
#include <git2.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/fault.h"
#include "base/library.h"

/* Debian's libgit2 1.5 leaks the match data of its regular expressions. Disables the leak checker during its calls
 * only. */
#ifndef __has_feature
#define __has_feature(feature) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#include <sanitizer/lsan_interface.h>
#define LEAKS_IGNORED(call) (__lsan_disable(), ignored_result = (call), __lsan_enable(), ignored_result)
#else
#define LEAKS_IGNORED(call) (ignored_result = (call))
#endif

#define FUNCTIONS(X) \
    X(git_libgit2_init) X(git_libgit2_opts) X(git_error_last) X(git_repository_open_bare) X(git_repository_init) \
    X(git_repository_free) X(git_repository_odb) X(git_odb_free) X(git_odb_read_header) X(git_remote_create_anonymous) \
    X(git_remote_fetch) X(git_remote_free) X(git_fetch_options_init) X(git_credential_ssh_key_from_agent) X(git_oid_fromstr) \
    X(git_oid_tostr) X(git_commit_lookup) X(git_commit_free) X(git_commit_tree) X(git_commit_id) X(git_revparse_single) \
    X(git_object_peel) X(git_object_free) X(git_tree_lookup) X(git_tree_free) X(git_tree_id) X(git_tree_entrycount) X(git_tree_entry_byindex) \
    X(git_tree_entry_bypath) X(git_tree_entry_free) X(git_tree_entry_name) X(git_tree_entry_id) X(git_tree_entry_filemode) \
    X(git_blob_lookup) X(git_blob_free) X(git_blob_rawcontent) X(git_blob_rawsize)

/* Written once, by load(); read-only afterwards. */
static struct {
#define X(name) __typeof__(name) *name;
    FUNCTIONS(X)
#undef X
} git;
static Library library = { .what = "libgit2", .file = "libgit2.so.1.5" };
static pthread_once_t git_once = PTHREAD_ONCE_INIT;

/* Ignores all git configuration files, which could redirect a pinned URL. */
static void forget_settings(void) {
    static const int levels[] = { GIT_CONFIG_LEVEL_PROGRAMDATA, GIT_CONFIG_LEVEL_SYSTEM, GIT_CONFIG_LEVEL_XDG,
                                  GIT_CONFIG_LEVEL_GLOBAL };
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
        git.git_libgit2_opts(GIT_OPT_SET_SEARCH_PATH, levels[i], "");
}

static void load(void) {
    static const LibraryFunction functions[] = {
#define X(name) { #name, (void **)&git.name },
        FUNCTIONS(X)
#undef X
    };
    library_load(&library, functions, sizeof functions / sizeof *functions);
    if (!library.ok) return;
    library.ok = git.git_libgit2_init() >= 0;
    if (library.ok) forget_settings();
    else snprintf(library.problem, sizeof library.problem, "cannot start libgit2");
}

static bool loaded(Error *err) {
    pthread_once(&git_once, load);
    return library.ok || error_set(err, ERR_IO, "%s", library.problem);
}

/* Formats libgit2's message on one line, because it contains text from the remote. */
static bool failed(Error *err, const char *what) {
    const git_error *last = git.git_error_last();
    char text[400];
    snprintf(text, sizeof text, "%s", last && last->message ? last->message : "unknown error");
    for (char *c = text; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f) *c = ' ';
    return error_set(err, ERR_IO, "%s: %s", what, text);
}

bool git_pin_is_commit(Str ref) {
    if (ref.n != 40) return false;
    for (size_t i = 0; i < ref.n; i++) {
        char c = ref.at[i];
        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'))) return false;
    }
    return true;
}

/* ---- fetching ---- */

/* Offers keys of the SSH agent only: a password prompt is not possible. */
static int credentials(git_credential **out, const char *url, const char *user, unsigned int allowed, void *context) {
    int *asked = context;
    (void)url;
    if ((allowed & GIT_CREDENTIAL_SSH_KEY) && user && !(*asked)++) return git.git_credential_ssh_key_from_agent(out, user);
    return GIT_PASSTHROUGH;
}

static bool open_cache(const GitPin *pin, git_repository **out, Error *err) {
    if (access(pin->cache, F_OK) == 0 && git.git_repository_open_bare(out, pin->cache) == 0) return true;
    return git.git_repository_init(out, pin->cache, true) == 0 || failed(err, "git: make cache");
}

static bool fetch_refs(git_repository *repo, const GitPin *pin, char **specs, size_t n, Error *err) {
    git_remote *remote = NULL;
    git_fetch_options options;
    int asked = 0, ignored_result;
    bool ok = false;
    if (git.git_fetch_options_init(&options, GIT_FETCH_OPTIONS_VERSION) < 0
        || LEAKS_IGNORED(git.git_remote_create_anonymous(&remote, repo, pin->url)) < 0) {
        failed(err, "git");
        goto done;
    }
    options.update_fetchhead = 0;
    options.download_tags = GIT_REMOTE_DOWNLOAD_TAGS_NONE;
    options.proxy_opts.type = GIT_PROXY_AUTO;
    options.callbacks.credentials = credentials;
    options.callbacks.payload = &asked;
    git_strarray refs = { specs, n };
    ok = (!fault_hit() && LEAKS_IGNORED(git.git_remote_fetch(remote, &refs, &options, NULL)) == 0) || failed(err, "git fetch");
done:
    git.git_remote_free(remote);
    return ok;
}

static bool find_commit(git_repository *repo, const char *hex) {
    git_oid id;
    git_commit *commit = NULL;
    bool found = git.git_oid_fromstr(&id, hex) == 0 && git.git_commit_lookup(&commit, repo, &id) == 0;
    git.git_commit_free(commit);
    return found;
}

/* libgit2 cannot request a single commit, so this fetches all branches and tags. */
static bool fetch_commit(git_repository *repo, const GitPin *pin, char out[GIT_PIN_COMMIT_SIZE], Error *err) {
    char heads[] = "+refs/heads/*:refs/pinned/*", tags[] = "+refs/tags/*:refs/tags/*";
    char *specs[] = { heads, tags };
    if (!find_commit(repo, pin->ref)) {
        if (!fetch_refs(repo, pin, specs, 2, err)) return false;
        if (!find_commit(repo, pin->ref))
            return error_set(err, ERR_CONFIG, "git: no branch or tag of %s holds commit %s", pin->url, pin->ref);
    }
    snprintf(out, GIT_PIN_COMMIT_SIZE, "%s", pin->ref);
    for (char *c = out; *c; c++)
        if (*c >= 'A' && *c <= 'F') *c = (char)(*c + ('a' - 'A'));
    return true;
}

static bool fetch_tag(git_repository *repo, const GitPin *pin, char out[GIT_PIN_COMMIT_SIZE], Error *err) {
    char name[300], spec[2 * sizeof name + 2];
    char *specs[] = { spec };
    git_object *object = NULL, *commit = NULL;
    snprintf(name, sizeof name, "refs/tags/%s", pin->ref);
    snprintf(spec, sizeof spec, "+%s:%s", name, name);
    if (!fetch_refs(repo, pin, specs, 1, err)) return false;
    bool ok = git.git_revparse_single(&object, repo, name) == 0
              && git.git_object_peel(&commit, object, GIT_OBJECT_COMMIT) == 0;
    if (ok) git.git_oid_tostr(out, GIT_PIN_COMMIT_SIZE, git.git_commit_id((git_commit *)commit));
    git.git_object_free(commit);
    git.git_object_free(object);
    return ok || error_set(err, ERR_CONFIG, "git: %s has no tag \"%s\"", pin->url, pin->ref);
}

bool git_pin_fetch(const GitPin *pin, char commit[GIT_PIN_COMMIT_SIZE], Error *err) {
    git_repository *repo = NULL;
    if (!loaded(err) || !open_cache(pin, &repo, err)) return false;
    bool ok = git_pin_is_commit(str_from(pin->ref)) ? fetch_commit(repo, pin, commit, err) : fetch_tag(repo, pin, commit, err);
    git.git_repository_free(repo);
    return ok;
}

/* ---- extracting files ---- */

typedef struct Extract { git_repository *repo; git_odb *odb; GitPinTally *tally; Error *err; } Extract;

static bool name_is_safe(const char *name) {
    return *name && strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && strcasecmp(name, ".git") != 0 && !strchr(name, '/');
}

static bool write_bytes(int fd, const char *at, size_t n) {
    while (n) {
        ssize_t done = fault_hit() ? -1 : write(fd, at, n);
        if (done < 0) return false;
        at += done;
        n -= (size_t)done;
    }
    return true;
}

/* Reads the header first, so that an oversized blob is never unpacked. */
static bool count_blob(Extract *x, const git_oid *id, const char *name) {
    size_t size;
    git_object_t type;
    if (git.git_odb_read_header(&size, &type, x->odb, id) < 0) return failed(x->err, "git");
    if (x->tally->files == GIT_PIN_FILES_MAX)
        return error_set(x->err, ERR_LIMIT, "too many files (limit %d)", GIT_PIN_FILES_MAX);
    if (type != GIT_OBJECT_BLOB || size > GIT_PIN_BYTES_MAX - x->tally->bytes)
        return error_set(x->err, ERR_LIMIT, "%s: files are larger than %zu bytes together", name, GIT_PIN_BYTES_MAX);
    x->tally->files++;
    x->tally->bytes += size;
    return true;
}

static bool write_blob(Extract *x, int dir, const char *name, const git_oid *id, bool executable) {
    git_blob *blob = NULL;
    if (!count_blob(x, id, name)) return false;
    if (git.git_blob_lookup(&blob, x->repo, id) < 0) return failed(x->err, "git");
    int fd = fault_hit() ? -1 : openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, executable ? 0700 : 0600);
    bool ok = fd >= 0 && write_bytes(fd, git.git_blob_rawcontent(blob), (size_t)git.git_blob_rawsize(blob));
    if (!ok) error_set(x->err, ERR_IO, "write %s: %m", name);
    if (fd >= 0) close(fd);
    git.git_blob_free(blob);
    return ok;
}

static bool write_tree(Extract *x, int dir, const git_oid *id, int depth);

static bool write_folder(Extract *x, int dir, const char *name, const git_oid *id, int depth) {
    if (fault_hit() || mkdirat(dir, name, 0700) < 0) return error_set(x->err, ERR_IO, "make folder %s: %m", name);
    int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return error_set(x->err, ERR_IO, "open folder %s: %m", name);
    bool ok = write_tree(x, fd, id, depth + 1);
    close(fd);
    return ok;
}

static bool write_entry(Extract *x, int dir, const git_tree_entry *e, int depth) {
    const char *name = git.git_tree_entry_name(e);
    const git_oid *id = git.git_tree_entry_id(e);
    git_filemode_t mode = git.git_tree_entry_filemode(e);
    if (mode == GIT_FILEMODE_LINK) return x->tally->links++, true;
    if (mode == GIT_FILEMODE_COMMIT) return x->tally->submodules++, true;
    if (!name_is_safe(name)) return error_set(x->err, ERR_CONFIG, "git: the tree has an entry with a forbidden name");
    if (mode == GIT_FILEMODE_TREE) return write_folder(x, dir, name, id, depth);
    return write_blob(x, dir, name, id, mode == GIT_FILEMODE_BLOB_EXECUTABLE);
}

static bool write_tree(Extract *x, int dir, const git_oid *id, int depth) {
    git_tree *tree = NULL;
    if (depth > GIT_PIN_DEPTH_MAX) return error_set(x->err, ERR_LIMIT, "folders are nested more than %d deep", GIT_PIN_DEPTH_MAX);
    if (git.git_tree_lookup(&tree, x->repo, id) < 0) return failed(x->err, "git");
    bool ok = true;
    for (size_t i = 0, n = git.git_tree_entrycount(tree); ok && i < n; i++)
        ok = write_entry(x, dir, git.git_tree_entry_byindex(tree, i), depth);
    git.git_tree_free(tree);
    return ok;
}

/* Finds the tree of folder `path` inside the commit's tree. */
static bool find_tree(Extract *x, git_commit *commit, Str path, git_oid *out) {
    git_tree *tree = NULL;
    git_tree_entry *entry = NULL;
    char *text = str_dup(path);
    bool ok = false;
    if (git.git_commit_tree(&tree, commit) < 0) failed(x->err, "git");
    else if (path.n == 0 || str_eq(path, STR("."))) ok = true;
    else if (git.git_tree_entry_bypath(&entry, tree, text) < 0 || git.git_tree_entry_filemode(entry) != GIT_FILEMODE_TREE)
        error_set(x->err, ERR_CONFIG, "git: the commit has no folder \"%s\"", text);
    else ok = true;
    if (ok) *out = entry ? *git.git_tree_entry_id(entry) : *git.git_tree_id(tree);
    git.git_tree_entry_free(entry);
    git.git_tree_free(tree);
    free(text);
    return ok;
}

bool git_pin_extract(const GitPin *pin, const char *commit_hex, Str path, int dir_fd, GitPinTally *tally, Error *err) {
    Extract x = { .tally = tally, .err = err };
    git_commit *commit = NULL;
    git_oid id, tree;
    bool ok = false;
    if (!loaded(err)) return false;
    if (!open_cache(pin, &x.repo, err)) goto done;
    if (git.git_repository_odb(&x.odb, x.repo) < 0 || git.git_oid_fromstr(&id, commit_hex) < 0
        || git.git_commit_lookup(&commit, x.repo, &id) < 0) {
        failed(err, "git");
        goto done;
    }
    ok = find_tree(&x, commit, path, &tree) && write_tree(&x, dir_fd, &tree, 0);
done:
    git.git_commit_free(commit);
    git.git_odb_free(x.odb);
    git.git_repository_free(x.repo);
    return ok;
}
