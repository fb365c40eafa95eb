/* The door for other programs: implements include/harness.h. */
#include "harness.h"

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

const char *harness_version(void) {
    return TEXT(HARNESS_VERSION_MAJOR) "." TEXT(HARNESS_VERSION_MINOR) "." TEXT(HARNESS_VERSION_PATCH);
}
