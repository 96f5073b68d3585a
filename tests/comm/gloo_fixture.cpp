#include "comm/gloo_fixture.h"

#include <exception>
#include <thread>

#include "comm/memory_store.h"

namespace tandem::comm::test {

Group make_gloo_group(const GroupOptions& options) {
  MemoryStore store;
  Group group(index(options.size));
  std::vector<std::exception_ptr> errors(group.size());
  std::vector<std::thread> threads;
  for (int rank = 0; rank < options.size; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        group[index(rank)] = make_gloo_communicator(store, {.rank = rank,
                                                            .size = options.size,
                                                            .address = "127.0.0.1",
                                                            .key_prefix = "group",
                                                            .results_kept = options.results_kept,
                                                            .deadline = options.deadline,
                                                            .connect_deadline = std::chrono::minutes(2)});
      } catch (...) {
        errors[index(rank)] = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& error : errors) {
    if (error) std::rethrow_exception(error);
  }
  return group;
}

}  // namespace tandem::comm::test
