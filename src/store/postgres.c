#include "store/postgres.h"
#include <pthread.h>
#include "base/library.h"

/* Written once, by load(); read-only afterwards. */
static Postgres postgres;
static Library library = { .what = "libpq", .file = "libpq.so.5" };
static pthread_once_t postgres_once = PTHREAD_ONCE_INIT;

static void load(void) {
    static const LibraryFunction functions[] = {
#define X(name) { "PQ" #name, (void **)&postgres.name },
        POSTGRES_FUNCTIONS(X)
#undef X
    };
    library_load(&library, functions, sizeof functions / sizeof *functions);
}

const Postgres *postgres_load(Error *err) {
    pthread_once(&postgres_once, load);
    if (!library.ok) error_set(err, ERR_IO, "%s", library.problem);
    return library.ok ? &postgres : NULL;
}
