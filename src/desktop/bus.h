/* One connection to the user's session bus. Every wait ends at once when its token fires, and a service that does not answer
 * a method call within BUS_CALL_MS is an error. No callbacks: a caller takes one message after the other. Used by one
 * thread. */
#pragma once
#include "base/cancel.h"
#include "base/str.h"
#include "base/vec.h"
#include "desktop/sdbus.h"

enum { BUS_CALL_MS = 10000 };

typedef struct Bus {
    const SdbusLibrary *lib;
    sd_bus *bus;
    VEC(sd_bus_message *) signals;       /* received during a method call, oldest first */
} Bus;

/* Connects and waits until the bus has given a name. ERR_IO if there is no session bus. Call bus_close() in every case. */
bool bus_open(Bus *b, Cancel *cancel, Error *err);
void bus_close(Bus *b);                  /* does not wait: unsent messages are lost */

/* A method call, to be filled by the caller; NULL with *err. */
sd_bus_message *bus_method(Bus *b, const char *service, const char *path, const char *interface, const char *method, Error *err);
/* Sends `m`, which it frees, and waits for the answer, which the caller frees with bus_free(). */
bool bus_call(Bus *b, sd_bus_message *m, Cancel *cancel, sd_bus_message **answer, Error *err);
void bus_post(Bus *b, sd_bus_message *m);                    /* sends it without waiting for an answer; frees it */
bool bus_match(Bus *b, const char *rule, Cancel *cancel, Error *err);        /* subscribes to signals */
/* The next signal. At `until_ns` (clock_mono_ns) *out is NULL. */
bool bus_signal(Bus *b, int64_t until_ns, Cancel *cancel, sd_bus_message **out, Error *err);
void bus_free(Bus *b, sd_bus_message *m);                    /* NULL is fine */

/* True if the service `name`, whose owner was `owner`, has left the bus, as this signal of the bus itself says. */
bool bus_left(Bus *b, sd_bus_message *signal, const char *name, const char *owner);
bool bus_mistyped(const char *service, Error *err);          /* "… sent data of the wrong type"; always false */
