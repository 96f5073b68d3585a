if(TANDEM_LIBTORCH)
  tandem_test(training_test
    SOURCES system/training_test.cpp system/watched_replica.cpp
    LIBRARIES tandem_test_quadratic tandem_tools)
  add_test(NAME program_test
    COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/system/program_test.sh $<TARGET_FILE:tandem>)
  add_test(NAME nodes_test
    COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/system/nodes_test.sh $<TARGET_FILE:tandem>)
  set_tests_properties(program_test nodes_test PROPERTIES TIMEOUT 600 RUN_SERIAL ON)
  # It measures how soon runs end, which a sanitizer changes.
  set_tests_properties(nodes_test PROPERTIES LABELS slow)
endif()
