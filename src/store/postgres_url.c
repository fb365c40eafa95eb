/* Locations of databases. */
#include <stdlib.h>
#include "store/postgres_private.h"

bool store_is_url(const char *location) {
    return location && (strncmp(location, "postgresql://", 13) == 0 || strncmp(location, "postgres://", 11) == 0);
}

static const char *option(const PQconninfoOption *all, const char *name) {
    for (; all->keyword; all++)
        if (strcmp(all->keyword, name) == 0) return all->val && all->val[0] ? all->val : NULL;
    return NULL;
}

/* What messages show: user, host, port and database. */
static char *shown(const PQconninfoOption *all) {
    const char *user = option(all, "user"), *host = option(all, "host"), *port = option(all, "port"), *name = option(all, "dbname");
    if (!host) host = option(all, "hostaddr");
    Buf out = { 0 };
    buf_add_fmt(&out, "postgresql://%s%s%s%s%s/%s", user ? user : "", user ? "@" : "", host ? host : "", port ? ":" : "", port ? port : "", name ? name : "");
    return buf_take(&out);
}

/* libpq's message may quote the URL. */
static bool malformed(Error *err) {
    error_set(err, ERR_CONFIG, "the URL of the store is not valid");
    return error_hint(err, "write postgresql://USER@HOST/DATABASE; other characters in a name are %%XX");
}

bool postgres_place_parse(const char *location, PostgresPlace *out, Error *err) {
    const Postgres *api = postgres_load(err);
    if (!api) return false;
    const char *hash = strrchr(location, '#');
    Str url = { location, hash ? (size_t)(hash - location) : strlen(location) };
    *out = (PostgresPlace){ .url = str_dup(url), .project = str_dup(hash ? str_from(hash + 1) : STR("")) };
    char *problem = NULL;
    PQconninfoOption *all = api->conninfoParse(out->url, &problem);
    if (problem) api->freemem(problem);
    if (!all) return postgres_place_clear(out), malformed(err);
    out->shown = shown(all);
    api->conninfoFree(all);
    return true;
}

void postgres_place_clear(PostgresPlace *p) {
    free(p->url);
    free(p->project);
    free(p->shown);
    *p = (PostgresPlace){ 0 };
}

/* Without libpq: a project is also loaded by commands that open no store. */
static bool has_password(Str url) {
    size_t from = (size_t)str_find(url, STR("://")) + 3;
    Str rest = str_sub(url, from, url.n);
    ptrdiff_t query = str_find_char(rest, '?'), at, colon;
    Str options = query >= 0 ? str_sub(rest, (size_t)query + 1, rest.n) : STR("");
    if (query >= 0) rest = str_sub(rest, 0, (size_t)query);
    at = str_find_char(rest, '@');
    colon = str_find_char(rest, ':');
    if (at >= 0 && colon >= 0 && colon < at) return true;
    while (options.n) {
        ptrdiff_t end = str_find_char(options, '&');
        Str one = str_sub(options, 0, end >= 0 ? (size_t)end : options.n), key = str_sub(one, 0, (size_t)str_find_char(one, '='));
        if (str_eq(key, STR("password")) || str_eq(key, STR("sslpassword")) || str_find_char(key, '%') >= 0) return true;
        options = end >= 0 ? str_sub(options, (size_t)end + 1, options.n) : STR("");
    }
    return false;
}

bool store_url_check(Str url, Error *err) {
    char *text = str_dup(url);
    bool ok = store_is_url(text), bare = ok && !has_password(url);
    free(text);
    if (!ok) return error_set(err, ERR_CONFIG, "expected postgresql://USER@HOST/DATABASE");
    if (str_find_char(url, '#') >= 0) return error_set(err, ERR_CONFIG, "the name of the project belongs into store.project, not after #");
    if (bare) return true;
    error_set(err, ERR_CONFIG, "a password must not be in a file");
    return error_hint(err, "remove it from the URL, and put it into ~/.pgpass (PGPASSFILE) or a service (PGSERVICE)");
}

static void each_password(const PQconninfoOption *all, void (*each)(void *ctx, Str secret), void *ctx) {
    static const char *const names[] = { "password", "sslpassword" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *secret = option(all, names[i]);
        if (secret) each(ctx, str_from(secret));
    }
}

void store_url_secrets(const char *location, void (*each)(void *ctx, Str secret), void *ctx) {
    const char *variable = getenv("PGPASSWORD"), *hash = strrchr(location, '#');
    if (!store_is_url(location)) return;
    if (variable && variable[0]) each(ctx, str_from(variable));
    const Postgres *api = has_password(str_from(location)) ? postgres_load(NULL) : NULL;
    if (!api) return;
    char *url = str_dup((Str){ location, hash ? (size_t)(hash - location) : strlen(location) }), *problem = NULL;
    PQconninfoOption *all = api->conninfoParse(url, &problem);
    if (problem) api->freemem(problem);
    if (all) each_password(all, each, ctx), api->conninfoFree(all);
    free(url);
}

void store_url_show(const char *location, Buf *out) {
    PostgresPlace p;
    if (!postgres_place_parse(location, &p, NULL)) return buf_add(out, STR("postgresql://…"));
    buf_add(out, str_from(p.shown));
    postgres_place_clear(&p);
}
