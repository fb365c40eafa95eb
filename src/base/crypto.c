#include "base/crypto.h"
#include <pthread.h>
#include "base/library.h"

/* Written once, by load(); read-only afterwards. */
static CryptoLibrary crypto;
static Library library = { .what = "OpenSSL", .file = "libcrypto.so.3" };
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void) {
    static const LibraryFunction functions[] = {
#define X(name) { #name, (void **)&crypto.name },
        CRYPTO_FUNCTIONS(X)
#undef X
    };
    library_load(&library, functions, sizeof functions / sizeof *functions);
}

const CryptoLibrary *crypto_library(Error *err) {
    pthread_once(&once, load);
    if (library.ok) return &crypto;
    error_set(err, ERR_IO, "%s", library.problem);
    return NULL;
}
