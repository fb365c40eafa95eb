/* A bare call: JSON text -> run(args) -> JSON text, compiled once, no pipeline; and the scaling of
 * calls of one frozen module over threads. Prints microseconds per call. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include "report.h"
#include "base/clock.h"
#include "starlark/module.h"
#include "value/json.h"

static const char script[] =
    "LIMITS = (10, 100)\n"
    "def clean(path):\n"
    "    return path.strip().lower()\n"
    "def run(args):\n"
    "    path = clean(args[\"path\"])\n"
    "    lines = [line for line in args[\"lines\"] if line]\n"
    "    if len(lines) > LIMITS[1]:\n"
    "        return {\"error\": \"too many\"}\n"
    "    return {\"path\": path, \"count\": len(lines), \"first\": lines[0]}\n";
static const char arguments[] = "{\"path\": \" Src/Main.c \", \"lines\": [\"one\", \"\", \"three\"]}";
static const char expected[] = "{\"path\":\"src/main.c\",\"count\":2,\"first\":\"one\"}";

enum { CALLS = 200000, THREADS = 2 };

static Module *module;

static void fail(const Error *err) {
    fprintf(stderr, "bench_starlark_call: %s\n", err->msg);
    exit(1);
}

static void *worker(void *result) {
    Error err = { 0 };
    Heap *heap = heap_new((size_t)64 << 20);
    Vm *vm = vm_new(heap, &(VmConfig){ 0 });
    Buf out = { 0 };
    int64_t start = clock_mono_ns();
    for (int i = 0; i < CALLS; i++) {
        Value args, v;
        heap_reset(heap);
        vm_reset(vm, NULL);
        buf_reset(&out);
        if (!json_read(heap, str_from(arguments), &(JsonRead){ .reject_duplicates = true }, &args, &err) ||
            !module_call(vm, module, STR("run"), &args, 1, &v, &err) || !json_write(&out, v, &(JsonWrite){ 0 }, &err))
            fail(&err);
    }
    *(double *)result = (double)(clock_mono_ns() - start) / CALLS / 1e3;
    if (!str_eq(buf_str(&out), str_from(expected))) fail(&(Error){ .msg = "wrong result" });
    buf_clear(&out);
    vm_free(vm);
    heap_free(heap);
    return NULL;
}

static double on_threads(int n) {
    pthread_t thread[THREADS];
    double took[THREADS], worst = 0;
    for (int i = 0; i < n; i++) pthread_create(&thread[i], NULL, worker, &took[i]);
    for (int i = 0; i < n; i++) {
        pthread_join(thread[i], NULL);
        if (took[i] > worst) worst = took[i];
    }
    return worst;
}

int main(void) {
    Error err = { 0 };
    Universe *universe = universe_new();
    Heap *heap = heap_new(0);
    Vm *vm = vm_new(heap, &(VmConfig){ 0 });
    Source source = { .file = STR("run.star"), .text = str_from(script) };
    if (!module_compile(heap, &source, &(ModuleOptions){ .universe = universe }, &module, NULL, &err) ||
        !module_load(vm, module, NULL, &err))
        fail(&err);
    vm_free(vm);
    heap_freeze_all(heap);
    module_seal(module);
    double one = on_threads(1), two = on_threads(THREADS);
    report_line("starlark_bare_call", one, 3, "us");
    report_line("starlark_calls_on_2_threads", THREADS * 1e6 / two, 1e6 / one, "/s");
    module_free(module);
    heap_free(heap);
    universe_free(universe);
    return 0;
}
