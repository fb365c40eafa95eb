#include "net/curl.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

#define LIBRARY "libcurl.so.4"

/* Written once, by load(), and only read then. */
static struct {
    CurlLibrary functions;
    bool ok;
    char problem[200];
} curl;
static pthread_once_t curl_once = PTHREAD_ONCE_INIT;

/* RTLD_NODELETE: its OpenSSL registers things to do at exit. */
static void load(void) {
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!library) {
        snprintf(curl.problem, sizeof curl.problem, "cannot load libcurl: %s", dlerror());
        return;
    }
#define X(name) *(void **)&curl.functions.name = dlsym(library, #name); \
    if (!curl.functions.name) { \
        snprintf(curl.problem, sizeof curl.problem, "cannot load libcurl: " LIBRARY " lacks " #name); \
        return; \
    }
    CURL_FUNCTIONS(X)
#undef X
    curl.ok = curl.functions.curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
    if (!curl.ok) snprintf(curl.problem, sizeof curl.problem, "cannot start libcurl");
}

const CurlLibrary *curl_library(Error *err) {
    pthread_once(&curl_once, load);
    if (curl.ok) return &curl.functions;
    error_set(err, ERR_IO, "%s", curl.problem);
    return NULL;
}
