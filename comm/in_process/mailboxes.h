#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "comm/in_process/group_state.h"

namespace tandem::comm::in_process {

/// Messages between the ranks of an in-process group. A message is copied into the receiver's mailbox and from there to
/// the receiver; a mailbox is not bounded, so senders never wait.
///
/// Threads: each rank's calls come from one thread at a time. Errors are those of communicator.h; ranks are valid.
class Mailboxes {
 public:
  explicit Mailboxes(GroupState& group);

  void send(int from, int to, std::uint32_t tag, std::span<const std::byte> data);

  /// Waits for the message with that tag that has lain in `to`'s mailbox longest, from any rank in `from`, at most for
  /// `limit`; returns the sender's rank.
  int receive(int to, std::span<const int> from, std::uint32_t tag, std::span<std::byte> data, Duration limit);

 private:
  struct Message {
    int from;
    std::uint32_t tag;
    std::vector<std::byte> data;
  };
  using Mailbox = std::deque<Message>;  // in order of arrival

  Message wait_for_message(int to, std::span<const int> from, std::uint32_t tag, Duration limit);

  GroupState& group_;
  std::vector<Mailbox> mailboxes_;  // by receiving rank; guarded by group_.mutex
};

}  // namespace tandem::comm::in_process
