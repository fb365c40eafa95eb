/* fs.diff. */
#include <stdlib.h>
#include "base/clock.h"
#include "base/diff.h"
#include "script/fs.h"

bool fs_diff(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    Buf x = { 0 }, y = { 0 }, text = { 0 };
    char *from = str_dup(script_arg(a, 0)), *to = str_dup(script_arg(a, 1));
    int64_t since = clock_mono_ns();
    bool ok = fs_load(vm, script_arg(a, 0), true, &x, NULL, err) && fs_load(vm, script_arg(a, 1), true, &y, NULL, err);
    if (ok) diff_unified(buf_str(&x), buf_str(&y), &(DiffStyle){ .from = from, .to = to, .context = 3 }, &text);
    ok = ok && script_charge(vm, since, err) && script_clean(vm, buf_str(&text), out, err);
    free(from);
    free(to);
    buf_clear(&x);
    buf_clear(&y);
    buf_clear(&text);
    return ok;
}
