/* The patches of apply_patch:
 *
 *     *** Begin Patch
 *     *** Add File: PATH          lines that begin with +
 *     *** Delete File: PATH
 *     *** Update File: PATH       perhaps *** Move to: PATH; then @@ lines, and lines that begin with a blank, + or -
 *     *** End Patch
 *
 * Vendors trim lines before they compare them with a header, so a line of content that only looks like a header is refused here. */
#include "base/vec.h"
#include "guard/guard.h"

typedef VEC(GuardPatchFile) Files;

/* Reads "*** KEY: VALUE". */
static bool header(Str line, const char *key, Str *value) {
    Str s = str_trim(line), k = str_from(key);
    if (!str_starts(s, k)) return false;
    *value = str_trim(str_sub(s, k.n, s.n));
    return true;
}

static bool is_mark(Str line, const char *mark) { return str_eq(str_trim(line), str_from(mark)); }

static bool path_ok(Str path, size_t number, Error *err) {
    if (!path.n) return error_set(err, ERR_PARSE, "patch: line %zu: the path is missing", number);
    for (size_t i = 0; i < path.n; i++)
        if ((unsigned char)path.at[i] < 0x20) return error_set(err, ERR_PARSE, "patch: line %zu: control character in a path", number);
    return true;
}

static bool start(Str line, size_t number, Files *files, bool *some, Error *err) {
    GuardPatchFile f = { 0 };
    *some = true;
    if (header(line, "*** Add File:", &f.path)) f.kind = GUARD_PATCH_ADD;
    else if (header(line, "*** Update File:", &f.path)) f.kind = GUARD_PATCH_UPDATE;
    else if (header(line, "*** Delete File:", &f.path)) f.kind = GUARD_PATCH_DELETE;
    else return *some = false, true;
    if (!path_ok(f.path, number, err)) return false;
    VEC_PUSH(files, f);
    return true;
}

/* A line inside of a file's section. */
static bool content(Str line, size_t number, GuardPatchFile *f, Error *err) {
    Str to;
    if (header(line, "*** Move to:", &to)) {
        if (f->kind != GUARD_PATCH_UPDATE || f->to.n) return error_set(err, ERR_PARSE, "patch: line %zu: a move belongs to one updated file", number);
        f->to = to;
        return path_ok(to, number, err);
    }
    if (is_mark(line, "*** End of File")) return true;
    char c = line.n ? line.at[0] : ' ';
    if (f->kind == GUARD_PATCH_DELETE && str_trim(line).n) return error_set(err, ERR_PARSE, "patch: line %zu: a deleted file has no content", number);
    if (f->kind == GUARD_PATCH_ADD) {
        if (c != '+' && str_trim(line).n) return error_set(err, ERR_PARSE, "patch: line %zu: a line of an added file begins with +", number);
        if (!f->added.at) f->added.at = line.at;
        f->added.n = (size_t)(line.at + line.n - f->added.at);
        return true;
    }
    if (c == ' ' || c == '+' || c == '-' || c == '\t' || str_starts(line, STR("@@"))) return true;
    return error_set(err, ERR_PARSE, "patch: line %zu is neither a header nor content", number);
}

static bool read_line(Str line, size_t number, Files *files, Error *err) {
    bool some = false;
    Str trimmed = str_trim(line);
    if (!start(line, number, files, &some, err)) return false;
    if (some) return true;
    if (files->n == 0) {
        if (!trimmed.n) return true;
        return error_set(err, ERR_PARSE, "patch: line %zu: expected \"*** Add File:\", \"*** Update File:\" or \"*** Delete File:\"", number);
    }
    if (str_starts(trimmed, STR("***")) && !is_mark(line, "*** End of File") && !str_starts(trimmed, STR("*** Move to:")))
        return error_set(err, ERR_PARSE, "patch: line %zu: unknown header", number);
    return content(line, number, &files->at[files->n - 1], err);
}

/* The patch may be part of a shell command. The text around it is then arbitrary. */
static bool begins(Str text, Str *rest, Error *err) {
    Str line = { 0 };
    *rest = str_trim(text);
    if (rest->n && str_next_line(rest, &line) && is_mark(line, "*** Begin Patch")) return true;
    return error_set(err, ERR_PARSE, "patch: the first line is not \"*** Begin Patch\"");
}

bool guard_patch_read(Str text, Arena *arena, GuardPatch *out, Error *err) {
    Files files = { 0 };
    Str rest, line = { 0 };
    bool ended = false, ok = begins(text, &rest, err);
    for (size_t number = 2; ok && !ended && rest.n; number++) {
        str_next_line(&rest, &line);
        ended = is_mark(line, "*** End Patch");
        if (!ended) ok = read_line(line, number, &files, err);
    }
    if (ok && !ended) ok = error_set(err, ERR_PARSE, "patch: \"*** End Patch\" is missing");
    if (ok && str_trim(rest).n) ok = error_set(err, ERR_PARSE, "patch: text after \"*** End Patch\"");
    if (ok && !files.n) ok = error_set(err, ERR_PARSE, "patch: it names no file");
    if (ok) {
        out->at = ARENA_ARRAY(arena, GuardPatchFile, files.n);
        memcpy(out->at, files.at, files.n * sizeof *out->at);
        out->n = files.n;
    }
    VEC_CLEAR(&files);
    return ok;
}
