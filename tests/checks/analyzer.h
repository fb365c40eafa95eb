/* For the static analyzer only, which looks at one file at a time: these always return false. */
#pragma once
#include "base/error.h"

#define error_set(...) ((void)error_set(__VA_ARGS__), false)
#define error_set_v(...) ((void)error_set_v(__VA_ARGS__), false)
#define error_set_at(...) ((void)error_set_at(__VA_ARGS__), false)
#define error_wrap(...) ((void)error_wrap(__VA_ARGS__), false)
#define error_hint(...) ((void)error_hint(__VA_ARGS__), false)
#define error_place(...) ((void)error_place(__VA_ARGS__), false)
