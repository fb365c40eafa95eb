# The version and commit reach the program through one generated source file.
execute_process(COMMAND git -C ${CMAKE_SOURCE_DIR} rev-parse --short=12 HEAD
  OUTPUT_VARIABLE HARNESS_COMMIT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT HARNESS_COMMIT)
  set(HARNESS_COMMIT "unknown")
endif()
configure_file(cmake/version.c.in ${CMAKE_BINARY_DIR}/generated/version.c @ONLY)
add_library(harness_version OBJECT ${CMAKE_BINARY_DIR}/generated/version.c)
target_include_directories(harness_version PRIVATE src)
target_link_libraries(harness_version PRIVATE harness_flags)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/.git/HEAD)
