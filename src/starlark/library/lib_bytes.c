#include "starlark/vm/universe.h"
#include "starlark/vm/view.h"

const NativeDef lib_bytes[] = {
    { "elems", view_elems, NULL, 0, 0, NATIVE_POSITIONAL, "the bytes as ints" },
};
const size_t lib_bytes_n = sizeof lib_bytes / sizeof *lib_bytes;
