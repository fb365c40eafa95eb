/* Clearer wording for libyaml's errors, and quoting of untrusted text for messages. */
#pragma once
#include "base/str.h"

/* Which position to report: the problem, with the enclosing construct; the problem alone; or the start of the
 * construct. */
typedef enum { PROBLEM_INSIDE, PROBLEM_ALONE, PROBLEM_AT_START } YamlWhere;
typedef struct { const char *text; YamlWhere where; } YamlProblem;

/* `problem` and `context` come from libyaml (either may be NULL); `found` is the byte at the problem's mark. */
YamlProblem yaml_problem_explain(const char *problem, const char *context, char found);

/* Quotes s on one line, escapes control characters and truncates long text. */
enum { YAML_SHOW_SIZE = 256 };
void yaml_problem_show(Str s, char out[YAML_SHOW_SIZE]);
