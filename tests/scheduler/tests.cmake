find_package(nlohmann_json REQUIRED)
tandem_test(scheduler_test
  SOURCES scheduler/duration_histogram_test.cpp scheduler/permit_plan_test.cpp scheduler/pipeline_window_test.cpp
          scheduler/run_permits_test.cpp scheduler/stability_test.cpp scheduler/staleness_gate_test.cpp scheduler/timeline_test.cpp
  LIBRARIES tandem_scheduler nlohmann_json::nlohmann_json)
