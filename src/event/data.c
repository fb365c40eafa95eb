/* Writes the data of an event, and a whole event as one JSON object. */
#include "base/clock.h"
#include "base/number.h"
#include "event/event.h"
#include "starlark/vm/repr.h"
#include "value/json.h"

enum { REPR_HEAP = 1 << 20, REPR_STEPS = 100000 };      /* limits of repr, for a value without a JSON form */

void event_data_int(Buf *b, const char *key, int64_t v) {
    event_data_key(b, str_from(key));
    number_add_i64(b, v);
}

void event_data_ms(Buf *b, const char *key, int64_t ns) {
    int64_t us = ns > 0 ? ns / 1000 : 0;                 /* never negative, even if the clock was set back */
    int part = (int)(us % 1000);
    event_data_key(b, str_from(key));
    number_add_i64(b, us / 1000);
    buf_add(b, (Str){ (char[]){ '.', (char)('0' + part / 100), (char)('0' + part / 10 % 10), (char)('0' + part % 10) }, 4 });
}

void event_data_bool(Buf *b, const char *key, bool v) {
    event_data_key(b, str_from(key));
    buf_add(b, v ? STR("true") : STR("false"));
}

/* Appends the repr of v, or only its type if repr exceeds its limits. */
static void add_repr(Buf *b, Value v) {
    Heap *heap = heap_new(REPR_HEAP);
    Vm *vm = vm_new(heap, &(VmConfig){ .max_steps = REPR_STEPS });
    Buf text = { 0 };
    if (!repr_value(vm, &text, v, NULL)) {
        buf_reset(&text);
        buf_add_fmt(&text, "<%s>", value_type_name(v));
    }
    json_write_string(b, buf_str(&text), false);
    buf_clear(&text);
    vm_free(vm);
    heap_free(heap);
}

void event_data_value(Buf *b, const char *key, Value v) {
    event_data_key(b, str_from(key));
    if (value_is_gone(v)) buf_add(b, STR("null"));
    else if (!json_write(b, v, &(JsonWrite){ 0 }, NULL)) add_repr(b, v);
}

void event_write_json(Buf *out, const Event *e) {
    char time[CLOCK_TEXT_SIZE];
    clock_format(e->time_ns, time);
    event_data_start(out);
    event_data_int(out, "seq", (int64_t)e->seq);
    event_data_str(out, "time", str_from(time));
    event_data_str(out, "run", e->run);
    event_data_str(out, "agent", e->agent);
    event_data_int(out, "depth", e->depth);
    event_data_str(out, "parent", e->parent);
    event_data_str(out, "type", e->type);
    event_data_raw(out, "data", e->data.n ? e->data : STR("{}"));
    event_data_end(out);
}
