#include "starlark/vm/vm.h"

#include "base/mem.h"
#include "starlark/vm/vm_private.h"
#include "starlark/module.h"

enum { DEPTH_DEFAULT = 200, OUTPUT_DEFAULT = 1 << 20 };

/* ---- lifetime ---- */

static void trace_roots(Tracer *t, void *ctx) {
    Vm *vm = ctx;
    for (size_t i = 0; i < vm->frames.n; i++) {
        const Frame *f = &vm->frames.at[i];
        tracer_value(t, value_from_object(f->fn));
        for (uint32_t r = 0; r < f->code->n_regs; r++) tracer_value(t, f->base[r]);
    }
    for (size_t i = 0; i < vm->instances.n; i++) {
        const VmInstance *in = &vm->instances.at[i];
        for (uint32_t g = 0; g < in->module->n_globals; g++) tracer_value(t, in->globals[g]);
        copier_trace(in->copier, t);
    }
    tracer_value(t, vm->call_value);
}

Vm *vm_new(Heap *heap, const VmConfig *config) {
    Vm *vm = mem_zero(1, sizeof *vm);
    vm->heap = heap;
    vm->segment = mem_alloc(sizeof *vm->segment + SEGMENT_START * sizeof(Value));
    vm->segment->prev = NULL;
    vm->segment->end = vm->segment->at + SEGMENT_START;
    vm_reset(vm, config);
    return vm;
}

static void drop_instances(Vm *vm) {
    for (size_t i = 0; i < vm->instances.n; i++) {
        free(vm->instances.at[i].globals);
        copier_free(vm->instances.at[i].copier);
    }
    vm->instances.n = 0;
}

void vm_reset(Vm *vm, const VmConfig *config) {
    while (vm->frames.n) vm_pop(vm);
    drop_instances(vm);
    if (config) vm->config = *config;
    if (!vm->config.max_depth) vm->config.max_depth = DEPTH_DEFAULT;
    if (!vm->config.max_output) vm->config.max_output = OUTPUT_DEFAULT;
    vm->steps_left = vm->config.max_steps ? vm->config.max_steps : UINT64_MAX;
    vm->fuel = vm->granted = 0;
    vm->printed = 0;
    vm->trace.n = 0;
    vm->loading = false;
    vm->call_value = VALUE_GONE;
    heap_remove_roots(vm->heap, trace_roots, vm);
    heap_add_roots(vm->heap, trace_roots, vm);
}

void vm_free(Vm *vm) {
    if (!vm) return;
    heap_remove_roots(vm->heap, trace_roots, vm);
    drop_instances(vm);
    while (vm->segment) {
        Segment *prev = vm->segment->prev;
        free(vm->segment);
        vm->segment = prev;
    }
    VEC_CLEAR(&vm->instances);
    VEC_CLEAR(&vm->frames);
    VEC_CLEAR(&vm->trace);
    free(vm);
}

Heap *vm_heap(Vm *vm) { return vm->heap; }
void *vm_host(Vm *vm) { return vm->config.host; }
Cancel *vm_cancel(Vm *vm) { return vm->config.cancel; }
void vm_set_cancel(Vm *vm, Cancel *cancel) { vm->config.cancel = cancel; }
void *vm_keep(Vm *vm) { return vm->config.keep; }
void vm_set_call_value(Vm *vm, Value v) { vm->call_value = v; }

bool vm_call_value(Vm *vm, Value slot, Value *out, Error *err) {
    const NativeSlot *s = (const NativeSlot *)value_object(slot);
    if (vm->loading)                                     /* the value would be shared by all later calls */
        return error_set(err, ERR_SCRIPT, STR_FMT " is not available at load time", STR_ARG(string_str(s->name)));
    *out = value_is_gone(vm->call_value) ? s->fallback : vm->call_value;
    return true;
}

Value *vm_top(const Vm *vm) {
    if (!vm->frames.n) return vm->segment->at;
    const Frame *f = &VEC_LAST(&vm->frames);
    return f->base + f->code->n_regs;
}

/* ---- limits ---- */

bool vm_refuel(Vm *vm, Error *err) {
    int64_t grant = FUEL_BATCH;
    if (vm->config.max_steps) {
        uint64_t burnt = (uint64_t)(vm->granted - vm->fuel);
        if (burnt > vm->steps_left) return error_set(err, ERR_LIMIT, "Starlark computation cancelled: too many steps");
        vm->steps_left -= burnt;
        if (vm->steps_left < FUEL_BATCH) grant = (int64_t)vm->steps_left;
    }
    vm->fuel = vm->granted = grant;
    return cancel_check(vm->config.cancel, err);
}

bool vm_work(Vm *vm, size_t units, Error *err) {
    vm->fuel -= units > INT64_MAX / 2 ? INT64_MAX / 2 : (int64_t)units;
    return vm->fuel >= 0 || vm_refuel(vm, err);
}

static bool metered(void *vm, size_t units, Error *err) { return vm_work(vm, units, err); }

bool vm_equal(Vm *vm, Value a, Value b, bool *out, Error *err) {
    return value_equal_metered(a, b, &(ValueMeter){ metered, vm }, out, err);
}

bool vm_compare(Vm *vm, Value a, Value b, const char *op, int *out, Error *err) {
    return value_compare_metered(a, b, op, &(ValueMeter){ metered, vm }, out, err);
}

bool vm_count_output(Vm *vm, size_t n, Error *err) {
    if (n >= vm->config.max_output - vm->printed)
        return error_set(err, ERR_LIMIT, "output limit of %zu bytes reached", vm->config.max_output);
    vm->printed += n + 1;
    return true;
}

bool vm_print(Vm *vm, Str line, Error *err) {
    if (!vm_count_output(vm, line.n, err) || !cancel_check(vm->config.cancel, err)) return false;
    if (vm->config.print) vm->config.print(vm->config.print_ctx, line);
    return true;
}

/* ---- globals ---- */

Value *vm_globals(Vm *vm, Module *m) {
    if (!m->sealed || m->pure) return m->globals;
    for (size_t i = 0; i < vm->instances.n; i++)
        if (vm->instances.at[i].module == m) return vm->instances.at[i].globals;
    VmInstance in = { m, mem_zero(m->n_globals, sizeof(Value)), copier_new(vm->heap, COPIER_THAW) };
    VEC_PUSH(&vm->instances, in);
    return in.globals;
}

bool vm_touch_global(Vm *vm, const Frame *f, uint32_t i, Value *out, Error *err) {
    Module *m = f->code->module;
    if (value_is_gone(m->globals[i]))
        return error_set(err, ERR_SCRIPT, "global variable " STR_FMT " referenced before assignment",
                         STR_ARG(string_str(m->names[i])));
    for (size_t k = 0; k < vm->instances.n; k++) {
        VmInstance *in = &vm->instances.at[k];
        if (in->globals != f->globals) continue;
        if (!copier_value(in->copier, m->globals[i], out, err) || !copier_finish(in->copier, err)) return false;
        in->globals[i] = *out;
        return true;
    }
    return *out = m->globals[i], true;
}

/* ---- tracebacks ---- */

size_t vm_traceback(const Vm *vm, const VmPlace **out) {
    *out = vm->trace.at;
    return vm->trace.n;
}

static void format_place(const VmPlace *p, Buf *out) {
    buf_add_fmt(out, "  " STR_FMT, STR_ARG(p->file));
    if (p->line) buf_add_fmt(out, ":%u:%u", p->line, p->column);
    buf_add_fmt(out, ": in " STR_FMT "\n", STR_ARG(p->name));
}

void vm_format_failure(const Vm *vm, const Error *err, Buf *out) {
    size_t first = vm->trace.n && vm->trace.at[0].line == 0;  /* the message names a native that failed itself */
    if (vm->trace.n > first) buf_add(out, STR("Traceback (most recent call last):\n"));
    for (size_t i = vm->trace.n; i-- > first;) format_place(&vm->trace.at[i], out);
    buf_add_fmt(out, "Error: %s\n", err->msg);
}
