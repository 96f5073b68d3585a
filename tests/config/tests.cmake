# On one thread, where the thread sanitizer has nothing to see.
if(TANDEM_SANITIZE STREQUAL thread)
  return()
endif()

tandem_test(config_reader_test SOURCES config/job_reader_test.cpp LIBRARIES tandem_config)
tandem_test(config_errors_test SOURCES config/job_errors_test.cpp LIBRARIES tandem_config)
tandem_test(config_effect_test SOURCES config/effect_test.cpp LIBRARIES tandem_config)
tandem_test(config_round_trip_test SOURCES config/round_trip_test.cpp LIBRARIES tandem_config)
tandem_test(config_documentation_test SOURCES config/documentation_test.cpp LIBRARIES tandem_config)
tandem_test(config_suggestion_test SOURCES config/suggestion_test.cpp LIBRARIES tandem_config)
foreach(name config_reader_test config_documentation_test)
  target_compile_definitions(${name} PRIVATE TANDEM_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
endforeach()
