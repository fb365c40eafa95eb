#include "net/microhttpd.h"
#include <pthread.h>
#include "base/library.h"

/* Written once, by load(); read-only afterwards. */
static MicrohttpdLibrary microhttpd;
static Library library = { .what = "libmicrohttpd", .file = "libmicrohttpd.so.12" };
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void) {
    static const LibraryFunction functions[] = {
#define X(name) { #name, (void **)&microhttpd.name },
        MICROHTTPD_FUNCTIONS(X)
#undef X
    };
    library_load(&library, functions, sizeof functions / sizeof *functions);
}

const MicrohttpdLibrary *microhttpd_library(Error *err) {
    pthread_once(&once, load);
    if (library.ok) return &microhttpd;
    error_set(err, ERR_IO, "%s", library.problem);
    return NULL;
}
