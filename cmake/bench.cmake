# Each bench/bench_X.c is one program that prints lines "NAME ours peer ratio". Peers are looked for when it runs.
file(GLOB benches CONFIGURE_DEPENDS bench/bench_*.c)
foreach(source ${benches})
  get_filename_component(name ${source} NAME_WE)
  add_executable(${name} ${source})
  set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "-Wno-missing-prototypes;-Wno-conversion;-Wno-cast-qual;-Wno-discarded-qualifiers")
  target_link_libraries(${name} PRIVATE test_helpers)
endforeach()
