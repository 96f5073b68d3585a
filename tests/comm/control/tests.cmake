tandem_test(control_logic_test
  SOURCES comm/control/frame_test.cpp comm/control/logic_test.cpp comm/control/sides_test.cpp LIBRARIES tandem_comm)
tandem_test(control_sockets_test SOURCES comm/control/sockets_test.cpp LIBRARIES tandem_comm)

add_executable(control_party comm/control/party.cpp)
target_link_libraries(control_party PRIVATE tandem_build_flags tandem_comm)
set_target_properties(control_party PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
tandem_test(control_faults_test
  SOURCES comm/control/faults_test.cpp comm/control/relay.cpp LIBRARIES tandem_comm PkgConfig::zmq)
add_dependencies(control_faults_test control_party)
target_compile_definitions(control_faults_test PRIVATE CONTROL_PARTY="$<TARGET_FILE:control_party>")
tandem_test(control_security_test
  SOURCES comm/control/security_test.cpp comm/control/relay.cpp LIBRARIES tandem_comm)

# What libzmq does between its own threads is not seen, as it is not instrumented.
if(TANDEM_SANITIZE STREQUAL thread)
  set_tests_properties(control_sockets_test control_faults_test control_security_test PROPERTIES
    ENVIRONMENT "TSAN_OPTIONS=suppressions=${CMAKE_CURRENT_SOURCE_DIR}/comm/control/tsan.supp")
endif()

# Looks for inputs that break the control port; longer with a larger number of seconds.
add_executable(control_fuzz fuzz/control_fuzz.cpp)
target_link_libraries(control_fuzz PRIVATE tandem_build_flags tandem_comm)
set_target_properties(control_fuzz PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
add_test(NAME control_fuzz COMMAND control_fuzz --seconds 5)
set_tests_properties(control_fuzz PROPERTIES TIMEOUT 120)
