#include "comm/message_mean/roll_call.h"

#include <numeric>
#include <string>
#include <utility>

#include "comm/error_text.h"
#include "comm/tags.h"
#include "config/job.h"

namespace tandem::comm::message_mean {
namespace {

constexpr auto kTag = static_cast<std::uint32_t>(Tag::call);

/// A name, or the number of what has none: another program may have sent it.
std::string name_or_number(const char* name, int number) { return name != nullptr ? name : std::to_string(number); }

std::string call_name(Call call) {
  switch (call) {
    case Call::all_reduce_mean:
      return "all_reduce_mean";
    case Call::broadcast:
      return "broadcast";
    case Call::barrier:
      return "barrier";
  }
  return name_or_number(nullptr, static_cast<int>(call));
}

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

RollCall::RollCall(Communicator& ranks) : ranks_(ranks), weights_(static_cast<std::size_t>(ranks.size())) {
  missing_.reserve(weights_.size());
}

void RollCall::announce(const CallHeader& call) {
  own_ = call;
  weights_[static_cast<std::size_t>(ranks_.rank())] = call.weight;
  missing_.clear();
  for (int rank = 0; rank < ranks_.size(); ++rank) {
    if (rank != ranks_.rank()) missing_.push_back(rank);
  }
  for (const int other : missing_) ranks_.send(other, kTag, bytes_of(call));
}

void RollCall::await() {
  // A rank alone learns here whether its group is dead.
  if (ranks_.size() == 1) ranks_.barrier();
  while (!missing_.empty()) {
    CallHeader call;
    const int other = ranks_.receive_any(missing_, kTag, writable_bytes_of(call), ranks_.deadline());
    if (const std::string different = difference(other, call, ranks_.rank(), own_); !different.empty()) {
      ranks_.abort(different);
      throw CommError(different);
    }
    weights_[static_cast<std::size_t>(other)] = call.weight;
    std::erase(missing_, other);
  }
  total_weight_ = std::accumulate(weights_.begin(), weights_.end(), 0.0);
}

}  // namespace tandem::comm::message_mean
