/* libyaml's complaints in words that help, and outside text made fit to stand in a message. */
#pragma once
#include "base/str.h"

/* Where to point: at the problem, naming what it is inside of; at the problem alone; or at the start of the construct. */
typedef enum { PROBLEM_INSIDE, PROBLEM_ALONE, PROBLEM_AT_START } YamlWhere;
typedef struct { const char *text; YamlWhere where; } YamlProblem;

/* `problem` and `context` as the parser has them (either may be NULL); `found` is the byte at the problem's mark. */
YamlProblem yaml_problem_explain(const char *problem, const char *context, char found);

/* In quotes, on one line, control characters escaped, cut when long. */
enum { YAML_SHOW_SIZE = 256 };
void yaml_problem_show(Str s, char out[YAML_SHOW_SIZE]);
