#include "cli/oauth_direct.h"
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/file.h"
#include "cli/terminal/browser.h"
#include "value/json.h"

enum { SETTINGS_MAX = 256 << 10 };

static bool open_store(OAuthDirect *d, bool make, Error *err) {
    char here[PATH_MAX];
    if (d->store || d->ephemeral) return true;
    if (!getcwd(here, sizeof here)) return error_set(err, ERR_IO, "working folder: %m");
    if (d->path.n == 0 && !store_default_path(str_from(here), &d->path, err)) return false;
    if (!make && access(d->path.at, F_OK) != 0) return true;
    return store_open(d->path.at, false, &d->store, err);
}

static bool get(void *ctx, Str key, Buf *out, Error *err) {
    OAuthDirect *d = ctx;
    if (!open_store(d, false, err)) return false;
    OAuthShelf shelf = oauth_store_shelf(d->store);
    return !d->store || shelf.get(shelf.ctx, key, out, err);
}

static bool put(void *ctx, Str key, Str value, Error *err) {
    OAuthDirect *d = ctx;
    if (!open_store(d, true, err)) return false;
    OAuthShelf shelf = oauth_store_shelf(d->store);
    return !d->store || shelf.put(shelf.ctx, key, value, err);
}

static bool read_settings(const char *given, Heap *heap, Value *out, Error *err) {
    Buf text = { 0 };
    Str key;
    *out = VALUE_GONE;
    if (!given) return true;
    bool ok = true;
    if (str_starts(str_trim(str_from(given)), STR("{"))) buf_add(&text, str_from(given));
    else ok = file_read(given, SETTINGS_MAX, &text, err);
    ok = ok && json_read(heap, buf_str(&text), &(JsonRead){ .reject_duplicates = true }, out, err) && oauth_settings_check(*out, &key, err);
    buf_clear(&text);
    return ok || error_wrap(err, "--oauth");
}

bool oauth_direct_open(OAuthDirect *d, const Cli *cli, Str url, Client *http, Heap *heap, Error *err) {
    Value settings;
    d->ephemeral = args_has(&cli->args, "--ephemeral");
    if (!read_settings(args_value(&cli->args, "--oauth"), heap, &settings, err) || !rule_list_new(NULL, 0, &d->rules, err)) return false;
    d->oauth = oauth_new(&(OAuthConfig){ .server = url, .client = http, .rules = d->rules, .shelf = { get, put, d }, .settings = settings,
        .open = browser_open }, err);
    return d->oauth != NULL;
}

void oauth_direct_close(OAuthDirect *d) {
    oauth_free(d->oauth);
    store_close(d->store);
    rule_list_free(d->rules);
    buf_clear(&d->path);
}
