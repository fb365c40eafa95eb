# Code that several kinds of tests share, and the program does not need.
file(GLOB helper_sources CONFIGURE_DEPENDS tests/helpers/*.c)
add_library(test_helpers STATIC EXCLUDE_FROM_ALL ${helper_sources})
target_include_directories(test_helpers PUBLIC tests/helpers)
target_link_libraries(test_helpers PUBLIC libharness)
