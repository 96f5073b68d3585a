#pragma once

#include <exception>
#include <string>

#include "comm/communicator.h"
#include "comm/message_mean.h"
#include "comm/wire.h"

// A collective as its caller and its errors see it.
namespace tandem::comm::message_mean {

/// "all_reduce_mean"; the number of what has no name, as another program may have sent it.
std::string call_name(Call call);

/// "all_reduce_mean of step 7 on rank 2"
std::string call_text(const CallHeader& call, int rank);

/// How a rank comes to all_reduce_mean. Throws std::invalid_argument for a weight that is none.
CallHeader call_of(const Contribution& contribution, const MessageMeanOptions& options);

/// The same for broadcast in a group of `ranks`. Throws std::invalid_argument if there is no such root.
CallHeader call_of_broadcast(int root, std::size_t size, int ranks);

/// Runs `body`, whose errors become those of `call` on `end`'s rank. One that is not the group's own, such as no
/// memory, aborts the group: the others would wait in vain.
template <typename Body>
void within(const CallHeader& call, Communicator& end, const Body& body) {
  const auto text = [&](const std::exception& error) { return call_text(call, end.rank()) + ": " + error.what(); };
  try {
    body();
  } catch (const AbortedError& error) {
    throw AbortedError(text(error));
  } catch (const DeadlineError& error) {
    throw DeadlineError(text(error));
  } catch (const CommError& error) {
    throw CommError(text(error));
  } catch (const std::exception& error) {
    end.abort(text(error));
    throw CommError(text(error));
  }
}

}  // namespace tandem::comm::message_mean
