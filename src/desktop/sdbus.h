/* sd-bus of libsystemd, loaded on first use, once per process. Private to src/desktop/. */
#pragma once
#include <systemd/sd-bus.h>
#include "base/error.h"

/* Pointers to the functions that we use, under the library's names. */
#define SDBUS_FUNCTIONS(X) \
    X(sd_bus_open_user) X(sd_bus_close_unref) X(sd_bus_is_ready) X(sd_bus_get_unique_name) X(sd_bus_get_fd) X(sd_bus_get_events) \
    X(sd_bus_get_timeout) X(sd_bus_process) X(sd_bus_send) X(sd_bus_message_new_method_call) X(sd_bus_message_unref) \
    X(sd_bus_message_get_type) X(sd_bus_message_get_reply_cookie) X(sd_bus_message_get_error) X(sd_bus_message_get_sender) \
    X(sd_bus_message_get_path) X(sd_bus_message_is_signal) X(sd_bus_message_append) X(sd_bus_message_append_array) \
    X(sd_bus_message_open_container) X(sd_bus_message_close_container) X(sd_bus_message_read) X(sd_bus_message_enter_container) \
    X(sd_bus_message_exit_container) X(sd_bus_message_skip)

typedef struct SdbusLibrary {
#define X(name) __typeof__(name) *name;
    SDBUS_FUNCTIONS(X)
#undef X
} SdbusLibrary;

const SdbusLibrary *sdbus_library(Error *err);         /* NULL with ERR_IO if it cannot be loaded. Thread-safe */
