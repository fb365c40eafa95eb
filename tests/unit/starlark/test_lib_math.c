#include "calls.h"

static void test_functions(void **state) {
    (void)state;
    static const CallCase t[] = {
        { "math.ceil", "1.2", "2" }, { "math.ceil", "-1.2", "-1" }, { "math.ceil", "3", "3" }, { "math.floor", "-1.2", "-2" },
        { "math.floor", "1e30", "1000000000000000019884624838656" }, { "math.floor", "inf", "error: cannot convert float infinity to integer" },
        { "math.ceil", "nan", "error: cannot convert float NaN to integer" }, { "math.floor", "'x'", "error: got string, want float or int" },
        { "math.copysign", "3, -1", "-3.0" }, { "math.fabs", "-2", "2.0" }, { "math.mod", "-5, 3", "-2.0" }, { "math.pow", "2, 10", "1024.0" },
        { "math.remainder", "5, 3", "-1.0" }, { "math.round", "2.5", "3.0" }, { "math.round", "-0.4", "-0.0" }, { "math.exp", "0", "1.0" },
        { "math.sqrt", "2.25", "1.5" }, { "math.sqrt", "-1", "nan" }, { "math.hypot", "3, 4", "5.0" }, { "math.atan2", "0, -1", "3.141592653589793" },
        { "math.degrees", "0.0", "0.0" }, { "math.radians", "180", "3.141592653589793" }, { "math.log", "100, 10", "2.0" }, { "math.log", "1", "0.0" },
        { "math.log", "0", "-inf" }, { "math.log", "2, 1", "error: division by zero" }, { "math.gamma", "5", "24.0" }, { "math.gamma", "-1", "nan" },
        { "math.gamma", "0.0", "+inf" }, { "math.cos", "0", "1.0" }, { "math.tanh", "inf", "1.0" }, { "math.acosh", "1", "0.0" },
        { "math.sin", "'x'", "error: sin: for parameter 1: got string, want float or int" },
        { "math.pow", "1, None", "error: pow: for parameter 2: got NoneType, want float or int" },
        { "math.pow", "1", "error: pow: got 1 arguments, want 2" }, { "math.log", "", "error: log: got 0 arguments, want at least 1" },
        { "math.sin", "x=1", "error: sin: unexpected keyword arguments" },
        { "dir", "math", "[\"acos\", \"acosh\", \"asin\", \"asinh\", \"atan\", \"atan2\", \"atanh\", \"ceil\", \"copysign\", \"cos\", \"cosh\", \"degrees\", \"e\", "
                         "\"exp\", \"fabs\", \"floor\", \"gamma\", \"hypot\", \"log\", \"mod\", \"pi\", \"pow\", \"radians\", \"remainder\", \"round\", \"sin\", "
                         "\"sinh\", \"sqrt\", \"tan\", \"tanh\"]" },
        { "getattr", "math, 'pi'", "3.141592653589793" }, { "getattr", "math, 'e'", "2.718281828459045" },
    };
    Calls c;
    calls_begin(&c);
    calls_check(&c, t, CALLS_COUNT(t));
    calls_end(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_functions) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
