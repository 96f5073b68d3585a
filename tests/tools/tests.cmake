# Scripts are the same under every sanitizer.
if(NOT TANDEM_SANITIZE)
  foreach(script tools/lint_test.sh tools/install_packages_test.sh tools/commands_test.sh)
    get_filename_component(name ${script} NAME_WE)
    add_test(NAME script_${name} COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/${script})
    set_tests_properties(script_${name} PROPERTIES TIMEOUT 300)
  endforeach()
endif()
