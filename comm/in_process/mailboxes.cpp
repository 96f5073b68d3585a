#include "comm/in_process/mailboxes.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "comm/error_text.h"

namespace tandem::comm::in_process {
namespace {

std::string call_text(const std::string& what, std::uint32_t tag, int rank) {
  return what + " with tag " + std::to_string(tag) + " on rank " + std::to_string(rank);
}

std::string receive_text(std::span<const int> from, std::uint32_t tag, int rank) {
  return call_text("receive from " + ranks_text(from), tag, rank);
}

}  // namespace

Mailboxes::Mailboxes(GroupState& group) : group_(group), mailboxes_(index(group.size())) {}

void Mailboxes::send(int from, int to, std::uint32_t tag, std::span<const std::byte> data) {
  Message message{from, tag, {data.begin(), data.end()}};
  {
    const Lock lock(group_.mutex);
    if (!group_.dead(lock) && group_.has_left(lock, to)) group_.fail_left(lock, to);
    if (group_.dead(lock)) group_.throw_aborted(lock, call_text("send to rank " + std::to_string(to), tag, from));
    mailboxes_[index(to)].push_back(std::move(message));
  }
  group_.mail_changed[index(to)].notify_one();
}

int Mailboxes::receive(int to, std::span<const int> from, std::uint32_t tag, std::span<std::byte> data,
                       Duration limit) {
  const Message message = wait_for_message(to, from, tag, limit);
  if (message.data.size() != data.size()) {
    const std::string cause = receive_text(from, tag, to) + ": rank " + std::to_string(message.from) + " sent " +
                              std::to_string(message.data.size()) + " bytes, " + std::to_string(data.size()) +
                              " were expected";
    group_.abort(cause);
    throw CommError(cause);
  }
  // Not the library's copy, which goes byte by byte here.
  if (!data.empty()) std::memcpy(data.data(), message.data.data(), data.size());
  return message.from;
}

Mailboxes::Message Mailboxes::wait_for_message(int to, std::span<const int> from, std::uint32_t tag, Duration limit) {
  const Clock::time_point begin = Clock::now();
  Mailbox& mailbox = mailboxes_[index(to)];
  Lock lock(group_.mutex);
  auto found = mailbox.end();
  const auto all_left = [&] {
    return std::ranges::all_of(from, [&](int rank) { return group_.has_left(lock, rank); });
  };
  group_.mail_changed[index(to)].wait_until(lock, begin + limit, [&] {
    found = std::ranges::find_if(mailbox, [&](const Message& message) {
      return message.tag == tag && std::ranges::find(from, message.from) != from.end();
    });
    return found != mailbox.end() || group_.dead(lock) || all_left();
  });
  if (found == mailbox.end() && all_left()) group_.fail_left(lock, from.front());
  if (group_.dead(lock)) group_.throw_aborted(lock, receive_text(from, tag, to));
  if (found == mailbox.end()) {
    const std::string cause = receive_text(from, tag, to) + ": " + ranks_text(from) +
                              " sent nothing in time: " + waited_text(to, Clock::now() - begin, limit);
    group_.fail(lock, cause);
    throw DeadlineError(cause);
  }
  Message message = std::move(*found);
  mailbox.erase(found);
  return message;
}

}  // namespace tandem::comm::in_process
