#include "comm/contract.h"

#include <thread>

namespace tandem::comm::test {

std::vector<std::exception_ptr> run_failing_ranks(const Group& group, const std::function<void(Communicator&)>& body) {
  std::vector<std::exception_ptr> errors(group.size());
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < group.size(); ++rank) {
    threads.emplace_back([&, rank] {
      try {
        body(*group[rank]);
      } catch (...) {
        errors[rank] = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return errors;
}

void run_ranks(const Group& group, const std::function<void(Communicator&)>& body) {
  const auto errors = run_failing_ranks(group, [&](Communicator& end) {
    try {
      body(end);
    } catch (const std::exception& error) {
      end.abort(error.what());
      throw;
    }
  });
  for (const auto& error : errors) {
    if (error && !is_a<AbortedError>(error)) std::rethrow_exception(error);
  }
  for (const auto& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

std::string message(const std::exception_ptr& error) {
  if (!error) return "";
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& exception) {
    return exception.what();
  }
}

}  // namespace tandem::comm::test
