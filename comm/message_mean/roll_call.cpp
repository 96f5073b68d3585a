#include "comm/message_mean/roll_call.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "comm/error_text.h"
#include "comm/message_mean/call.h"
#include "config/job.h"

namespace tandem::comm::message_mean {
namespace {

/// A name, or the number of what has none: another program may have sent it.
std::string name_or_number(const char* name, int number) { return name != nullptr ? name : std::to_string(number); }

std::string algorithm_name(std::uint8_t number) {
  return name_or_number(name(static_cast<config::Algorithm>(number)), number);
}

std::string codec_name(std::uint8_t number) { return name_or_number(name(static_cast<config::Codec>(number)), number); }

/// What differs between two ranks that should have come to the same call; empty if nothing does.
std::string difference(int rank_a, const CallHeader& a, int rank_b, const CallHeader& b) {
  const auto differ = [&](const std::string& what, const std::string& of_a, const std::string& of_b) {
    return difference_text(rank_a, what + of_a, rank_b, what + of_b);
  };
  if (a.call != b.call) return differ("", call_name(a.call), call_name(b.call));
  if (a.step != b.step) return differ("step ", std::to_string(a.step), std::to_string(b.step));
  if (a.root != b.root) return differ("root ", std::to_string(a.root), std::to_string(b.root));
  if (a.size != b.size) return differ("size ", std::to_string(a.size), std::to_string(b.size));
  if (a.algorithm != b.algorithm) return differ("algorithm ", algorithm_name(a.algorithm), algorithm_name(b.algorithm));
  if (a.codec != b.codec) return differ("codec ", codec_name(a.codec), codec_name(b.codec));
  if (a.segment_values != b.segment_values) {
    return differ("segments of ", std::to_string(a.segment_values), std::to_string(b.segment_values));
  }
  return "";
}

}  // namespace

RollCall::RollCall(Communicator& ranks, const Hosts& hosts, Tag tag)
    : ranks_(ranks),
      hosts_(hosts),
      tag_(tag),
      weights_(static_cast<std::size_t>(ranks.size())),
      host_weights_(hosts.size()) {
  const int own = ranks.rank();
  const auto append = [](std::vector<int>& list, const auto& more) {
    list.insert(list.end(), more.begin(), more.end());
  };
  bool leads = false;
  for (const std::vector<int>& host : hosts) {
    if (std::ranges::find(host, own) == host.end()) {
      append(others_elsewhere_, host);
      others_told_.push_back(host.front());
      continue;
    }
    leads = host.front() == own;
    append(others_here_, host);
    std::erase(others_here_, own);
  }
  append(others_told_, others_here_);
  if (!leads) others_elsewhere_.clear();
  std::ranges::sort(others_elsewhere_);
  untold_.reserve(others_told_.size());
  missing_here_.reserve(others_here_.size());
  missing_elsewhere_.reserve(others_elsewhere_.size());
}

void RollCall::enter(const CallHeader& call) {
  own_ = call;
  weights_[static_cast<std::size_t>(ranks_.rank())] = call.weight;
  missing_here_ = others_here_;
  missing_elsewhere_ = others_elsewhere_;
  untold_ = others_told_;
}

void RollCall::send(int to, const Message& message) {
  if (std::erase(untold_, to) == 0) return ranks_.send(to, message.tag, message.data);
  ranks_.send_together(to, std::array{Message{static_cast<std::uint32_t>(tag_), bytes_of(own_)}, message});
}

void RollCall::tell_all() {
  for (const int other : untold_) ranks_.send(other, static_cast<std::uint32_t>(tag_), bytes_of(own_));
  untold_.clear();
}

void RollCall::await_host() {
  tell_all();
  await(missing_here_);
}

void RollCall::await() {
  // A rank alone learns here whether its group is dead.
  if (ranks_.size() == 1) ranks_.barrier();
  await_host();
  await(missing_elsewhere_);
  for (std::size_t host = 0; host < hosts_.size(); ++host) {
    host_weights_[host] = 0;
    for (const int rank : hosts_[host]) host_weights_[host] += weights_[static_cast<std::size_t>(rank)];
  }
}

void RollCall::await(std::vector<int>& missing) {
  while (!missing.empty()) {
    CallHeader call;
    const int other =
        ranks_.receive_any(missing, static_cast<std::uint32_t>(tag_), writable_bytes_of(call), ranks_.deadline());
    if (const std::string different = difference(other, call, ranks_.rank(), own_); !different.empty()) {
      ranks_.abort(different);
      throw CommError(different);
    }
    weights_[static_cast<std::size_t>(other)] = call.weight;
    std::erase(missing, other);
  }
}

Hosts one_a_host(int ranks) {
  Hosts hosts;
  for (int rank = 0; rank < ranks; ++rank) hosts.push_back({rank});
  return hosts;
}

}  // namespace tandem::comm::message_mean
