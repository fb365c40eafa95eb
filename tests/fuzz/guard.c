/* Any text gets a verdict, the same one twice, with a reason of one line of valid UTF-8. A refused command stays
 * refused after a harmless command on a separate line. */
#include <stdlib.h>
#include "base/utf8.h"
#include "tool/builtin/guard.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void require(bool ok) { if (!ok) abort(); }

static GuardVerdict judge(Str text, Arena *arena, Str *reason) {
    GuardVerdict v = guard_command(text, arena, reason);
    require(v == GUARD_RUN || v == GUARD_CONFIRM || v == GUARD_REFUSE);
    require((reason->n > 0) == (v != GUARD_RUN) && utf8_valid(*reason));
    for (size_t i = 0; i < reason->n; i++) require((unsigned char)reason->at[i] >= 32);
    return v;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    Arena arena = { 0 };
    Str text = { (const char *)data, n }, first, second;
    GuardVerdict v = judge(text, &arena, &first);
    require(judge(text, &arena, &second) == v && str_eq(first, second));
    Buf longer = { 0 };
    buf_add(&longer, STR("ls -l\n"));
    buf_add(&longer, text);
    if (v == GUARD_REFUSE && n < 4096) require(judge(buf_str(&longer), &arena, &second) != GUARD_RUN);
    buf_clear(&longer);
    arena_clear(&arena);
    return 0;
}
