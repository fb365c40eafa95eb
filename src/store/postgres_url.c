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
    out->password = option(all, "password") || option(all, "sslpassword");
    api->conninfoFree(all);
    return true;
}

void postgres_place_clear(PostgresPlace *p) {
    free(p->url);
    free(p->project);
    free(p->shown);
    *p = (PostgresPlace){ 0 };
}

bool store_url_check(const char *url, Error *err) {
    PostgresPlace p;
    if (!postgres_place_parse(url, &p, err)) return false;
    bool ok = !p.password || error_set(err, ERR_CONFIG, "store.url: a password must not be in a file");
    if (!ok) error_hint(err, "remove it, and put it into ~/.pgpass (PGPASSFILE) or a service file (PGSERVICE)");
    postgres_place_clear(&p);
    return ok;
}

void store_url_show(const char *location, Buf *out) {
    PostgresPlace p;
    if (!postgres_place_parse(location, &p, NULL)) return buf_add(out, STR("postgresql://…"));
    buf_add(out, str_from(p.shown));
    postgres_place_clear(&p);
}
