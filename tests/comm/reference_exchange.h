#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "comm/mean_fixture.h"
#include "comm/message_mean.h"

namespace tandem::comm::test {

/// The exchange of comm/message_mean.h, without messages: all ranks at once, a segment at a time, in plain loops.
class ReferenceExchange {
 public:
  ReferenceExchange(const MessageMeanOptions& options, int ranks);

  struct Outcome {
    std::vector<float> mean;
    bool finite = true;
    std::optional<int> non_finite_rank;
  };
  Outcome reduce(const Vectors& contributions, const Weights& weights);

 private:
  using Values = std::vector<float>;
  struct Piece {
    std::size_t owner;
    std::size_t begin;
    std::size_t size;
  };

  void begin(std::size_t size);
  std::vector<Piece> pieces(std::size_t size) const;
  bool is_short(std::size_t size) const;
  Values whole_sum(const Vectors& contributions, const Weights& shares);
  Values direct_sum(const Piece& piece, const Vectors& contributions, const Weights& shares);
  Values ring_sum(const Piece& piece, const Vectors& contributions, const Weights& shares);
  Values round_trip(const Piece& piece, std::size_t rank, const Values& values);
  void settle(const Weights& shares);

  MessageMeanOptions options_;
  std::size_t ranks_;
  Vectors owed_;         // by rank
  Vectors owed_before_;  // by rank; before this call
  Weights last_shares_;  // by rank: in the last call that it contributed to
};

}  // namespace tandem::comm::test
