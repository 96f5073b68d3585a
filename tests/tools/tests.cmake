# Scripts are the same under every sanitizer.
if(NOT TANDEM_SANITIZE)
  foreach(script tools/lint_test.sh tools/install_packages_test.sh tools/commands_test.sh
          tools/launchers_test.sh)
    get_filename_component(name ${script} NAME_WE)
    add_test(NAME script_${name} COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/${script})
    set_tests_properties(script_${name} PROPERTIES TIMEOUT 600)
  endforeach()
  if(TANDEM_LIBTORCH)
    add_test(NAME script_readme_test COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/tools/readme_test.sh $<TARGET_FILE:tandem>)
    set_tests_properties(script_readme_test PROPERTIES TIMEOUT 600)
    # Skipped where the machine lets nobody emulate hosts.
    add_test(NAME script_cluster_test COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/tools/cluster_test.sh $<TARGET_FILE:tandem>)
    set_tests_properties(script_cluster_test PROPERTIES TIMEOUT 600 LABELS cluster SKIP_RETURN_CODE 77)
  endif()
endif()

# The example in the documentation; it succeeds if the line fits.
if(NOT TANDEM_SANITIZE STREQUAL thread)
  add_executable(own_replica ${CMAKE_SOURCE_DIR}/docs/examples/own_replica.cpp)
  target_link_libraries(own_replica PRIVATE tandem_build_flags tandem_actors)
  set_target_properties(own_replica PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  add_test(NAME example_own_replica COMMAND own_replica)
  set_tests_properties(example_own_replica PROPERTIES TIMEOUT 60)
endif()
