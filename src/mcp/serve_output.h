/* Lines to a descriptor (standard output), from any thread, whole and in order. */
#pragma once
#include "base/cancel.h"
#include "base/str.h"

typedef struct ServeOutput ServeOutput;

ServeOutput *serve_output_new(int fd, Cancel *stop);         /* a reader that stands still is waited for until `stop` fires */
void serve_output_free(ServeOutput *o);                      /* writes what was gathered */
bool serve_output_add(ServeOutput *o, Str line);             /* false: nobody reads any more */
/* While held, lines are gathered: until serve_output_flush, or there are many. Not held: written at once. */
void serve_output_hold(ServeOutput *o, bool held);
void serve_output_flush(ServeOutput *o);
bool serve_output_gone(ServeOutput *o);                      /* has the reader left? */
