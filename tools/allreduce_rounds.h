#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "comm/communicator.h"

// What `tandem bench allreduce` does over and over, and what it sees.
namespace tandem::tools {

/// One vector a rank, and the mean of all in float64.
struct MeanProblem {
  MeanProblem(int ranks, std::size_t size);

  std::vector<std::vector<float>> contributions;
  std::vector<double> exact;
};

/// What one rank saw of one round.
struct MeanRound {
  double seconds = 0;
  double encoding = 0;
  double decoding = 0;
  /// That all threads of this process used meanwhile.
  double processor = 0;
  std::uint64_t bytes_sent = 0;
  double error = 0;
  std::uint64_t digest = 0;
};

/// By rank, then round.
using MeanRounds = std::vector<std::vector<MeanRound>>;

/// The mean of a step; its values need not be divided by `divisor` yet.
struct MeasuredMean {
  comm::Mean mean;
  double divisor = 1;
};
using MeasuredCall = std::function<MeasuredMean(const comm::Contribution& contribution)>;

/// Takes part in `rounds` rounds of `call`, and some before to warm up; ranks meet before each by `end`.
std::vector<MeanRound> take_part(comm::Communicator& end, const MeanProblem& problem, int rounds,
                                 const MeasuredCall& call);

/// All ranks of a group, each on a thread of its own. A rank's error ends all.
MeanRounds run_threads(const std::vector<std::unique_ptr<comm::Communicator>>& group, const MeanProblem& problem,
                       int rounds);

/// What all ranks saw, on rank 0; empty on others. Collective.
MeanRounds gather_rounds(comm::Communicator& end, const std::vector<MeanRound>& own);

/// The largest of all ranks, for each round; NaN is larger than any.
std::vector<double> slowest(const MeanRounds& rounds, double MeanRound::*what);

/// The larger of two numbers, in the same sense.
double worse(double a, double b);

/// Throws std::runtime_error if ranks had different bits in a round.
void require_same_bits(const MeanRounds& rounds);

}  // namespace tandem::tools
