tandem_test(control_logic_test
  SOURCES comm/control/frame_test.cpp comm/control/logic_test.cpp comm/control/server_side_test.cpp
    comm/control/sides_test.cpp
  LIBRARIES tandem_comm ONE_THREAD)

# Networks and processes for the tests to do harm to.
add_library(tandem_control_fixtures STATIC comm/control/relay.cpp comm/control/tcp.cpp)
target_link_libraries(tandem_control_fixtures PUBLIC tandem_comm PRIVATE tandem_build_flags)
target_include_directories(tandem_control_fixtures PUBLIC ${CMAKE_SOURCE_DIR}/tests)
add_executable(control_party comm/control/party.cpp)
target_link_libraries(control_party PRIVATE tandem_build_flags tandem_control_fixtures)
set_target_properties(control_party PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)

foreach(source comm/control/attacks_test.cpp comm/control/faults_test.cpp comm/control/security_test.cpp
    comm/control/sockets_test.cpp)
  get_filename_component(name ${source} NAME_WE)
  set(test control_${name})
  # All but this one have the control plane bear thousands of connections and messages, which takes it minutes with the
  # thread sanitizer.
  set(labels "")
  if(TANDEM_SANITIZE STREQUAL thread AND NOT name STREQUAL security_test)
    set(labels slow)
  endif()
  tandem_test(${test} SOURCES ${source} LIBRARIES tandem_control_fixtures PkgConfig::zmq LABELS ${labels})
  add_dependencies(${test} control_party)
  target_compile_definitions(${test} PRIVATE CONTROL_PARTY="$<TARGET_FILE:control_party>")
  # What libzmq does between its own threads is not seen, as it is not instrumented.
  if(TANDEM_SANITIZE STREQUAL thread)
    set_tests_properties(${test} PROPERTIES
      ENVIRONMENT "TSAN_OPTIONS=suppressions=${CMAKE_CURRENT_SOURCE_DIR}/comm/control/tsan.supp")
  endif()
endforeach()

# Looks for inputs that break the control port; other seeds and times by hand, see its usage.
add_executable(control_fuzz fuzz/control_fuzz.cpp)
target_link_libraries(control_fuzz PRIVATE tandem_build_flags tandem_comm)
set_target_properties(control_fuzz PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
# Once in tools/test, with the sanitizers that see most.
if(TANDEM_SANITIZE MATCHES address)
  add_test(NAME control_fuzz COMMAND control_fuzz --seconds 60)
  set_tests_properties(control_fuzz PROPERTIES TIMEOUT 300 LABELS fuzz)
endif()

# For measuring by hand; see its usage.
add_executable(control_bench EXCLUDE_FROM_ALL comm/control/bench.cpp)
target_link_libraries(control_bench PRIVATE tandem_build_flags tandem_comm)
target_include_directories(control_bench PRIVATE ${CMAKE_SOURCE_DIR}/tests)
