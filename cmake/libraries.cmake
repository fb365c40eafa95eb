# Libraries that every start may pay for. The heavy ones (libcurl, OpenSSL, libmicrohttpd,
# libgit2, libedit, libsystemd) are not linked: the room that owns one loads it on first use.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
pkg_check_modules(YAML REQUIRED IMPORTED_TARGET yaml-0.1)
pkg_check_modules(GMP REQUIRED IMPORTED_TARGET gmp)
pkg_check_modules(PCRE2 REQUIRED IMPORTED_TARGET libpcre2-8)

add_library(harness_libraries INTERFACE)
target_link_libraries(harness_libraries INTERFACE PkgConfig::YAML PkgConfig::GMP PkgConfig::PCRE2 Threads::Threads m ${CMAKE_DL_LIBS})
