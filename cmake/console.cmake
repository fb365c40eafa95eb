# console_page.c includes the files of the page, which a small program turns into C at build time.
file(GLOB console_files CONFIGURE_DEPENDS src/doors/console/*.html src/doors/console/*.css src/doors/console/*.js src/doors/console/*.svg)
add_executable(gen_console tools/gen_console.c)
set(console_header ${CMAKE_BINARY_DIR}/generated/doors/console_files.h)
add_custom_command(OUTPUT ${console_header}
  COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/generated/doors
  COMMAND gen_console ${console_files} > ${console_header}
  DEPENDS gen_console ${console_files} VERBATIM)
target_sources(libharness PRIVATE ${console_header})
