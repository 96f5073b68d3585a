#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>

// The seam to everybody who exchanges data. One Communicator is one rank's end of a group of `size` ranks.
//
// Rules
//   1. all_reduce_mean, broadcast and barrier are collective: every rank calls them, in the same order. That order is
//      checked: ranks that meet in different operations, with different sizes or steps all fail with CommError.
//   2. Each call ends within the group's deadline (receive_any: or the limit that it is given): with a result, or with
//      DeadlineError or AbortedError. A group in which any call failed is dead; every later call on any rank throws.
//      Make a new group to go on.
//   3. A rank's collectives and point-to-point calls come from one thread at a time. abort() may be called from any
//      thread, any number of times; the first reason stays.
//   4. After all_reduce_mean every rank sees the same bits.
//   5. A rank that does not exist, or a weight that is negative or not finite, is std::invalid_argument on the rank
//      that gave it; that call did nothing, and the group lives on.
namespace tandem::comm {

using Step = std::int64_t;
using Duration = std::chrono::nanoseconds;

/// As good as no limit, and still within the range of clocks.
inline constexpr Duration longest_wait = std::chrono::years(1);

/// Something went wrong in an operation; the group is dead. what() names the operation, the step of a mean, this rank,
/// and, where known, the peer.
class CommError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A rank did not come in time; what() names the ranks that are missing, the elapsed and the allowed time.
class DeadlineError : public CommError {
 public:
  using CommError::CommError;
};

/// The group was aborted, by abort() or by an error on another rank: a consequence, not a cause.
class AbortedError : public CommError {
 public:
  using CommError::CommError;
};

/// One rank's part of a mean.
struct Contribution {
  Step step = 0;
  /// Read until the call returns; must not overlap with a Mean still in use.
  std::span<const float> values;
  /// Number of samples that `values` is the mean of. With weight 0 the values are not read.
  double weight = 1;
};

/// The mean over all ranks' samples: sum(weight * values) / sum(weight), rounded as the implementation says.
struct Mean {
  Step step = 0;
  /// Owned by the group. Valid until this rank enters the `results_kept`-th next all_reduce_mean. All zero if the sum
  /// of weights is 0.
  std::span<const float> values;
  double weight = 0;
  /// False if any value of the mean is NaN or infinite.
  bool finite = true;
  /// The lowest rank whose contribution is not finite itself; unset if all are (the sum overflowed).
  std::optional<int> non_finite_rank;
  /// Time that this rank spent in this call on putting values into bytes, and on getting values out of bytes; zero
  /// where no codec is in use.
  Duration encoding = Duration::zero();
  Duration decoding = Duration::zero();
};

/// One of several messages from one rank to another.
struct Message {
  std::uint32_t tag = 0;
  /// Read until the call returns.
  std::span<const std::byte> data;
};

class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  /// Collective.
  [[nodiscard]] virtual Mean all_reduce_mean(const Contribution& contribution) = 0;

  /// Collective: copies `data` of rank `root` into `data` of all others.
  virtual void broadcast(int root, std::span<std::byte> data) = 0;

  /// Collective: returns when every rank has called it.
  virtual void barrier() = 0;

  /// Sends a message; returns when `data` may be reused, without waiting for the receiver. Messages from one rank to
  /// another with one tag arrive in order.
  virtual void send(int to, std::uint32_t tag, std::span<const std::byte> data) = 0;

  /// Sends several messages, in this order, as send() does. A network may carry them as one, which costs less.
  virtual void send_together(int to, std::span<const Message> messages) {
    for (const Message& message : messages) send(to, message.tag, message.data);
  }

  /// Waits for the next message with that tag from `from`. Its length must equal data.size(), else CommError.
  virtual void receive(int from, std::uint32_t tag, std::span<std::byte> data) = 0;

  /// Waits for the next message with that tag from any rank in `from`, at most for `limit`; returns the sender's rank.
  virtual int receive_any(std::span<const int> from, std::uint32_t tag, std::span<std::byte> data, Duration limit) = 0;

  /// The longest that a call waits for other ranks.
  virtual Duration deadline() const = 0;

  /// Bytes that this rank has put on a network so far; none where ranks share memory. From the rank's own thread.
  virtual std::uint64_t bytes_sent() const = 0;

  /// Ends the group: every blocked and every later call on every rank throws AbortedError with `reason`. Only a
  /// collective that all ranks have entered may still succeed.
  virtual void abort(const std::string& reason) noexcept = 0;
};

}  // namespace tandem::comm
