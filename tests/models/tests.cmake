tandem_test(models_test
  SOURCES models/learning_rate_test.cpp models/optimizer_stability_test.cpp models/optimizer_test.cpp
          models/prediction_test.cpp models/sampler_test.cpp
  LIBRARIES tandem_models ONE_THREAD)

find_package(ZLIB REQUIRED)
tandem_test(data_test
  SOURCES models/cross_entropy_test.cpp models/idx_test.cpp models/synthetic_test.cpp
  LIBRARIES tandem_models ZLIB::ZLIB ONE_THREAD)

if(TANDEM_LIBTORCH)
  tandem_test(replica_test
    SOURCES models/concurrent_replicas_test.cpp models/network_test.cpp models/running_statistics_test.cpp
            models/torch_replica_test.cpp
    LIBRARIES tandem_models)
endif()
