#include "comm/message_mean/segment_message.h"

#include <cstring>

#include "comm/codec.h"

namespace tandem::comm::message_mean {
namespace {

/// Adds the time of its life to a sum.
class Timed {
 public:
  explicit Timed(Duration& sum) : sum_(sum), begin_(std::chrono::steady_clock::now()) {}
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;
  ~Timed() { sum_ += std::chrono::steady_clock::now() - begin_; }

 private:
  Duration& sum_;
  const std::chrono::steady_clock::time_point begin_;
};

std::uint32_t tag_number(Tag tag) { return static_cast<std::uint32_t>(tag); }

}  // namespace

SegmentMessage::SegmentMessage(config::Codec codec, std::size_t capacity, CodecTime& time)
    : codec_(codec), time_(time), memory_(sizeof(SegmentHeader) + encoded_size(codec, capacity)) {}

void SegmentMessage::encode(std::span<const float> values) {
  const Timed timed(time_.encoding);
  const bool finite = comm::encode(codec_, values, resize(values.size()));
  set_header({.finite = finite ? 1U : 0U});
}

void SegmentMessage::encode_with_feedback(std::span<const float> values, std::span<const float> residual,
                                          std::span<float> new_residual) {
  const Timed timed(time_.encoding);
  const bool finite = comm::encode_with_feedback(codec_, values, residual, new_residual, resize(values.size()));
  set_header({.finite = finite ? 1U : 0U});
}

void SegmentMessage::decode(std::span<float> values) const {
  const Timed timed(time_.decoding);
  comm::decode(codec_, encoded(), values);
}

void SegmentMessage::decode_add(float scale, std::span<float> sum) const {
  const Timed timed(time_.decoding);
  comm::decode_add(codec_, encoded(), scale, sum);
}

void SegmentMessage::send(const Members& ranks, int to, Tag tag) const {
  ranks.send(to, tag_number(tag), std::span(memory_).first(size_));
}

Message SegmentMessage::message(Tag tag) const { return {tag_number(tag), std::span(memory_).first(size_)}; }

void SegmentMessage::receive(const Members& ranks, int from, Tag tag, std::size_t count) {
  resize(count);
  ranks.receive(from, tag_number(tag), std::span(memory_).first(size_));
}

SegmentHeader SegmentMessage::header() const {
  SegmentHeader header;
  std::memcpy(&header, memory_.data(), sizeof(header));
  return header;
}

void SegmentMessage::name_non_finite_rank(std::int32_t rank) {
  SegmentHeader named = header();
  named.non_finite_rank = rank;
  set_header(named);
}

std::span<std::byte> SegmentMessage::resize(std::size_t count) {
  size_ = sizeof(SegmentHeader) + encoded_size(codec_, count);
  return std::span(memory_).first(size_).subspan(sizeof(SegmentHeader));
}

void SegmentMessage::set_header(const SegmentHeader& header) { std::memcpy(memory_.data(), &header, sizeof(header)); }

}  // namespace tandem::comm::message_mean
