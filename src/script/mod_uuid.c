/* The module uuid (RFC 9562). */
#include <stdio.h>
#include "base/clock.h"
#include "base/random.h"
#include "script/script.h"

static NativeFn uuid_v4, uuid_v7;

const NativeDef script_uuid[] = {
    { "uuid.v4", uuid_v4, SCRIPT_NO_PARAMS, 0, SCRIPT_FN, "A random UUID." },
    { "uuid.v7", uuid_v7, SCRIPT_NO_PARAMS, 0, SCRIPT_FN, "A UUID that begins with the time, so that UUIDs sort by creation." },
};
const size_t script_uuid_n = sizeof script_uuid / sizeof *script_uuid;

static bool write_uuid(Vm *vm, uint8_t b[16], int version, Value *out, Error *err) {
    char text[37];
    b[6] = (uint8_t)((b[6] & 15) | version << 4);
    b[8] = (uint8_t)((b[8] & 63) | 128);
    snprintf(text, sizeof text, "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0], b[1], b[2], b[3], b[4], b[5],
             b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]);
    return script_text(vm, (Str){ text, 36 }, out, err);
}

static bool uuid_v4(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    (void)a;
    uint8_t b[16];
    random_fill(b, sizeof b);
    return write_uuid(vm, b, 4, out, err);
}

/* Milliseconds, then the fraction of the millisecond in the 12 bits after the version, so that UUIDs made by one thread
 * stay in order. */
static bool uuid_v7(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    (void)a;
    uint8_t b[16];
    random_fill(b, sizeof b);
    int64_t ns = clock_wall_ns();
    uint64_t ms = (uint64_t)ns / 1000000, part = (uint64_t)ns % 1000000 * 4096 / 1000000;
    for (int i = 0; i < 6; i++) b[i] = (uint8_t)(ms >> (40 - 8 * i));
    b[6] = (uint8_t)(part >> 8);
    b[7] = (uint8_t)part;
    return write_uuid(vm, b, 7, out, err);
}
