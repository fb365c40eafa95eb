/* A shared library that is loaded on first use, because linking it would cost every start of the program. The room that
 * owns it keeps its functions in a struct and fills that once:
 *
 *     static struct { __typeof__(deflate) *deflate; } zlib;
 *     static Library library = { "zlib", "libz.so.1" };
 *     static void load(void) { library_load(&library, (const LibraryFunction[]){ { "deflate", (void **)&zlib.deflate } }, 1); }
 *     … pthread_once(&once, load); if (!library.ok) return error_set(err, ERR_IO, "%s", library.problem);            */
#pragma once
#include <stdbool.h>
#include <stddef.h>

typedef struct LibraryFunction { const char *name; void **at; } LibraryFunction;
typedef struct Library { const char *what, *file; bool ok; char problem[200]; } Library;

/* Fills every function, or says in lib->problem what is missing. It stays loaded for good: some register things to do at exit. */
void library_load(Library *lib, const LibraryFunction *functions, size_t n);
