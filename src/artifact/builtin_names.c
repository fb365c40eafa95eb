#include "artifact/builtin_names.h"

#define NAME(name) { #name, sizeof #name - 1 },
static const Str listed[] = {
#define BUILTIN(name) NAME(name)
#define BRIDGE(name) NAME(name)
#define SERVICE(name)
#include "artifact/builtin_names.def"
#undef BUILTIN
#undef BRIDGE
#undef SERVICE
};
static const Str bridges[] = {
#define BUILTIN(name)
#define BRIDGE(name) NAME(name)
#define SERVICE(name)
#include "artifact/builtin_names.def"
#undef BUILTIN
#undef BRIDGE
#undef SERVICE
};
static const Str services[] = {
#define BUILTIN(name)
#define BRIDGE(name)
#define SERVICE(name) NAME(name)
#include "artifact/builtin_names.def"
#undef BUILTIN
#undef BRIDGE
#undef SERVICE
};

bool builtin_names_has(Str name) {
    return str_among(name, listed, sizeof listed / sizeof *listed) || str_among(name, services, sizeof services / sizeof *services);
}

bool builtin_names_taken(Str name, const Str *builtin_tools, size_t n) {
    return builtin_names_has(name) && (!str_among(name, bridges, sizeof bridges / sizeof *bridges) || str_among(name, builtin_tools, n));
}

const Str *builtin_names_list(size_t *n) {
    *n = sizeof listed / sizeof *listed;
    return listed;
}
