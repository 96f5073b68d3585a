#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

// The layouts of messages between ranks. Numbers are little-endian and lie at multiples of their size; a reserved byte
// is 0. What follows a header in the same message is said there.
namespace tandem::comm {

static_assert(std::endian::native == std::endian::little, "messages are sent as they lie in memory");

/// A collective, in messages.
enum class Call : std::uint8_t { all_reduce_mean, broadcast, barrier };

/// How one rank comes to a collective (Tag::call). Everything but the weight must be the same on all ranks.
struct CallHeader {
  Call call = Call::barrier;
  /// all_reduce_mean: config::Algorithm and config::Codec, by their numbers.
  std::uint8_t algorithm = 0;
  std::uint8_t codec = 0;
  std::uint8_t reserved = 0;
  /// broadcast
  std::int32_t root = 0;
  /// all_reduce_mean
  std::int64_t step = 0;
  /// Values of a mean, bytes of a broadcast.
  std::uint64_t size = 0;
  /// all_reduce_mean: the longest segment, in values.
  std::uint64_t segment_values = 0;
  /// all_reduce_mean: samples behind this rank's contribution.
  double weight = 0;
};
static_assert(sizeof(CallHeader) == 40 && std::is_trivially_copyable_v<CallHeader>);

/// Stands before the encoded values (comm/codec.h) of a segment of a vector (Tag::contribution, partial_sum and mean).
struct SegmentHeader {
  static constexpr std::int32_t no_rank = -1;

  /// The lowest rank whose contribution to this segment, as far as it is in it, is not finite itself.
  std::int32_t non_finite_rank = no_rank;
  /// 1 if all values of the segment are finite as encoded, else 0.
  std::uint32_t finite = 1;
};
static_assert(sizeof(SegmentHeader) == 8 && std::is_trivially_copyable_v<SegmentHeader>);

/// What a worker asks of a parameter server (Tag::request).
struct RequestHeader {
  enum class Kind : std::uint8_t {
    update,      ///< to take the gradient that follows (Tag::gradient) and to give the state to compute with next
    state,       ///< the true state
    last_state,  ///< the true state once all workers have asked for the last one
  };
  Kind kind = Kind::update;
  /// config::Codec of the gradient, by its number. What follows is about a gradient too.
  std::uint8_t codec = 0;
  /// 1 if all its values are finite, in all servers' parts of it, else 0.
  std::uint8_t finite = 1;
  std::uint8_t reserved[5] = {};
  std::int64_t step = 0;
  /// Values in this server's part of it.
  std::uint64_t size = 0;
  /// Samples that it is the mean of. With weight 0 no gradient follows.
  double weight = 0;
  /// Of all its parameters, in all servers' parts and before it was encoded; 0 where it is not clipped by itself.
  double squared_norm = 0;
};
static_assert(sizeof(RequestHeader) == 40 && std::is_trivially_copyable_v<RequestHeader>);

/// What came of a request (Tag::answer); the state follows (Tag::state).
struct AnswerHeader {
  static constexpr std::int32_t no_rank = -1;
  static constexpr std::int64_t unknown = -1;

  /// Of the request.
  std::int64_t step = 0;
  /// Samples behind the update; 0 if there is none.
  double weight = 0;
  /// Steps that the worker's next one is ahead of the slowest worker's; unknown where all go in step.
  std::int64_t ahead = unknown;
  /// The lowest rank whose gradient is not finite itself.
  std::int32_t non_finite_rank = no_rank;
  /// 1 if the update is finite, and so was applied, else 0.
  std::uint32_t finite = 1;
};
static_assert(sizeof(AnswerHeader) == 32 && std::is_trivially_copyable_v<AnswerHeader>);

/// What one parameter server knows of its part of a mean (Tag::part_of_mean).
struct PartOfMean {
  std::int64_t step = 0;
  /// Of the parameters in it; 0 where means are not clipped.
  double squared_norm = 0;
  /// 1 if all its values are finite, else 0.
  std::uint64_t finite = 1;
};
static_assert(sizeof(PartOfMean) == 24 && std::is_trivially_copyable_v<PartOfMean>);

/// A header as the bytes that it is on the wire.
template <typename Header>
std::span<const std::byte> bytes_of(const Header& header) {
  static_assert(std::is_trivially_copyable_v<Header>);
  return std::as_bytes(std::span(&header, 1));
}

template <typename Header>
std::span<std::byte> writable_bytes_of(Header& header) {
  static_assert(std::is_trivially_copyable_v<Header>);
  return std::as_writable_bytes(std::span(&header, 1));
}

}  // namespace tandem::comm
