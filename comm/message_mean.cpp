#include "comm/message_mean.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "comm/codec.h"
#include "comm/message_mean/mean_step.h"

namespace tandem::comm {
namespace message_mean {
namespace {

std::string call_text(const CallHeader& call, int rank) {
  const std::string on_rank = " on rank " + std::to_string(rank);
  switch (call.call) {
    case Call::all_reduce_mean:
      return "all_reduce_mean of step " + std::to_string(call.step) + on_rank;
    case Call::broadcast:
      return "broadcast" + on_rank;
    case Call::barrier:
      return "barrier" + on_rank;
  }
  std::terminate();
}

class MessageMean : public Communicator {
 public:
  MessageMean(std::unique_ptr<Communicator> ranks, const MessageMeanOptions& options)
      : ranks_(std::move(ranks)),
        options_(options),
        codec_(ranks_->size() == 1 ? config::Codec::none : options.codec),
        roll_call_(*ranks_),
        residual_(codec_ != config::Codec::none),
        outgoing_(codec_, options.segment_values, time_),
        incoming_(codec_, options.segment_values, time_),
        sum_(options.segment_values),
        means_(static_cast<std::size_t>(options.results_kept)) {}

  int rank() const override { return ranks_->rank(); }
  int size() const override { return ranks_->size(); }

  Mean all_reduce_mean(const Contribution& contribution) override;
  void broadcast(int root, std::span<std::byte> data) override;
  void barrier() override { meet({.call = Call::barrier}); }

  void send(int to, std::uint32_t tag, std::span<const std::byte> data) override { ranks_->send(to, tag, data); }
  void receive(int from, std::uint32_t tag, std::span<std::byte> data) override { ranks_->receive(from, tag, data); }
  int receive_any(std::span<const int> from, std::uint32_t tag, std::span<std::byte> data, Duration limit) override {
    return ranks_->receive_any(from, tag, data, limit);
  }
  Duration deadline() const override { return ranks_->deadline(); }

  std::uint64_t bytes_sent() const override { return ranks_->bytes_sent(); }
  void abort(const std::string& reason) noexcept override { ranks_->abort(reason); }

 private:
  /// Runs `body`, whose errors become those of `call`.
  template <typename Body>
  void within(const CallHeader& call, const Body& body);

  /// After the call has been announced.
  Mean exchange(const Contribution& contribution);
  /// Returns when all ranks have come to `call`.
  void meet(const CallHeader& call);
  std::span<float> next_mean(std::size_t size);

  const std::unique_ptr<Communicator> ranks_;
  const MessageMeanOptions options_;
  const config::Codec codec_;
  CodecTime time_;
  RollCall roll_call_;
  Residual residual_;
  SegmentMessage outgoing_;
  SegmentMessage incoming_;
  std::vector<float> sum_;
  std::vector<std::vector<float>> means_;  // used in turn
  std::size_t calls_ = 0;
};

template <typename Body>
void MessageMean::within(const CallHeader& call, const Body& body) {
  const auto text = [&](const std::exception& error) { return call_text(call, rank()) + ": " + error.what(); };
  try {
    body();
  } catch (const AbortedError& error) {
    throw AbortedError(text(error));
  } catch (const DeadlineError& error) {
    throw DeadlineError(text(error));
  } catch (const CommError& error) {
    throw CommError(text(error));
  } catch (const std::exception& error) {
    // Such as no memory: the others would wait in vain.
    abort(text(error));
    throw CommError(text(error));
  }
}

Mean MessageMean::all_reduce_mean(const Contribution& contribution) {
  if (!std::isfinite(contribution.weight) || contribution.weight < 0) {
    throw std::invalid_argument("all_reduce_mean: the weight must be a number of samples, not " +
                                std::to_string(contribution.weight));
  }
  const CallHeader call = {.call = Call::all_reduce_mean,
                           .algorithm = static_cast<std::uint8_t>(options_.algorithm),
                           .codec = static_cast<std::uint8_t>(options_.codec),
                           .step = contribution.step,
                           .size = contribution.values.size(),
                           .segment_values = options_.segment_values,
                           .weight = contribution.weight};
  Mean mean;
  within(call, [&] {
    roll_call_.announce(call);
    mean = exchange(contribution);
  });
  return mean;
}

Mean MessageMean::exchange(const Contribution& contribution) {
  const std::size_t count = contribution.values.size();
  time_ = {};
  residual_.begin(count);
  MeanStep step = {.ranks = *ranks_,
                   .roll_call = roll_call_,
                   .residual = residual_,
                   .outgoing = outgoing_,
                   .incoming = incoming_,
                   .sum = sum_,
                   .shares = {count, size(), options_.segment_values},
                   .contribution = contribution,
                   .mean = next_mean(count),
                   .verdict = {}};
  if (options_.algorithm == config::Algorithm::ring) {
    ring_mean(step);
  } else {
    direct_mean(step);
  }
  if (roll_call_.total_weight() == 0) std::ranges::fill(step.mean, 0.0F);
  const bool coded = codec_ != config::Codec::none;
  return {.step = contribution.step,
          .values = step.mean,
          .weight = roll_call_.total_weight(),
          .finite = step.verdict.finite,
          .non_finite_rank = step.verdict.non_finite_rank,
          .encoding = coded ? time_.encoding : Duration::zero(),
          .decoding = coded ? time_.decoding : Duration::zero()};
}

std::span<float> MessageMean::next_mean(std::size_t size) {
  std::vector<float>& mean = means_[calls_++ % means_.size()];
  mean.resize(size);
  return mean;
}

void MessageMean::broadcast(int root, std::span<std::byte> data) {
  if (root < 0 || root >= size()) {
    throw std::invalid_argument("broadcast: there is no rank " + std::to_string(root) + " in a group of " +
                                std::to_string(size()));
  }
  meet({.call = Call::broadcast, .root = root, .size = data.size()});
  ranks_->broadcast(root, data);
}

void MessageMean::meet(const CallHeader& call) {
  within(call, [&] {
    roll_call_.announce(call);
    roll_call_.await();
  });
}

}  // namespace
}  // namespace message_mean

std::unique_ptr<Communicator> with_message_mean(std::unique_ptr<Communicator> ranks,
                                                const MessageMeanOptions& options) {
  if (options.algorithm != config::Algorithm::direct && options.algorithm != config::Algorithm::ring) {
    throw std::invalid_argument("a mean by messages must be direct or ring");
  }
  if (options.results_kept < 1) throw std::invalid_argument("a group must keep at least one result");
  if (options.segment_values < 1) throw std::invalid_argument("a segment must have at least one value");
  return std::make_unique<message_mean::MessageMean>(std::move(ranks), options);
}

double mean_error_bound(config::Algorithm algorithm, config::Codec codec, int ranks) {
  const double rounding = 3.0 * ranks * FLT_EPSILON;  // of a share, a product and a sum of each rank
  if (algorithm == config::Algorithm::native || ranks == 1) return rounding;
  // What is encoded is off by the residual that it carries and by the one that it leaves; both are shares of what it
  // carries. Errors of a stage are encoded by the next.
  const double one_way = round_trip_error(codec);
  const double stage = 2 * one_way / (1 - one_way);
  const int stages = algorithm == config::Algorithm::direct ? 2 : ranks;
  return std::pow(1 + stage, stages) - 1 + rounding;
}

}  // namespace tandem::comm
