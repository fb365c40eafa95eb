#include "base/library.h"
#include <dlfcn.h>
#include <stdio.h>

void library_load(Library *lib, const LibraryFunction *functions, size_t n) {
    void *handle = dlopen(lib->file, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    lib->ok = handle != NULL;
    if (!handle) snprintf(lib->problem, sizeof lib->problem, "cannot load %s: %s", lib->what, dlerror());
    for (size_t i = 0; lib->ok && i < n; i++) {
        *functions[i].at = dlsym(handle, functions[i].name);
        lib->ok = *functions[i].at != NULL;
        if (!lib->ok) snprintf(lib->problem, sizeof lib->problem, "cannot load %s: %s lacks %s", lib->what, lib->file, functions[i].name);
    }
}
