#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <stdexcept>
#include <string>

// Who takes part in the control plane, and the words that both of its ends share.
namespace tandem::comm::control {

/// A point on a clock, or a span of time.
using Time = std::chrono::nanoseconds;

/// A random number of 128 bits, drawn once a process.
struct NodeId {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  auto operator<=>(const NodeId&) const = default;
};

/// From the system's source of randomness; safe from any thread.
NodeId random_node_id();

/// 32 hexadecimal digits.
std::string to_string(const NodeId& id);

/// What a node says of itself. Texts are UTF-8 without control characters, at most `longest_text` bytes.
struct NodeInfo {
  std::string version;
  std::string host;
  std::int64_t pid = 0;
  std::uint32_t cores = 0;
  /// Bytes of main memory.
  std::uint64_t memory = 0;
};

inline constexpr std::size_t longest_text = 1000;

/// This process, of a program of `version`.
NodeInfo this_node(std::string version);

/// "node host7 (pid 4711)"
std::string name_of(const NodeInfo& node);

/// "0.251 s"
std::string seconds_text(Time time);

/// What the control plane cannot do; what() says what was asked of which peer, and why not.
class ControlError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// There is no such peer, or it is gone.
class GoneError : public ControlError {
 public:
  using ControlError::ControlError;
};

/// The peer has not yet acknowledged as much as may be kept for it. The message was not taken; later it may be.
class BacklogError : public ControlError {
 public:
  using ControlError::ControlError;
};

}  // namespace tandem::comm::control
