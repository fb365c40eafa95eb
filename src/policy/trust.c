#include "policy/trust.h"
#include <stdlib.h>
#include <string.h>
#include "artifact/project_find.h"
#include "base/digest.h"
#include "base/utf8.h"
#include "policy/credentials.h"
#include "policy/trust_record.h"

/* ---- digests ---- */

static void code_digest(const TrustSubject *s, uint8_t out[SHA256_BYTES]) {
    Sha256 all;
    sha256_init(&all);
    for (size_t i = 0; i < s->n_files; i++) {
        sha256_add(&all, s->files[i].path);
        sha256_add(&all, (Str){ "", 1 });
        sha256_add(&all, (Str){ (const char *)s->files[i].digest, SHA256_BYTES });
    }
    sha256_end(&all, out);
}

static void write_hex(const uint8_t digest[SHA256_BYTES], char out[TRUST_HEX_SIZE]) {
    Buf hex = { 0 };
    digest_hex(digest, SHA256_BYTES, &hex);
    memcpy(out, hex.at, TRUST_HEX_SIZE);
    buf_clear(&hex);
}

static void digests(const TrustSubject *s, char grants[TRUST_HEX_SIZE], char code[TRUST_HEX_SIZE]) {
    uint8_t digest[SHA256_BYTES];
    grants_digest(s->grants, s->n_grants, digest);
    write_hex(digest, grants);
    code_digest(s, digest);
    write_hex(digest, code);
}

void trust_digest(const TrustSubject *s, char out[TRUST_DIGEST_SIZE]) {
    char grants[TRUST_HEX_SIZE], code[TRUST_HEX_SIZE];
    uint8_t digest[SHA256_BYTES];
    Sha256 both;
    digests(s, grants, code);
    sha256_init(&both);
    sha256_add(&both, str_from(grants));
    sha256_add(&both, str_from(code));
    sha256_end(&both, digest);
    memcpy(out, "sha256:", 7);
    write_hex(digest, out + 7);
}

/* ---- state ---- */

static bool below(Str path, Str folder) {
    return str_starts(path, folder) && (path.n == folder.n || path.at[folder.n] == '/');
}

bool trust_is_nested(const TrustSubject *s, const char *given, char out[static PATH_MAX]) {
    char folder[PATH_MAX];
    Str root = s->root;
    if (!given || given[0] != '/' || root.n >= PATH_MAX || !realpath(given, folder) || !below(root, str_from(folder))) return false;
    char path[PATH_MAX];
    memcpy(path, root.at, root.n);
    path[root.n] = 0;
    return project_between(path, folder, out);
}

/* True if the environment or the embedding program trusts the subject. */
static bool given_by(const TrustSubject *s, const char *given, bool *out, Error *err) {
    *out = false;
    if (!given || !given[0]) return true;
    if (strncmp(given, "sha256:", 7) == 0) {
        char digest[TRUST_DIGEST_SIZE];
        trust_digest(s, digest);
        *out = strcmp(given, digest) == 0;
        return true;
    }
    char *folder = given[0] == '/' ? realpath(given, NULL) : NULL;
    if (given[0] != '/' || (folder && strcmp(folder, "/") == 0)) {
        free(folder);
        error_set(err, ERR_CONFIG, "HARNESS_TRUST: \"%s\" is neither a digest nor an absolute folder below \"/\"", given);
        return error_hint(err, "`harness trust --print` prints the digest of a project");
    }
    char above[PATH_MAX];
    *out = folder && below(s->root, str_from(folder)) && !trust_is_nested(s, folder, above);
    free(folder);
    return true;
}

static TrustState compare(const TrustSubject *s, const TrustRecord *r) {
    char grants[TRUST_HEX_SIZE], code[TRUST_HEX_SIZE];
    if (!r || !trust_record_is_of(r, s->root)) return TRUST_MISSING;
    digests(s, grants, code);
    if (!str_eq(r->grants, str_from(grants))) return TRUST_GRANTS_CHANGED;
    if (r->always || str_eq(r->code, str_from(code)) || !grants_are_sensitive(s->grants, s->n_grants)) return TRUST_GIVEN;
    return TRUST_CODE_CHANGED;
}

bool trust_state(const TrustSubject *s, const char *given, TrustState *out, Error *err) {
    bool by_word;
    if (!given_by(s, given, &by_word, err)) return false;
    if (s->n_grants == 0 || by_word) {
        *out = by_word && s->n_grants ? TRUST_GIVEN : TRUST_NOT_NEEDED;
        return true;
    }
    TrustRecord *r = NULL;
    if (!trust_record_read(s->root, &r, err)) return false;
    *out = compare(s, r);
    trust_record_free(r);
    return true;
}

static bool is_known(const TrustRecord *r, const Grant *g) {
    for (size_t i = 0; r && i < r->n_asked; i++) {
        const TrustAsked *a = &r->asked[i];
        if (str_eq(a->file, g->file) && str_eq(a->path, g->path) && str_eq(a->value, g->value)) return true;
    }
    return false;
}

bool trust_covers(const TrustSubject *s, const char *given, bool *out, Error *err) {
    TrustRecord *r = NULL;
    if (!given_by(s, given, out, err)) return false;
    if (*out || s->n_grants == 0) return *out = true;
    if (!trust_record_read(s->root, &r, err)) return false;
    *out = r && trust_record_is_of(r, s->root);
    for (size_t i = 0; i < s->n_grants; i++) *out = *out && is_known(r, &s->grants[i]);
    trust_record_free(r);
    return true;
}

bool trust_give(const TrustSubject *s, bool always, Error *err) {
    char grants[TRUST_HEX_SIZE], code[TRUST_HEX_SIZE];
    digests(s, grants, code);
    return trust_record_write(s, grants, code, always, err);
}

/* ---- display ---- */

/* A host with letters of another alphabet can look like one that the user knows. */
static void add_ascii(Str text, Buf *out) {
    for (size_t n; text.n; text = str_sub(text, n, text.n)) {
        uint32_t c = utf8_decode(text, &n);
        if (c < 0x80) buf_add_char(out, (char)c);
        else buf_add_fmt(out, "\\u{%x}", c);
    }
}

static void show_value(const Grant *g, Buf *out) {
    Buf shown = { 0 }, ascii = { 0 };
    buf_add(&shown, g->value);
    credentials_mask_json(&shown);
    if (g->kind == GRANT_KIND_NETWORK) add_ascii(buf_str(&shown), &ascii);
    buf_add(out, STR(": "));
    utf8_escape(buf_str(g->kind == GRANT_KIND_NETWORK ? &ascii : &shown), false, out);
    buf_clear(&shown);
    buf_clear(&ascii);
}

/* File names and keys are untrusted text: a line break in one must not start a new line. */
static void show_one(const Grant *g, Buf *out) {
    buf_add(out, STR("    "));
    buf_add(out, str_from(g->words));
    if (g->value.n) show_value(g, out);
    if (g->file.n) {
        buf_add(out, STR("\n      "));
        utf8_escape(g->file, false, out);
        if (g->line) buf_add_fmt(out, ":%u", g->line);
        buf_add(out, STR(", "));
        utf8_escape(g->path, false, out);
    }
    buf_add_char(out, '\n');
}

void trust_show(const TrustSubject *s, bool only_new, Buf *out) {
    TrustRecord *r = NULL;
    if (only_new) trust_record_read(s->root, &r, NULL);
    GrantKind shown = GRANT_KIND_COUNT;
    for (size_t i = 0; i < s->n_grants; i++) {
        const Grant *g = &s->grants[i];
        if (is_known(r, g)) continue;
        if (g->kind != shown) buf_add_fmt(out, "  %s\n", grants_heading(g->kind));
        shown = g->kind;
        show_one(g, out);
    }
    trust_record_free(r);
}

void trust_show_changes(const TrustSubject *s, Buf *out) {
    TrustRecord *r = NULL;
    if (trust_record_read(s->root, &r, NULL) && r) trust_record_diff(r, s, out);
    trust_record_free(r);
}
