#include "net/curl.h"
#include <pthread.h>
#include <stdio.h>
#include "base/library.h"

/* Written once, by load(); read-only afterwards. */
static CurlLibrary curl;
static Library library = { .what = "libcurl", .file = "libcurl.so.4" };
static pthread_once_t curl_once = PTHREAD_ONCE_INIT;

static void load(void) {
    static const LibraryFunction functions[] = {
#define X(name) { #name, (void **)&curl.name },
        CURL_FUNCTIONS(X)
#undef X
    };
    library_load(&library, functions, sizeof functions / sizeof *functions);
    if (!library.ok || curl.curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK) return;
    library.ok = false;
    snprintf(library.problem, sizeof library.problem, "cannot start libcurl");
}

const CurlLibrary *curl_library(Error *err) {
    pthread_once(&curl_once, load);
    if (library.ok) return &curl;
    error_set(err, ERR_IO, "%s", library.problem);
    return NULL;
}
