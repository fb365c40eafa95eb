/* libmicrohttpd, loaded on first use, once per process. Private to src/net/. */
#pragma once
#include <microhttpd.h>
#include "base/error.h"

/* Pointers to the functions that we use, under the library's names. */
#define MICROHTTPD_FUNCTIONS(X) \
    X(MHD_start_daemon) X(MHD_stop_daemon) X(MHD_quiesce_daemon) X(MHD_get_connection_info) X(MHD_get_connection_values) \
    X(MHD_suspend_connection) X(MHD_resume_connection) X(MHD_create_response_from_buffer) X(MHD_create_response_from_callback) \
    X(MHD_add_response_header) X(MHD_queue_response) X(MHD_destroy_response)

typedef struct MicrohttpdLibrary {
#define X(name) __typeof__(name) *name;
    MICROHTTPD_FUNCTIONS(X)
#undef X
} MicrohttpdLibrary;

const MicrohttpdLibrary *microhttpd_library(Error *err);     /* NULL with ERR_IO if it cannot be loaded. Thread-safe */
