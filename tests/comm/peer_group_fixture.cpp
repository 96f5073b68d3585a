#include "comm/peer_group_fixture.h"

#include <exception>
#include <thread>

#include "comm/gloo.h"
#include "comm/memory_store.h"
#include "comm/zeromq.h"

namespace tandem::comm::test {
std::unique_ptr<Communicator> make_end(Store& store, const PeerGroupOptions& options) {
  return TRANSPORT(store, options);
}

Group make_peer_group(const GroupOptions& options, Store& store) {
  Group group(index(options.size));
  std::vector<std::exception_ptr> errors(group.size());
  std::vector<std::thread> threads;
  for (int rank = 0; rank < options.size; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        group[index(rank)] = make_end(store, {.rank = rank,
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

Group make_peer_group(const GroupOptions& options) {
  MemoryStore store;
  return make_peer_group(options, store);
}

}  // namespace tandem::comm::test

// Gloo forgets the addresses that it was looking through if none of them will do.
extern "C" const char* __lsan_default_suppressions() { return "leak:gloo::transport::tcp::CreateDeviceAttr\n"; }
