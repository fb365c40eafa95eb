#include "store/sqlite.h"
#include <pthread.h>
#include "base/library.h"

/* Written once, by load(); read-only afterwards. */
static Sqlite sqlite;
static Library library = { .what = "SQLite", .file = "libsqlite3.so.0" };
static pthread_once_t sqlite_once = PTHREAD_ONCE_INIT;

static void load(void) {
    static const LibraryFunction functions[] = {
#define X(name) { "sqlite3_" #name, (void **)&sqlite.name },
        SQLITE_FUNCTIONS(X)
#undef X
    };
    library_load(&library, functions, sizeof functions / sizeof *functions);
}

const Sqlite *sqlite_load(Error *err) {
    pthread_once(&sqlite_once, load);
    if (!library.ok) error_set(err, ERR_IO, "%s", library.problem);
    return library.ok ? &sqlite : NULL;
}
