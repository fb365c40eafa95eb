/* libyaml's complaints in words that help, and outside text made fit to stand in a message. */
#pragma once
#include <stdbool.h>
#include "base/str.h"

typedef struct { const char *text; bool at_context; } YamlProblem;   /* at_context: the mistake is where the construct starts */

/* `problem` and `context` as the parser has them (either may be NULL); `found` is the byte at the problem's mark. */
YamlProblem yaml_problem_explain(const char *problem, const char *context, char found);

/* In quotes, on one line, control characters escaped, cut when long. */
enum { YAML_SHOW_SIZE = 256 };
void yaml_problem_show(Str s, char out[YAML_SHOW_SIZE]);
