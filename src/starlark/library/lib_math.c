/* The module math. All functions take ints and floats. */
#include <math.h>
#include "starlark/vm/universe.h"
#include "starlark/vm/vm.h"
#include "value/int.h"

static double number(Value v) { return value_is_float(v) ? value_float(v) : int_to_double(v); }

/* ---- to whole numbers ---- */

static bool to_int(Vm *vm, Value x, double (*fn)(double), Value *out, Error *err) {
    if (value_is_int(x)) return *out = x, true;
    if (!value_is_float(x)) return error_set(err, ERR_SCRIPT, "got %s, want float or int", value_type_name(x));
    double d = fn(value_float(x));
    if (isinf(d)) return error_set(err, ERR_SCRIPT, "cannot convert float infinity to integer");
    if (isnan(d)) return error_set(err, ERR_SCRIPT, "cannot convert float NaN to integer");
    return int_from_double(vm_heap(vm), d, out, err);
}

static bool math_ceil(Vm *vm, const NativeArgs *a, Value *out, Error *err) { return to_int(vm, a->at[0], ceil, out, err); }
static bool math_floor(Vm *vm, const NativeArgs *a, Value *out, Error *err) { return to_int(vm, a->at[0], floor, out, err); }

/* ---- functions of one or two floats ---- */

static double to_degrees(double x) { return 360 * x / (2 * M_PI); }
static double to_radians(double x) { return 2 * M_PI * x / 360; }

/* For negative integers the C library returns -inf or an error; the function is undefined there. */
static double gamma_of(double x) {
    if (x < 0 && (isinf(x) || x == floor(x))) return (double)NAN;
    return tgamma(x);
}

/* X(name, C function, what it is) */
#define UNARY(X) \
    X(acos, acos, "Arc cosine, in radians.") X(acosh, acosh, "Inverse hyperbolic cosine.") \
    X(asin, asin, "Arc sine, in radians.") X(asinh, asinh, "Inverse hyperbolic sine.") \
    X(atan, atan, "Arc tangent, in radians.") X(atanh, atanh, "Inverse hyperbolic tangent.") \
    X(cos, cos, "Cosine of an angle in radians.") X(cosh, cosh, "Hyperbolic cosine.") \
    X(degrees, to_degrees, "Radians as degrees.") X(exp, exp, "e to the power x.") \
    X(fabs, fabs, "The magnitude, as a float.") X(gamma, gamma_of, "The Gamma function.") \
    X(radians, to_radians, "Degrees as radians.") X(round, round, "The nearest whole number; halves away from zero.") \
    X(sin, sin, "Sine of an angle in radians.") X(sinh, sinh, "Hyperbolic sine.") \
    X(sqrt, sqrt, "The square root.") X(tan, tan, "Tangent of an angle in radians.") X(tanh, tanh, "Hyperbolic tangent.")

#define BINARY(X) \
    X(atan2, atan2, "The angle of the point (x, y), between -pi and pi.") \
    X(copysign, copysign, "The magnitude of x with the sign of y.") \
    X(hypot, hypot, "The length of the vector (x, y).") \
    X(mod, fmod, "The remainder of x / y, with the sign of x.") \
    X(pow, pow, "x to the power y.") \
    X(remainder, remainder, "The IEEE 754 remainder of x / y.")

#define X(name, fn, doc) \
    static bool math_##name(Vm *vm, const NativeArgs *a, Value *out, Error *err) { \
        (void)vm, (void)err; \
        return *out = value_from_float(fn(number(a->at[0]))), true; \
    }
UNARY(X)
#undef X

#define X(name, fn, doc) \
    static bool math_##name(Vm *vm, const NativeArgs *a, Value *out, Error *err) { \
        (void)vm, (void)err; \
        return *out = value_from_float(fn(number(a->at[0]), number(a->at[1]))), true; \
    }
BINARY(X)
#undef X

static bool math_log(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    (void)vm;
    double base = native_given(a, 1) ? number(a->at[1]) : M_E;
    if (base == 1) return error_set(err, ERR_SCRIPT, "division by zero");
    return *out = value_from_float(log(number(a->at[0])) / log(base)), true;
}

static const NativeParam any_x[] = { { "x", NATIVE_ANY } };
static const NativeParam numbers[] = { { "x", NATIVE_INT | NATIVE_FLOAT }, { "y", NATIVE_INT | NATIVE_FLOAT } };

const NativeDef lib_math[] = {
    { "ceil", math_ceil, any_x, 1, 1, NATIVE_POSITIONAL | NATIVE_PLAIN_ERRORS, "The smallest int that is not less than x." },
    { "floor", math_floor, any_x, 1, 1, NATIVE_POSITIONAL | NATIVE_PLAIN_ERRORS, "The largest int that is not greater than x." },
    { "log", math_log, numbers, 2, 1, NATIVE_POSITIONAL | NATIVE_PLAIN_ERRORS, "The logarithm, natural or to a base." },
#define X(name, fn, doc) { #name, math_##name, numbers, 1, 1, NATIVE_POSITIONAL, doc },
    UNARY(X)
#undef X
#define X(name, fn, doc) { #name, math_##name, numbers, 2, 2, NATIVE_POSITIONAL, doc },
    BINARY(X)
#undef X
};
const size_t lib_math_n = sizeof lib_math / sizeof lib_math[0];
