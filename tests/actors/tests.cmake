add_library(tandem_test_quadratic STATIC support/plain_training.cpp support/quadratic_replica.cpp)
target_include_directories(tandem_test_quadratic PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(tandem_test_quadratic PUBLIC tandem_actors PRIVATE tandem_build_flags)

tandem_test(actors_test
  SOURCES actors/exactness_test.cpp actors/failures_test.cpp actors/parameter_server_test.cpp actors/run_test.cpp
  LIBRARIES tandem_test_quadratic)
# Begins first: the other tests run beside it.
set_tests_properties(actors_test PROPERTIES COST 1000)
tandem_test(run_book_test
  SOURCES actors/run_book_test.cpp
  LIBRARIES tandem_test_quadratic tandem_caf)
tandem_test(cluster_run_test
  SOURCES actors/cluster_test.cpp
  LIBRARIES tandem_test_quadratic)
tandem_test(placement_test
  SOURCES actors/placement_test.cpp
  LIBRARIES tandem_test_quadratic ONE_THREAD)
tandem_test(bridge_test
  SOURCES actors/bridge_test.cpp
  LIBRARIES tandem_actors tandem_caf)
