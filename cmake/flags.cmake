# One interface target carries every flag, so that all targets are built alike.
include(CheckCCompilerFlag)
include(CheckCSourceCompiles)
include(CheckLinkerFlag)
add_library(harness_flags INTERFACE)

target_compile_definitions(harness_flags INTERFACE _GNU_SOURCE _FILE_OFFSET_BITS=64)
target_compile_options(harness_flags INTERFACE
  -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion -Wmissing-prototypes -Wmissing-declarations
  -Wstrict-prototypes -Wold-style-definition -Wpointer-arith -Wcast-qual -Wwrite-strings -Wundef -Wvla
  -Wformat=2 -Wimplicit-fallthrough -fno-common -fno-strict-aliasing -fno-omit-frame-pointer
  -fvisibility=hidden)                    # libharness.so shows include/harness.h and nothing else
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
  target_compile_options(harness_flags INTERFACE -Wlogical-op -Wduplicated-cond -Wno-format-nonliteral)
endif()
if(HARNESS_WERROR)
  target_compile_options(harness_flags INTERFACE -Werror)
endif()

if(HARNESS_SANITIZE)
  target_compile_options(harness_flags INTERFACE -fsanitize=${HARNESS_SANITIZE} -fno-sanitize-recover=all)
  target_link_options(harness_flags INTERFACE -fsanitize=${HARNESS_SANITIZE})
endif()
if(HARNESS_SANITIZE STREQUAL "thread")     # between fork and exec there is one thread, and no memory for what this one keeps of each step
  set_source_files_properties(src/sandbox/child.c PROPERTIES COMPILE_OPTIONS -fno-sanitize=thread)
endif()
if(HARNESS_HOSTILE)
  target_compile_definitions(harness_flags INTERFACE HARNESS_HOSTILE)
endif()
if(HARNESS_FAULTS)
  target_compile_definitions(harness_flags INTERFACE HARNESS_FAULTS)
endif()

# Release: link-time optimisation and every hardening flag that the compiler knows.
set(CMAKE_C_FLAGS_RELEASE "-O2 -g1")
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  set(CMAKE_POSITION_INDEPENDENT_CODE ON)
  target_compile_definitions(harness_flags INTERFACE NDEBUG)
  target_compile_options(harness_flags INTERFACE
    -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3 -fstack-protector-strong -fstack-clash-protection
    -fcf-protection=full -fno-plt)
  # Debian's start files carry no control-flow marks, so the linker drops ours; the one for
  # shadow stacks is true of them too and is put back.
  target_link_options(harness_flags INTERFACE -pie -Wl,-z,relro,-z,now,-z,noexecstack,-z,shstk,--as-needed)
  check_c_compiler_flag(-ftrivial-auto-var-init=zero HARNESS_HAS_AUTO_VAR_INIT)   # clang before 16 refuses it
  if(HARNESS_HAS_AUTO_VAR_INIT)
    target_compile_options(harness_flags INTERFACE -ftrivial-auto-var-init=zero)
  endif()
  # The program has about 14,000 relative relocations; packed, they take 8 KB instead of 340. The loader knows that form since glibc 2.36.
  check_c_source_compiles("#include <features.h>\n#if !__GLIBC_PREREQ(2, 36)\n#error\n#endif\nint main(void) { return 0; }" HARNESS_LIBC_HAS_RELR)
  check_linker_flag(C -Wl,-z,pack-relative-relocs HARNESS_LINKER_HAS_RELR)
  if(HARNESS_LIBC_HAS_RELR AND HARNESS_LINKER_HAS_RELR)
    target_link_options(harness_flags INTERFACE -Wl,-z,pack-relative-relocs)
  endif()
  # Fat objects: a plain ar can index them, and the unit tests link them without waiting for LTO.
  if(HARNESS_LTO AND CMAKE_C_COMPILER_ID STREQUAL "GNU")
    target_compile_options(harness_flags INTERFACE -flto=auto -ffat-lto-objects)
    set(HARNESS_LTO_LINK -flto=auto)
    set(HARNESS_NO_LTO_LINK -fno-lto)
  endif()
endif()
