/* Selects the scopes to request. */
#include "mcp/oauth/oauth_private.h"

static bool next_word(Str *rest, Str *word) {
    while (rest->n && rest->at[0] == ' ') *rest = str_sub(*rest, 1, rest->n);
    ptrdiff_t end = str_find_char(*rest, ' ');
    *word = end < 0 ? *rest : str_sub(*rest, 0, (size_t)end);
    *rest = str_sub(*rest, word->n, rest->n);
    return word->n > 0;
}

bool oauth_scope_holds(Str scope, Str wanted) {
    for (Str want; next_word(&wanted, &want);) {
        bool there = false;
        for (Str rest = scope, word; !there && next_word(&rest, &word);) there = str_eq(word, want);
        if (!there) return false;
    }
    return true;
}

static bool add_words(Buf *to, Str words, Error *err) {
    for (Str word; next_word(&words, &word);) {
        for (size_t i = 0; i < word.n; i++)                /* RFC 6749, 3.3 */
            if (word.at[i] <= 0x20 || word.at[i] >= 0x7f || word.at[i] == '"' || word.at[i] == '\\')
                return error_set(err, ERR_PROTOCOL, "the server asks for an invalid scope");
        if (oauth_scope_holds(buf_str(to), word)) continue;
        if (to->n) buf_add_char(to, ' ');
        buf_add(to, word);
    }
    return !to->full || error_set(err, ERR_LIMIT, "the server asks for more than %d bytes of scopes", OAUTH_SCOPE_MAX);
}

bool oauth_scope_pick(const OAuthSettings *settings, const OAuthSite *site, Str challenged, Str before, Arena *arena, Str *out, Error *err) {
    Buf scope = { .limit = OAUTH_SCOPE_MAX };
    Str base = settings->scope.n ? settings->scope : challenged.n ? challenged : site->scopes;
    bool ok = add_words(&scope, before, err) && add_words(&scope, base, err) && add_words(&scope, before.n ? challenged : STR(""), err);
    bool person = settings->how == OAUTH_AUTHORIZATION_CODE;
    if (ok && scope.n && person && oauth_json_lists(site->metadata, "scopes_supported", STR("offline_access")))
        ok = add_words(&scope, STR("offline_access"), err);  /* alone, it would replace the server's default scopes */
    if (ok) *out = arena_str(arena, buf_str(&scope));
    buf_clear(&scope);
    return ok;
}
