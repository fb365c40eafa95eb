#include "desktop/sdbus.h"
#include <pthread.h>
#include "base/library.h"

/* Written once, by load(); read-only afterwards. */
static SdbusLibrary sdbus;
static Library library = { .what = "libsystemd", .file = "libsystemd.so.0" };
static pthread_once_t sdbus_once = PTHREAD_ONCE_INIT;

static void load(void) {
    static const LibraryFunction functions[] = {
#define X(name) { #name, (void **)&sdbus.name },
        SDBUS_FUNCTIONS(X)
#undef X
    };
    library_load(&library, functions, sizeof functions / sizeof *functions);
}

const SdbusLibrary *sdbus_library(Error *err) {
    pthread_once(&sdbus_once, load);
    if (library.ok) return &sdbus;
    error_set(err, ERR_IO, "%s", library.problem);
    return NULL;
}
