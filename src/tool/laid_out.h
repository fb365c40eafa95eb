/* The arguments of a call as a user reads them in a question. */
#pragma once
#include "value/value.h"

/* As indented JSON; a text of several lines stands below its name, each line behind a bar. Unescaped. */
void laid_out_add(Buf *out, Value args);
