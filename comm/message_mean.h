#pragma once

#include <cstddef>
#include <memory>

#include "comm/communicator.h"
#include "config/job.h"

// AllReduce on messages: works over every Communicator, and carries codecs.
//
//   direct  Every rank owns an even share of the vector. It sends the others what it has for their shares, sums what it
//           gets for its own, and sends the mean of that to all. 2 latencies; a value is quantized twice. A vector that
//           is short is not shared out: every rank sends all of its own to all others, and all sum what they have. 1
//           latency, and fewer messages; a value is quantized once.
//   ring    A share goes around the ring of ranks, each of which adds its own part, and then once more as the mean.
//           2 (p - 1) latencies and one more for p ranks, and each rank only ever sends to the next; a value is
//           quantized p times.
//
// Rules
//   1. A call begins with a message from every rank to every other (wire.h, CallHeader), by which all know the weights
//      and whether all came to the same call: those of another step, size, algorithm, codec or segment length fail with
//      a CommError that names both ranks and both values. `direct` does not wait for these messages before it sends.
//   2. Vectors travel in segments, so that encoding, sending and summing overlap. Without a codec their length changes
//      no bits; with int8, blocks begin anew in every segment.
//   3. Sums are float32. In `direct` they are in rank order, and without a codec have the bits that the in-process mean
//      has. In both, the bits depend on the contributions of this call and all before it, never on timing.
//   4. The owner of a share takes the mean from its own encoded bytes, as all others do, and every rank its own
//      contribution where vectors are not shared out: every rank has the same bits.
//   5. With a codec, what is lost by quantizing is kept and added the next time (error feedback), on each rank for
//      what it encodes: contributions, partial sums, and means of its own share. So over many calls the means sum to
//      the exact ones; in `direct`, if no rank's share of the weights changes by more than a factor of two from one of
//      its contributions to the next. What is kept is for vectors of one size; a call with another size begins with
//      nothing.
//   6. A call whose mean is not finite, or of no weight at all, leaves what is kept as it was, on every rank. So does
//      a call with weight 0 on its rank, except for the means of its own share.
//   7. One rank alone sends nothing, and quantizes nothing.
namespace tandem::comm {

struct MessageMeanOptions {
  /// direct or ring. The same on all ranks, as the codec and segment_values.
  config::Algorithm algorithm = config::Algorithm::direct;
  config::Codec codec = config::Codec::none;
  /// How many means each rank may hold on to; see Mean::values. At least 1.
  int results_kept = 1;
  /// The longest part of a vector that is sent in one message. At least 1; with int8 best a multiple of int8_block.
  std::size_t segment_values = 65536;
  /// direct: a vector is short if it is no longer than a segment, and a rank that sends it whole to all others sends no
  /// more values than this. The same on all ranks. The default takes a link of 1 Gb/s about a millisecond.
  std::size_t whole_values = 32768;
};

/// Throws std::invalid_argument for options out of range.
void check_options(const MessageMeanOptions& options);

/// A Communicator whose all_reduce_mean sends messages over `ranks`. It leaves messages and the bytes of a broadcast to
/// `ranks`; that all ranks came to the same broadcast or barrier they tell each other too. Nobody else may use `ranks`,
/// or those of the tags in tags.h that are for means. Throws std::invalid_argument for options out of range.
///
/// The deadline of `ranks` is for each wait for a message; while messages come, a call may take longer. Nothing is
/// allocated in a call whose vector is not larger than those of the calls before it, except by `ranks`.
std::unique_ptr<Communicator> with_message_mean(std::unique_ptr<Communicator> ranks, const MessageMeanOptions& options);

/// How far a value of a mean may be from the exact one at most, as a share of the largest magnitude among all
/// contributions to this call and those before it, as long as the ranks' weights are the same in all of these.
double mean_error_bound(config::Algorithm algorithm, config::Codec codec, int ranks);

}  // namespace tandem::comm
