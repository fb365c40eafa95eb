#include "value/gmp.h"
#include <pthread.h>
#include "base/library.h"

/* Written once, by load(); read-only afterwards. */
static GmpLibrary gmp;
static Library library = { .what = "GMP", .file = "libgmp.so.10" };
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void) {
#define NAME(name) #name                                 /* mpz_add is a macro: the function is __gmpz_add */
    static const LibraryFunction functions[] = {
#define X(name) { NAME(name), (void **)&gmp.name },
        GMP_FUNCTIONS(X)
#undef X
    };
#undef NAME
    library_load(&library, functions, sizeof functions / sizeof *functions);
}

const GmpLibrary *gmp_library(Error *err) {
    pthread_once(&once, load);
    if (library.ok) return &gmp;
    error_set(err, ERR_IO, "%s", library.problem);
    return NULL;
}
