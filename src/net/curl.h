/* libcurl, loaded on first use, once per process. Private to src/net/. */
#pragma once
#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>
#include "base/error.h"

/* Pointers to the functions that we use, under the library's names. */
#define CURL_FUNCTIONS(X) \
    X(curl_global_init) X(curl_easy_init) X(curl_easy_cleanup) X(curl_easy_reset) X(curl_easy_setopt) X(curl_easy_getinfo) \
    X(curl_easy_strerror) X(curl_slist_append) X(curl_slist_free_all) X(curl_multi_init) X(curl_multi_cleanup) \
    X(curl_multi_setopt) X(curl_multi_add_handle) X(curl_multi_remove_handle) X(curl_multi_perform) X(curl_multi_poll) \
    X(curl_multi_info_read) X(curl_url) X(curl_url_cleanup) X(curl_url_set) X(curl_url_get) X(curl_url_strerror) X(curl_free)

typedef struct CurlLibrary {
#define X(name) __typeof__(name) *name;
    CURL_FUNCTIONS(X)
#undef X
} CurlLibrary;

const CurlLibrary *curl_library(Error *err);           /* NULL with ERR_IO if it cannot be loaded. Thread-safe */
