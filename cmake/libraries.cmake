# Libraries that every start may pay for. The others (SQLite, GMP, PCRE2, libcurl, OpenSSL, libmicrohttpd,
# libgit2, libedit, libsystemd) are not linked: the room that owns one loads it on first use.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
pkg_check_modules(YAML REQUIRED IMPORTED_TARGET yaml-0.1)
pkg_check_modules(GMP REQUIRED IMPORTED_TARGET gmp)      # tools/gen_powers.c and the test of int.c link it

add_library(harness_libraries INTERFACE)
target_link_libraries(harness_libraries INTERFACE PkgConfig::YAML Threads::Threads m ${CMAKE_DL_LIBS})
