# The contract that every Communicator keeps; a test program adds what contract.h leaves to it.
add_library(tandem_communicator_contract OBJECT
  comm/contract_failures.cpp
  comm/contract_mean.cpp
  comm/contract_messages.cpp)
# Plain arithmetic, and what else the tests of several programs share.
add_library(tandem_comm_fixtures STATIC
  comm/contract.cpp
  comm/mean_fixture.cpp
  comm/reference_codec.cpp
  comm/reference_exchange.cpp
  comm/reference_mean.cpp)
foreach(library tandem_communicator_contract tandem_comm_fixtures)
  target_link_libraries(${library} PUBLIC tandem_comm Catch2::Catch2 PRIVATE tandem_build_flags)
  target_include_directories(${library} PUBLIC ${CMAKE_SOURCE_DIR}/tests)
endforeach()
target_link_libraries(tandem_communicator_contract PUBLIC tandem_comm_fixtures)
# Rounded as in comm/, to which it is compared.
set_source_files_properties(comm/codec_test.cpp comm/reference_codec.cpp comm/reference_exchange.cpp
  comm/reference_mean.cpp PROPERTIES COMPILE_OPTIONS -ffp-contract=off)

tandem_test(codec_test SOURCES comm/codec_test.cpp LIBRARIES tandem_comm_fixtures ONE_THREAD)
tandem_test(file_store_test SOURCES comm/file_store_test.cpp LIBRARIES tandem_comm ONE_THREAD)
tandem_test(in_process_test SOURCES comm/in_process_test.cpp LIBRARIES tandem_communicator_contract)
tandem_test(keys_test SOURCES comm/keys_test.cpp LIBRARIES tandem_comm ONE_THREAD)
if(TANDEM_LIBTORCH)
  add_test(NAME keygen_test COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/comm/keygen_test.sh $<TARGET_FILE:tandem>)
  set_tests_properties(keygen_test PROPERTIES TIMEOUT 60)
endif()
tandem_test(interface_test SOURCES comm/interface_test.cpp LIBRARIES tandem_comm ONE_THREAD)
tandem_test(message_mean_cost_test SOURCES comm/message_mean_cost_test.cpp LIBRARIES tandem_comm_fixtures)
tandem_test(message_mean_failure_test SOURCES comm/message_mean_failure_test.cpp LIBRARIES tandem_comm_fixtures)
# A sanitizer looks at every value, and so changes the ratio of times.
tandem_test(message_mean_speed_test
  SOURCES comm/message_mean_speed_test.cpp comm/peer_group_fixture.cpp LIBRARIES tandem_comm_fixtures LABELS slow)
target_compile_definitions(message_mean_speed_test PRIVATE TRANSPORT=make_gloo_communicator)
set_tests_properties(message_mean_speed_test PROPERTIES RUN_SERIAL ON)
tandem_test(message_mean_test SOURCES comm/message_mean_test.cpp LIBRARIES tandem_comm_fixtures)
tandem_test(weighted_sum_test SOURCES comm/weighted_sum_test.cpp LIBRARIES tandem_comm_fixtures ONE_THREAD)
# A sanitizer sees the same accesses with each codec, and the most with this one and with hosts that differ.
set(mean_codecs none bf16 int8)
set(host_layouts pairs uneven singles)
set(host_codecs none int8)
if(TANDEM_SANITIZE)
  set(mean_codecs int8)
  set(host_layouts uneven)
  set(host_codecs int8)
endif()
foreach(algorithm direct ring)
  foreach(codec ${mean_codecs})
    set(test ${algorithm}_${codec}_contract_test)
    tandem_test(${test} SOURCES comm/message_mean_contract_test.cpp LIBRARIES tandem_communicator_contract)
    target_compile_definitions(${test} PRIVATE ALGORITHM=${algorithm} CODEC=${codec})
  endforeach()
endforeach()
tandem_test(hierarchical_test
  SOURCES comm/hierarchical_test.cpp comm/hierarchical_fixture.cpp comm/peer_group_fixture.cpp LIBRARIES tandem_comm_fixtures)
target_compile_definitions(hierarchical_test PRIVATE TRANSPORT=make_gloo_communicator)
foreach(layout ${host_layouts})
  foreach(codec ${host_codecs})
    set(test hierarchical_${layout}_${codec}_contract_test)
    tandem_test(${test} SOURCES comm/hierarchical_contract_test.cpp comm/hierarchical_fixture.cpp
      LIBRARIES tandem_communicator_contract)
    target_compile_definitions(${test} PRIVATE LAYOUT=${layout} CODEC=${codec})
  endforeach()
endforeach()
# The thread sanitizer makes those over ZeroMQ, and the contract, take many minutes.
set(slow_with_threads "")
if(TANDEM_SANITIZE STREQUAL thread)
  set(slow_with_threads slow)
endif()
foreach(transport gloo zeromq)
  set(slow_over_zeromq "")
  if(transport STREQUAL zeromq)
    set(slow_over_zeromq ${slow_with_threads})
  endif()
  tandem_test(${transport}_contract_test
    SOURCES comm/peer_group_contract_test.cpp comm/peer_group_fixture.cpp LIBRARIES tandem_communicator_contract
    LABELS ${slow_with_threads})
  tandem_test(${transport}_process_test
    SOURCES comm/peer_group_process_test.cpp comm/peer_group_fixture.cpp comm/process_group.cpp
    LIBRARIES tandem_comm_fixtures LABELS ${slow_over_zeromq})
  tandem_test(${transport}_group_test
    SOURCES comm/peer_group_test.cpp comm/peer_group_fixture.cpp LIBRARIES tandem_comm_fixtures
    LABELS ${slow_over_zeromq})
  foreach(kind contract process group)
    target_compile_definitions(${transport}_${kind}_test PRIVATE TRANSPORT=make_${transport}_communicator)
  endforeach()
endforeach()
tandem_test(zeromq_security_test
  SOURCES comm/zeromq_security_test.cpp comm/peer_group_fixture.cpp comm/control/relay.cpp comm/control/tcp.cpp
  LIBRARIES tandem_comm_fixtures PkgConfig::zmq LABELS ${slow_with_threads})
target_compile_definitions(zeromq_security_test PRIVATE TRANSPORT=make_zeromq_communicator)
include(${CMAKE_CURRENT_LIST_DIR}/control/tests.cmake)
