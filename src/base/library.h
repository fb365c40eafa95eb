/* A shared library that is loaded on first use, because linking it would slow down every start. Its wrapper keeps the
 * functions in a struct that is filled once:
 *
 *     static struct { __typeof__(deflate) *deflate; } zlib;
 *     static Library library = { "zlib", "libz.so.1" };
 *     static void load(void) { library_load(&library, (const LibraryFunction[]){ { "deflate", (void **)&zlib.deflate } }, 1); }
 *     … pthread_once(&once, load); if (!library.ok) return error_set(err, ERR_IO, "%s", library.problem); */
#pragma once
#include <stdbool.h>
#include <stddef.h>

typedef struct LibraryFunction { const char *name; void **at; } LibraryFunction;
typedef struct Library { const char *what, *file; bool ok; char problem[200]; } Library;

/* Loads every function, or sets lib->problem to what is missing. Never unloaded: some libraries register exit
 * handlers. */
void library_load(Library *lib, const LibraryFunction *functions, size_t n);
