#include "comm/reference_exchange.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "comm/reference_codec.h"

namespace tandem::comm::test {
namespace {

using config::Algorithm;
using config::Codec;

bool all_are_finite(const std::vector<float>& values) {
  return std::ranges::all_of(values, [](float value) { return std::isfinite(value); });
}

}  // namespace

ReferenceExchange::ReferenceExchange(const MessageMeanOptions& options, int ranks)
    : options_(options), ranks_(index(ranks)) {
  if (ranks == 1) options_.codec = Codec::none;
}

ReferenceExchange::Outcome ReferenceExchange::reduce(const Vectors& contributions, const Weights& weights) {
  const std::size_t size = contributions.front().size();
  begin(size);
  Outcome outcome;
  outcome.mean.assign(size, 0.0F);
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  if (total == 0) return outcome;

  Weights shares = weights;
  for (double& share : shares) share /= total;
  owed_before_ = owed_;
  if (is_short(size)) outcome.mean = whole_sum(contributions, shares);
  for (const Piece& piece : pieces(size)) {
    if (is_short(size)) break;
    const Values sum = options_.algorithm == Algorithm::ring ? ring_sum(piece, contributions, shares)
                                                             : direct_sum(piece, contributions, shares);
    std::ranges::copy(round_trip(piece, piece.owner, sum),
                      outcome.mean.begin() + static_cast<std::ptrdiff_t>(piece.begin));
  }
  outcome.finite = all_are_finite(outcome.mean);
  if (outcome.finite) {
    if (options_.algorithm == Algorithm::direct) settle(shares);
  } else {
    owed_ = owed_before_;
  }
  for (std::size_t rank = ranks_; rank-- > 0;) {
    if (weights[rank] != 0 && !all_are_finite(contributions[rank])) outcome.non_finite_rank = static_cast<int>(rank);
  }
  return outcome;
}

void ReferenceExchange::begin(std::size_t size) {
  if (!owed_.empty() && owed_.front().size() == size) return;
  owed_.assign(ranks_, Values(size));
  last_shares_.assign(ranks_, 0.0);
}

std::vector<ReferenceExchange::Piece> ReferenceExchange::pieces(std::size_t size) const {
  std::vector<Piece> result;
  for (std::size_t owner = 0; owner < ranks_; ++owner) {
    const std::size_t end = size * (owner + 1) / ranks_;
    for (std::size_t begin = size * owner / ranks_; begin < end; begin += options_.segment_values) {
      result.push_back({owner, begin, std::min(options_.segment_values, end - begin)});
    }
  }
  return result;
}

bool ReferenceExchange::is_short(std::size_t size) const {
  return options_.algorithm == Algorithm::direct && size <= options_.segment_values &&
         size * (ranks_ - 1) <= options_.whole_values;
}

ReferenceExchange::Values ReferenceExchange::whole_sum(const Vectors& contributions, const Weights& shares) {
  Values sum(contributions.front().size(), -0.0F);
  for (std::size_t rank = 0; rank < ranks_; ++rank) {
    if (shares[rank] == 0) continue;
    const Values values = round_trip({rank, 0, sum.size()}, rank, contributions[rank]);
    for (std::size_t i = 0; i < sum.size(); ++i) {
      const float product = values[i] * static_cast<float>(shares[rank]);
      sum[i] += product;
    }
  }
  return sum;
}

ReferenceExchange::Values ReferenceExchange::direct_sum(const Piece& piece, const Vectors& contributions,
                                                        const Weights& shares) {
  Values sum(piece.size, -0.0F);
  for (std::size_t rank = 0; rank < ranks_; ++rank) {
    if (shares[rank] == 0) continue;
    const auto from = contributions[rank].begin() + static_cast<std::ptrdiff_t>(piece.begin);
    Values values(from, from + static_cast<std::ptrdiff_t>(piece.size));
    if (rank != piece.owner) values = round_trip(piece, rank, values);
    for (std::size_t i = 0; i < piece.size; ++i) {
      const float product = values[i] * static_cast<float>(shares[rank]);
      sum[i] += product;
    }
  }
  return sum;
}

ReferenceExchange::Values ReferenceExchange::ring_sum(const Piece& piece, const Vectors& contributions,
                                                      const Weights& shares) {
  Values sum(piece.size, -0.0F);
  for (std::size_t hop = 1; hop <= ranks_; ++hop) {
    const std::size_t rank = (piece.owner + hop) % ranks_;
    if (shares[rank] == 0) {
      if (hop == 1 && rank != piece.owner) sum = reference_round_trip(options_.codec, sum);
      continue;
    }
    for (std::size_t i = 0; i < piece.size; ++i) {
      const float product = contributions[rank][piece.begin + i] * static_cast<float>(shares[rank]);
      sum[i] += product;
    }
    if (rank != piece.owner) sum = round_trip(piece, rank, sum);
  }
  return sum;
}

ReferenceExchange::Values ReferenceExchange::round_trip(const Piece& piece, std::size_t rank, const Values& values) {
  return reference_round_trip(options_.codec, values, std::span(owed_[rank]).subspan(piece.begin, piece.size));
}

void ReferenceExchange::settle(const Weights& shares) {
  for (std::size_t rank = 0; rank < ranks_; ++rank) {
    if (shares[rank] == 0) continue;
    const double before = last_shares_[rank];
    last_shares_[rank] = shares[rank];
    if (before == 0 || before == shares[rank]) continue;
    const auto factor = static_cast<float>(std::clamp(before / shares[rank], 0.5, 2.0) - 1);
    for (const Piece& piece : pieces(owed_[rank].size())) {
      if (piece.owner == rank && !is_short(owed_[rank].size())) continue;
      for (std::size_t i = piece.begin; i < piece.begin + piece.size; ++i) {
        const float change = factor * owed_before_[rank][i];
        owed_[rank][i] += change;
      }
    }
  }
}

}  // namespace tandem::comm::test
