/* Runs Starlark programs read from stdin, each as "LENGTH FLAGS\n" and LENGTH bytes of text, and prints for each
 * what print() wrote, then a failure if there was one, then a line with "\x1e". tests/peer/main.go does the same
 * with the Go implementation. FLAGS: r allows recursion and while. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "starlark/module.h"

static const size_t HEAP_LIMIT = (size_t)64 << 20;

static void print_line(void *ctx, Str line) {
    (void)ctx;
    fwrite(line.at, 1, line.n, stdout);
    fputc('\n', stdout);
}

static void report_static(const ResolverErrors *all, const Error *err) {
    for (size_t i = 0; i < all->n; i++) printf("%u:%u: %s\n", all->at[i].line, all->at[i].column, all->at[i].msg);
    if (all->n == 0) printf("%u:%u: %s\n", err->line, err->column, err->msg);
}

/* Like the peer: outermost first. */
static void report(const Vm *vm, const Error *err) {
    const VmPlace *at;
    for (size_t i = vm_traceback(vm, &at); i-- > 0;) {
        if (at[i].line == 0) printf("  <builtin>: in " STR_FMT "\n", STR_ARG(at[i].name));
        else printf("  %u:%u: in " STR_FMT "\n", at[i].line, at[i].column, STR_ARG(at[i].name));
    }
    printf("Error: %s\n", err->msg);
}

static void run(const Universe *universe, Str text, const char *flags) {
    static ResolverErrors all;
    bool recursion = strchr(flags, 'r') != NULL;
    Heap *heap = heap_new(HEAP_LIMIT);
    Vm *vm = vm_new(heap, &(VmConfig){ .allow_recursion = recursion, .max_steps = 2000000, .print = print_line });
    ModuleOptions options = { .universe = universe, .predeclared = universe->json_math, .allow_while = recursion,
                              .allow_toplevel = true };
    Source source = { .file = STR("p.star"), .text = text };
    Error err = { 0 };
    Module *m = NULL;
    all.n = all.total = 0;
    if (!module_compile(heap, &source, &options, &m, &all, &err)) report_static(&all, &err);
    else if (!module_load(vm, m, NULL, &err)) report(vm, &err);
    fputs("\x1e\n", stdout);
    fflush(stdout);
    vm_free(vm);
    if (m) module_free(m);
    heap_free(heap);
}

int main(void) {
    Universe *universe = universe_new();
    char flags[16];
    size_t n;
    while (scanf("%zu %15s", &n, flags) == 2 && getchar() == '\n') {
        char *text = mem_alloc(n + 1);
        if (fread(text, 1, n, stdin) != n) return free(text), 1;
        run(universe, (Str){ text, n }, flags);
        free(text);
    }
    universe_free(universe);
    return 0;
}
