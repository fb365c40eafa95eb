# number.c includes a table of powers of ten that a small program writes at build time.
add_executable(gen_powers tools/gen_powers.c)
target_link_libraries(gen_powers PRIVATE PkgConfig::GMP)
set(powers_header ${CMAKE_BINARY_DIR}/generated/base/powers.h)
add_custom_command(OUTPUT ${powers_header}
  COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/generated/base
  COMMAND gen_powers > ${powers_header}
  DEPENDS gen_powers VERBATIM)
target_sources(libharness PRIVATE ${powers_header})
target_include_directories(libharness PRIVATE ${CMAKE_BINARY_DIR}/generated)
