#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "comm/communicator.h"

// What the contract tests (contract_*.cpp) need to run over an implementation of Communicator. A test program links
// them and defines make_group(), mean_tolerance() and large_size(); nothing else in them depends on the implementation.
namespace tandem::comm::test {

struct GroupOptions {
  int size = 1;
  int results_kept = 1;
  Duration deadline = std::chrono::minutes(2);
};

/// Element i is rank i's end, used by one thread at a time.
using Group = std::vector<std::unique_ptr<Communicator>>;

Group make_group(const GroupOptions& options);

/// How far a value of a mean may be from the exact one, in units of FLT_EPSILON times the largest magnitude among the
/// contributions to this call and, of codecs that make up for their losses, those before it.
double mean_tolerance(int ranks);

/// Values, or bytes, of the largest vectors to try: as many as it takes for the implementation to cut them into parts.
std::size_t large_size();

inline std::size_t index(int rank) { return static_cast<std::size_t>(rank); }

/// Runs `body` for all ranks at once, each on a thread of its own. If a rank throws, the group is aborted and the error
/// rethrown here: a cause rather than an AbortedError. Catch's assertions are not for several threads: let `body`
/// collect, and check afterwards.
void run_ranks(const Group& group, const std::function<void(Communicator&)>& body);

/// The same, but leaves the group alone and returns what each rank threw; null where it threw nothing.
std::vector<std::exception_ptr> run_failing_ranks(const Group& group, const std::function<void(Communicator&)>& body);

/// what() of an error; empty if there is none.
std::string message(const std::exception_ptr& error);

template <typename Error>
bool is_a(const std::exception_ptr& error) {
  if (!error) return false;
  try {
    std::rethrow_exception(error);
  } catch (const Error&) {
    return true;
  } catch (...) {
    return false;
  }
}

}  // namespace tandem::comm::test
