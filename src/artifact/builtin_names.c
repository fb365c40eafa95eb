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

bool builtin_names_has(Str name) {
    return str_among(name, listed, sizeof listed / sizeof *listed) || str_among(name, services, sizeof services / sizeof *services);
}

const Str *builtin_names_list(size_t *n) {
    *n = sizeof listed / sizeof *listed;
    return listed;
}
