/* Events in memory, for tests that inspect them. */
#pragma once
#include "event/event.h"

typedef struct EventMemory EventMemory;
EventMemory *event_memory_new(size_t max_bytes);             /* keeps the newest; an event larger than that loses its
                                                              * data, {"dropped":BYTES} */
void event_memory_free(EventMemory *m);
EventSink event_sink_memory(EventMemory *m);                 /* borrows m */
size_t event_memory_count(EventMemory *m);                   /* number kept; thread-safe */
void event_memory_each(EventMemory *m, void (*each)(void *ctx, const Event *e), void *ctx);   /* oldest first; `each` must not emit */
