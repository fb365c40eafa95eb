/* The ordered stream of the events of a run, and its sinks.
 *
 * An event has a number, a time, a place (run, agent, depth, parent) and data: the text of a JSON object, which the
 * emitter builds with the writer below. So no event refers to a call's heap, and a sink only passes text on. The
 * stream redacts the text once, before any sink sees it. */
#pragma once
#include "base/error.h"
#include "base/str.h"
#include "value/json.h"

/* event/types.def is the only list; `custom.NAME` and `meta.NAME` carry their own name. */
typedef enum {
#define EVENT(id, name, data) EVENT_##id,
#include "event/types.def"
#undef EVENT
    EVENT_COUNT
} EventType;

typedef struct Event {
    uint64_t seq;                        /* from 1, without gaps, per stream */
    int64_t time_ns;                     /* wall clock */
    Str run, agent, parent;              /* parent: id of the enclosing call or delegation; "" at the top */
    int depth;
    Str type, data;                      /* data: a JSON object, redacted */
} Event;

EventType event_type_find(Str name);     /* EVENT_COUNT: not in the list, so custom.NAME, meta.NAME, or of another version */

typedef struct EventStream EventStream;

/* The position of an event in the run. */
typedef struct EventPlace { Str agent, parent; int depth; } EventPlace;

/* A sink receives every event in order, one at a time; it must copy the texts it keeps. A failed write (a full disk) is
 * returned to the emitter; the other sinks still get the event. A sink must not emit. */
typedef struct EventSink {
    bool (*write)(void *self, const Event *e, Error *err);
    void (*free)(void *self);            /* may be NULL */
    void *self;
} EventSink;

EventStream *event_stream_new(Str run);
void event_stream_free(EventStream *s);  /* also frees its sinks */
void event_stream_add(EventStream *s, EventSink sink);
/* Sets the function that redacts each event's data and the name of a custom event, before any sink sees them; see
 * redact_stream (policy/redact.h). Data that is not an object afterwards becomes {"redacted":true}. Call it before the
 * first event. */
void event_stream_redact(EventStream *s, void (*redact)(void *ctx, Buf *text), void *ctx);
void event_stream_continue(EventStream *s, uint64_t last);   /* continues the numbering of a resumed run */
bool event_stream_listened(const EventStream *s);            /* true if it has a sink; otherwise callers need not build data */

/* `data` may be empty: {}. A custom type is the full name: "custom.saved", "meta.tool_register". Thread-safe. Returns
 * false with the first error if a sink failed. */
bool event_emit(EventStream *s, EventPlace place, EventType type, Str data, Error *err);
bool event_emit_custom(EventStream *s, EventPlace place, Str type, Str data, Error *err);

/* Sinks. */
EventSink event_sink_lines(int fd, bool owned);              /* JSON lines, one write() each */
void event_write_json(Buf *out, const Event *e);             /* {"seq":…,"time":"…","run":…,"agent":…,"depth":…,"parent":…,"type":…,"data":{…}} */

/* Builds the data object: event_data_start, members, event_data_end. Keys are written without escaping. */
static inline void event_data_start(Buf *b) { buf_add_char(b, '{'); }
/* Writes the key of a member whose value follows. */
static inline void event_data_key(Buf *b, Str key) {
    char *start = buf_room_quick(b, key.n + 4), *at = start;
    if (!start) return;
    if (b->n && start[-1] != '{') *at++ = ',';
    *at++ = '"';
    memcpy(at, key.at, key.n);
    memcpy(at + key.n, "\":", 2);
    buf_commit(b, (size_t)(at - start) + key.n + 2);
}
void event_data_int(Buf *b, const char *key, int64_t v);
void event_data_ms(Buf *b, const char *key, int64_t ns);     /* milliseconds with three decimals */
void event_data_bool(Buf *b, const char *key, bool v);
void event_data_value(Buf *b, const char *key, Value v);     /* as JSON; a value without a JSON form as its repr */
static inline void event_data_str(Buf *b, const char *key, Str v) { event_data_key(b, str_from(key)); json_write_string(b, v, false); }
static inline void event_data_raw(Buf *b, const char *key, Str json) { event_data_key(b, str_from(key)); buf_add(b, json.n ? json : STR("null")); }
static inline void event_data_end(Buf *b) { buf_add_char(b, '}'); }
