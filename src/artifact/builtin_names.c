#include "artifact/builtin_names.h"

#define NAME(name) { #name, sizeof #name - 1 },
static const Str listed[] = {
#define BUILTIN(name) NAME(name)
#define SERVICE(name)
#include "artifact/builtin_names.def"
#undef BUILTIN
#undef SERVICE
};
static const Str services[] = {
#define BUILTIN(name)
#define SERVICE(name) NAME(name)
#include "artifact/builtin_names.def"
#undef BUILTIN
#undef SERVICE
};

static bool has(const Str *names, size_t n, Str name) {
    for (size_t i = 0; i < n; i++)
        if (str_eq(names[i], name)) return true;
    return false;
}

bool builtin_names_has(Str name) {
    return has(listed, sizeof listed / sizeof *listed, name) || has(services, sizeof services / sizeof *services, name);
}

const Str *builtin_names_list(size_t *n) {
    *n = sizeof listed / sizeof *listed;
    return listed;
}
