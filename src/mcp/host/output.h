/* Writes lines to a descriptor (standard output), from any thread, whole and in order. */
#pragma once
#include "base/cancel.h"
#include "base/str.h"

typedef struct ServeOutput ServeOutput;

ServeOutput *serve_output_new(int fd, Cancel *stop);         /* waits for a slow reader until `stop` fires */
void serve_output_free(ServeOutput *o);
bool serve_output_add(ServeOutput *o, Str line);             /* writes it, or leaves it to the thread that writes; false: the reader has left */
bool serve_output_gone(ServeOutput *o);                      /* true if the reader has left */
