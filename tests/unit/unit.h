/* Included by every unit test: cmocka with the headers it requires first. */
#pragma once
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/str.h"

/* Compares a Str with a C string and shows both on failure. */
#define assert_str(s, expected) unit_assert_str((s), (expected), __FILE__, __LINE__)
static inline void unit_assert_str(Str s, const char *expected, const char *file, int line) {
    if (str_eq(s, str_from(expected)))
        return;
    print_error("\"%.*s\" != \"%s\"\n", STR_ARG(s), expected);
    _fail(file, line);
}
