# libharness.so, for programs that load it: the archive's own objects, linked once more. Release objects are position
# independent anyway; a sanitizer's run-time would have to be loaded before the host program, so other builds have none.
if(CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT HARNESS_SANITIZE)
  set(exports ${CMAKE_SOURCE_DIR}/cmake/exports.map)
  add_library(libharness_shared SHARED $<TARGET_OBJECTS:libharness>)
  set_target_properties(libharness_shared PROPERTIES OUTPUT_NAME harness VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
    LINKER_LANGUAGE C LINK_DEPENDS ${exports})
  target_link_libraries(libharness_shared PRIVATE harness_libraries)
  target_link_options(libharness_shared PRIVATE ${HARNESS_NO_LTO_LINK} -Wl,--version-script=${exports} -Wl,--no-undefined
    -Wl,-z,relro,-z,now,-z,noexecstack,--as-needed)
endif()
