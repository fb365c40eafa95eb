/* harness: the public interface of libharness.
 *
 * Link with libharness.a and the libraries it uses (libyaml, GMP, PCRE2, pthread, m, dl). Everything
 * declared here is stable within a major version; nothing else in the library is.
 */
#ifndef HARNESS_H
#define HARNESS_H

#define HARNESS_VERSION_MAJOR 0
#define HARNESS_VERSION_MINOR 1
#define HARNESS_VERSION_PATCH 0

/* One number to compare at compile time: HARNESS_VERSION_NUMBER >= 1002 means 0.1.2 or later. */
#define HARNESS_VERSION_NUMBER \
    (HARNESS_VERSION_MAJOR * 1000000 + HARNESS_VERSION_MINOR * 1000 + HARNESS_VERSION_PATCH)

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the library that is linked, "MAJOR.MINOR.PATCH", which may be newer than this
 * header. The string is static. Safe from any thread. */
const char *harness_version(void);

#ifdef __cplusplus
}
#endif
#endif
