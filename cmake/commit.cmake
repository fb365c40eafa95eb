# The commit reaches the program through one generated source file, so that a new commit
# compiles that file and links the program, and nothing else.
execute_process(COMMAND git -C ${CMAKE_SOURCE_DIR} rev-parse --short=12 HEAD
  OUTPUT_VARIABLE HARNESS_COMMIT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT HARNESS_COMMIT)
  set(HARNESS_COMMIT "unknown")
endif()

# The log of HEAD grows with each commit, checkout, merge and reset. Without one (logs can be
# turned off) HEAD itself must do. git finds both, also in a linked work tree.
foreach(name logs/HEAD HEAD)
  execute_process(COMMAND git -C ${CMAKE_SOURCE_DIR} rev-parse --path-format=absolute --git-path ${name}
    OUTPUT_VARIABLE git_file OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(git_file AND EXISTS ${git_file})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${git_file})
    break()
  endif()
endforeach()

configure_file(cmake/commit.c.in ${CMAKE_BINARY_DIR}/generated/commit.c @ONLY)
add_library(harness_commit OBJECT ${CMAKE_BINARY_DIR}/generated/commit.c)
target_include_directories(harness_commit PRIVATE src)
target_link_libraries(harness_commit PRIVATE harness_flags)
