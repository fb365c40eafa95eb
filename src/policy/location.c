#include "policy/location.h"
#include <stdlib.h>
#include "policy/trust.h"
#include "store/store.h"
#include "value/dict.h"

static Str setting(const Project *p, const char *key) {
    Value *v = value_is_dict(p->settings.store) ? dict_find_str(value_dict(p->settings.store), str_from(key)) : NULL;
    return v && value_is_string(*v) ? value_str(*v) : STR("");
}

/* The one grant for a person who trusted the project in a terminal; all of them for a digest in HARNESS_TRUST. */
static bool is_trusted(const Project *p, bool *out, Error *err) {
    const char *given = getenv("HARNESS_TRUST");
    char *root = str_dup(p->root), *real = realpath(root, NULL);
    const Grant *url = NULL;
    for (size_t i = 0; i < p->n_grants; i++)
        if (str_eq(p->grants[i].path, STR("store.url"))) url = &p->grants[i];
    TrustSubject one = { .root = str_from(real ? real : root), .grants = url, .n_grants = url ? 1 : 0 };
    TrustSubject all = { .root = one.root, .grants = p->grants, .n_grants = p->n_grants, .files = p->files, .n_files = p->n_files };
    bool ok = trust_covers(&one, given, out, err) && (*out || trust_covers(&all, given, out, err));
    free(real);
    free(root);
    return ok;
}

bool location_of(const Project *p, Buf *out, Error *err) {
    const char *state = getenv("HARNESS_STATE");
    bool trusted = true;
    if (setting(p, "url").n && !(state && state[0]) && !is_trusted(p, &trusted, err)) return false;
    if (trusted) return location_given(p, NULL, out, err);
    error_set(err, ERR_POLICY, "store.url: this project is not trusted, and asks to keep its runs in a database");
    return error_hint(err, "look at it with: harness trust");
}

bool location_given(const Project *p, const char *given, Buf *out, Error *err) {
    Buf url = { 0 };
    buf_add(&url, setting(p, "url"));
    bool ok = store_location(&(StoreLocation){ .root = p->root, .given = given, .url = url.n ? url.at : NULL, .project = setting(p, "project") }, out, err);
    buf_clear(&url);
    return ok;
}
