#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "comm/communicator.h"
#include "comm/message_mean/members.h"
#include "comm/tags.h"
#include "comm/wire.h"
#include "config/job.h"

namespace tandem::comm::message_mean {

/// What a rank spent on encoding and decoding.
struct CodecTime {
  Duration encoding = Duration::zero();
  Duration decoding = Duration::zero();
};

/// Memory for one message with a segment of a vector, used again for the next. Owner only.
class SegmentMessage {
 public:
  /// For up to `capacity` values. `time` is added to and outlives this.
  SegmentMessage(config::Codec codec, std::size_t capacity, CodecTime& time);

  /// Fill the message; its header names no rank yet. See comm/codec.h.
  void encode(std::span<const float> values);
  void encode_with_feedback(std::span<const float> values, std::span<const float> residual,
                            std::span<float> new_residual);

  /// Takes the values out of the message, as many as were put in.
  void decode(std::span<float> values) const;
  void decode_add(float scale, std::span<float> sum) const;

  void send(const Members& ranks, int to, Tag tag) const;
  /// The message as another layer sends it. Valid until this is filled again.
  Message message(Tag tag) const;
  /// Waits for a message with `count` values.
  void receive(const Members& ranks, int from, Tag tag, std::size_t count);

  SegmentHeader header() const;
  void name_non_finite_rank(std::int32_t rank);

 private:
  /// Makes it a message of `count` values; returns where they go.
  std::span<std::byte> resize(std::size_t count);
  void set_header(const SegmentHeader& header);
  std::span<const std::byte> encoded() const { return std::span(memory_).first(size_).subspan(sizeof(SegmentHeader)); }

  const config::Codec codec_;
  CodecTime& time_;
  std::vector<std::byte> memory_;  // a header and the encoded values
  std::size_t size_ = sizeof(SegmentHeader);
};

}  // namespace tandem::comm::message_mean
