# The contract that every Communicator keeps; a test program adds what contract.h leaves to it.
set(communicator_contract
  comm/contract.cpp
  comm/contract_failures.cpp
  comm/contract_mean.cpp
  comm/contract_messages.cpp
  comm/mean_fixture.cpp
  comm/reference_mean.cpp)
# The reference rounds as comm/weighted_sum.cpp does.
set_source_files_properties(comm/reference_mean.cpp PROPERTIES COMPILE_OPTIONS -ffp-contract=off)

tandem_test(in_process_test SOURCES comm/in_process_test.cpp ${communicator_contract} LIBRARIES tandem_comm)
tandem_test(weighted_sum_test SOURCES comm/weighted_sum_test.cpp comm/reference_mean.cpp LIBRARIES tandem_comm)
