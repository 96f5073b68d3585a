#include "tools/allreduce_rounds.h"

#include <fmt/format.h>

#include <bit>
#include <chrono>
#include <cmath>
#include <ctime>
#include <exception>
#include <stdexcept>
#include <thread>
#include <type_traits>

#include "tools/bench.h"

namespace tandem::tools {
namespace {

using comm::Communicator;

constexpr int warm_up_rounds = 2;
constexpr std::uint32_t rounds_tag = 1;

double processor_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

double seconds(comm::Duration duration) { return std::chrono::duration<double>(duration).count(); }

void verify(const MeasuredMean& result, const std::vector<double>& exact, MeanRound& round) {
  const std::span<const float> values = result.mean.values;
  for (std::size_t i = 0; i < values.size(); ++i) {
    round.error = worse(round.error, std::abs(values[i] / result.divisor - exact[i]));
    round.digest = round.digest * 0x100000001b3 + std::bit_cast<std::uint32_t>(values[i]);
  }
}

}  // namespace

MeanProblem::MeanProblem(int ranks, std::size_t size) : exact(size, 0.0) {
  for (int rank = 0; rank < ranks; ++rank) {
    contributions.push_back(benchmark_values(size, static_cast<unsigned>(rank)));
    const std::vector<float>& values = contributions.back();
    for (std::size_t i = 0; i < values.size(); ++i) exact[i] += values[i];
  }
  for (double& value : exact) value /= ranks;
}

double worse(double a, double b) { return b > a || std::isnan(b) ? b : a; }

std::vector<MeanRound> take_part(Communicator& end, const MeanProblem& problem, int rounds, const MeasuredCall& call) {
  const std::vector<float>& values = problem.contributions[static_cast<std::size_t>(end.rank())];
  std::vector<MeanRound> all;
  for (int number = 0; number < warm_up_rounds + rounds; ++number) {
    end.barrier();
    const std::uint64_t bytes_before = end.bytes_sent();
    const double processor_before = processor_seconds();
    const auto begin = std::chrono::steady_clock::now();
    const MeasuredMean result = call({number, values, 1.0});
    const auto elapsed = std::chrono::steady_clock::now() - begin;
    MeanRound round = {.seconds = seconds(elapsed),
                       .encoding = seconds(result.mean.encoding),
                       .decoding = seconds(result.mean.decoding),
                       .processor = processor_seconds() - processor_before,
                       .bytes_sent = end.bytes_sent() - bytes_before};
    verify(result, problem.exact, round);
    if (number >= warm_up_rounds) all.push_back(round);
  }
  return all;
}

MeanRounds run_threads(const std::vector<std::unique_ptr<Communicator>>& group, const MeanProblem& problem,
                       int rounds) {
  MeanRounds seen(group.size());
  std::vector<std::exception_ptr> errors(group.size());
  {
    std::vector<std::jthread> threads;
    for (std::size_t rank = 0; rank < group.size(); ++rank) {
      threads.emplace_back([&, rank] {
        Communicator& end = *group[rank];
        try {
          seen[rank] = take_part(end, problem, rounds, [&](const comm::Contribution& contribution) {
            return MeasuredMean{end.all_reduce_mean(contribution)};
          });
        } catch (const std::exception& error) {
          errors[rank] = std::current_exception();
          end.abort(error.what());
        }
      });
    }
  }
  for (const auto& error : errors) {
    if (error) std::rethrow_exception(error);
  }
  return seen;
}

MeanRounds gather_rounds(Communicator& end, const std::vector<MeanRound>& own) {
  static_assert(std::is_trivially_copyable_v<MeanRound>);
  if (end.rank() != 0) {
    end.send(0, rounds_tag, std::as_bytes(std::span(own)));
    return {};
  }
  MeanRounds all = {own};
  for (int rank = 1; rank < end.size(); ++rank) {
    end.receive(rank, rounds_tag, std::as_writable_bytes(std::span(all.emplace_back(own.size()))));
  }
  return all;
}

std::vector<double> slowest(const MeanRounds& rounds, double MeanRound::*what) {
  std::vector<double> largest(rounds.front().size(), 0.0);
  for (const auto& of_rank : rounds) {
    for (std::size_t round = 0; round < largest.size(); ++round) {
      largest[round] = worse(largest[round], of_rank[round].*what);
    }
  }
  return largest;
}

void require_same_bits(const MeanRounds& rounds) {
  for (std::size_t rank = 1; rank < rounds.size(); ++rank) {
    for (std::size_t round = 0; round < rounds[rank].size(); ++round) {
      if (rounds[rank][round].digest == rounds[0][round].digest) continue;
      throw std::runtime_error(fmt::format("ranks 0 and {} have different bits in round {}", rank, round));
    }
  }
}

}  // namespace tandem::tools
