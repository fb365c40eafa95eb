#include "store/sqlite.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

#define LIBRARY "libsqlite3.so.0"

/* Written once, by load(), and only read then. */
static struct { Sqlite api; bool ok; char problem[200]; } sqlite;
static pthread_once_t sqlite_once = PTHREAD_ONCE_INIT;

static void load(void) {
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!library) {
        snprintf(sqlite.problem, sizeof sqlite.problem, "cannot load SQLite: %s", dlerror());
        return;
    }
    sqlite.ok = true;
#define X(name) *(void **)&sqlite.api.name = dlsym(library, "sqlite3_" #name); \
    if (!sqlite.api.name) { \
        sqlite.ok = false; \
        snprintf(sqlite.problem, sizeof sqlite.problem, "cannot load SQLite: " LIBRARY " lacks sqlite3_" #name); \
    }
    SQLITE_FUNCTIONS(X)
#undef X
}

const Sqlite *sqlite_load(Error *err) {
    pthread_once(&sqlite_once, load);
    if (!sqlite.ok) error_set(err, ERR_IO, "%s", sqlite.problem);
    return sqlite.ok ? &sqlite.api : NULL;
}
