/* OAuthShelf on the project's store: private notes in the scope "oauth". */
#include "mcp/oauth/oauth.h"

static const char scope[] = "oauth";

static bool get(void *ctx, Str key, Buf *out, Error *err) {
    bool found;
    Buf text = { 0 };
    bool ok = store_note_get(ctx, str_from(scope), key, &text, &found, err);
    if (ok && found) buf_add(out, buf_str(&text));
    buf_clear(&text);
    return ok;
}

static bool put(void *ctx, Str key, Str value, Error *err) {
    return value.n ? store_note_put(ctx, str_from(scope), key, value, err) : store_note_delete(ctx, str_from(scope), key, err);
}

OAuthShelf oauth_store_shelf(Store *s) { return (OAuthShelf){ get, put, s }; }
