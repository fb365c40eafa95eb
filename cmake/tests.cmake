# Each tests/unit/ROOM/test_X.c is one cmocka program and one ctest entry, ROOM/test_X.
enable_testing()
pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)
file(GLOB_RECURSE unit_tests CONFIGURE_DEPENDS tests/unit/*/test_*.c)
foreach(source ${unit_tests})
  get_filename_component(name ${source} NAME_WE)
  get_filename_component(folder ${source} DIRECTORY)
  get_filename_component(room ${folder} NAME)
  set(target unit_${room}_${name})
  add_executable(${target} ${source})
  target_include_directories(${target} PRIVATE tests/unit)
  # On the file, not the target: only there they come after the flags they take back.
  set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "-Wno-missing-prototypes;-Wno-conversion")
  target_link_libraries(${target} PRIVATE test_helpers PkgConfig::CMOCKA)
  target_link_options(${target} PRIVATE ${HARNESS_NO_LTO_LINK})
  if(room STREQUAL cli)                      # the program is not in the library: what its tests need is named here
    target_sources(${target} PRIVATE src/cli/terminal/markdown.c src/cli/terminal/markdown_table.c src/cli/terminal/wrap.c src/cli/terminal/width.c
                                     src/cli/terminal/escape.c src/cli/terminal/screen.c src/cli/terminal/table.c
                                     src/cli/terminal/timeline.c src/cli/terminal/timeline_take.c src/cli/terminal/timeline_words.c)
  endif()
  add_test(NAME ${room}/${name} COMMAND ${target} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set_tests_properties(${room}/${name} PROPERTIES TIMEOUT 300)
endforeach()

# Each tests/tools/X.c is a program that end-to-end tests use; it stays in the build folder.
file(GLOB test_tools CONFIGURE_DEPENDS tests/tools/*.c)
foreach(source ${test_tools})
  get_filename_component(name ${source} NAME_WE)
  add_executable(${name} ${source})
  set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "-Wno-conversion")
  target_link_libraries(${name} PRIVATE libharness)
  target_link_options(${name} PRIVATE ${HARNESS_NO_LTO_LINK})
endforeach()

# Rules about the sources: include order of rooms, names, file lengths, the English of comments; and tests of the checks.
add_test(NAME checks/rooms COMMAND python3 tests/checks/rooms.py . WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
add_test(NAME checks/test_rooms COMMAND python3 tests/checks/test_rooms.py WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
add_test(NAME checks/layout COMMAND python3 tests/checks/layout.py . WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
add_test(NAME checks/test_layout COMMAND python3 tests/checks/test_layout.py WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
add_test(NAME checks/english COMMAND python3 tests/checks/english.py . WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
add_test(NAME checks/test_english COMMAND python3 tests/checks/test_english.py WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
add_test(NAME checks/child COMMAND python3 tests/checks/child.py "${HARNESS_SANITIZE}" $<TARGET_OBJECTS:libharness>
  WORKING_DIRECTORY ${CMAKE_SOURCE_DIR} COMMAND_EXPAND_LISTS)

# Ours beside the Go peer on random programs (scripts/diff.sh).
add_executable(diff_run tests/diff/run.c)
target_link_libraries(diff_run PRIVATE libharness)
target_link_options(diff_run PRIVATE ${HARNESS_NO_LTO_LINK})

# One process for a long time (scripts/soak.sh).
add_executable(soak tests/soak/soak.c)
target_link_libraries(soak PRIVATE libharness)
target_link_options(soak PRIVATE ${HARNESS_NO_LTO_LINK})
