include(GNUInstallDirs)
install(TARGETS harness RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS libharness ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET libharness_shared)
  install(TARGETS libharness_shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
install(FILES include/harness.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES docs/man/harness.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)

# Completions come from the program's own table, so the program that is installed writes them.
set(completions ${CMAKE_BINARY_DIR}/completions)
file(MAKE_DIRECTORY ${completions})
foreach(shell bash zsh fish)
  install(CODE "execute_process(COMMAND \"$<TARGET_FILE:harness>\" completion ${shell}
    OUTPUT_FILE \"${completions}/${shell}\" COMMAND_ERROR_IS_FATAL ANY)")
endforeach()
install(FILES ${completions}/bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME harness)
install(FILES ${completions}/zsh DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions RENAME _harness)
install(FILES ${completions}/fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d RENAME harness.fish)
