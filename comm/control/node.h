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

/// What a node says of itself. Nobody checks it, whoever it comes from.
struct NodeInfo {
  std::string version = {};
  std::string host = {};
  /// Chosen for it, to tell nodes of one host apart; else that of the host.
  std::string name = {};
  std::int64_t pid = 0;
  std::uint32_t cores = 0;
  /// GPUs that it offers.
  std::uint32_t devices = 0;
  /// Bytes of main memory.
  std::uint64_t memory = 0;
};

/// This process, of a program of `version`. An empty `name` stands for the host's.
NodeInfo this_node(std::string version, std::string name = "", std::uint32_t devices = 0);

/// "node left (host host7, pid 4711)", or "node host7 (pid 4711)" if it has no name of its own.
std::string name_of(const NodeInfo& node);

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
