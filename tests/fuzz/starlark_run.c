/* Compiles and runs any bytes as a program within small limits: it must end, with an ordinary error or none,
 * and a second run must behave the same. The first byte chooses the flags. */
#include <stdio.h>
#include <stdlib.h>
#include "starlark/module.h"

enum { STEPS = 50000, DEPTH = 60, OUTPUT = 1 << 16 };
static const size_t HEAP = (size_t)8 << 20;

static Universe *universe;

static void print_line(void *ctx, Str line) { buf_add(ctx, line); }

static void check_error(const Vm *vm, const Error *err) {
    if (err->kind == ERR_NONE || err->kind == ERR_INTERNAL || err->msg[0] == 0 || err->line == 0) {
        fprintf(stderr, "error without kind, text or place: %d %u %s\n", err->kind, err->line, err->msg);
        abort();
    }
    Buf text = { 0 };
    vm_format_failure(vm, err, &text);
    buf_clear(&text);
}

static void run(uint8_t flags, Str text, Buf *printed, Error *err) {
    Heap *heap = heap_new(HEAP);
    Vm *vm = vm_new(heap, &(VmConfig){ .max_steps = STEPS, .max_depth = DEPTH, .max_output = OUTPUT, .allow_recursion = flags & 1,
                                       .print = print_line, .print_ctx = printed });
    Source source = { .file = STR("fuzz"), .text = text };
    ModuleOptions options = { .universe = universe, .predeclared = universe->json_math, .allow_while = flags & 2,
                              .allow_toplevel = !(flags & 4), .expression = flags & 8 };
    Module *m = NULL;
    bool ok = module_compile(heap, &source, &options, &m, NULL, err) && module_load(vm, m, NULL, err);
    if (!ok) check_error(vm, err);
    vm_free(vm);
    if (m) module_free(m);
    heap_free(heap);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) return 0;
    if (!universe) universe = universe_new();
    Str text = { (const char *)data + 1, size - 1 };
    Buf first = { 0 }, second = { 0 };
    Error err = { 0 }, again = { 0 };
    run(data[0], text, &first, &err);
    if (data[0] & 16) {
        run(data[0], text, &second, &again);
        if (!str_eq(buf_str(&first), buf_str(&second)) || strcmp(err.msg, again.msg) != 0) abort();
    }
    buf_clear(&first);
    buf_clear(&second);
    return 0;
}
