#include "comm/message_mean.h"

#include <cfloat>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "comm/codec.h"
#include "comm/message_mean/call.h"
#include "comm/message_mean/exchange.h"
#include "comm/message_mean/members.h"
#include "comm/message_mean/roll_call.h"
#include "comm/tags.h"

namespace tandem::comm {
namespace message_mean {
namespace {

std::vector<int> all_ranks(const Communicator& group) {
  std::vector<int> ranks(static_cast<std::size_t>(group.size()));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

class MessageMean : public Communicator {
 public:
  MessageMean(std::unique_ptr<Communicator> ranks, const MessageMeanOptions& options)
      : ranks_(std::move(ranks)),
        options_(options),
        members_(*ranks_, all_ranks(*ranks_), ranks_->rank()),
        roll_call_(*ranks_, one_a_host(ranks_->size()), Tag::call),
        exchange_(ranks_->size(), options) {}

  int rank() const override { return ranks_->rank(); }
  int size() const override { return ranks_->size(); }

  Mean all_reduce_mean(const Contribution& contribution) override;
  void broadcast(int root, std::span<std::byte> data) override;
  void barrier() override { meet({.call = Call::barrier}); }

  void send(int to, std::uint32_t tag, std::span<const std::byte> data) override { ranks_->send(to, tag, data); }
  void send_together(int to, std::span<const Message> messages) override { ranks_->send_together(to, messages); }
  void receive(int from, std::uint32_t tag, std::span<std::byte> data) override { ranks_->receive(from, tag, data); }
  int receive_any(std::span<const int> from, std::uint32_t tag, std::span<std::byte> data, Duration limit) override {
    return ranks_->receive_any(from, tag, data, limit);
  }
  Duration deadline() const override { return ranks_->deadline(); }

  std::uint64_t bytes_sent() const override { return ranks_->bytes_sent(); }
  void abort(const std::string& reason) noexcept override { ranks_->abort(reason); }

 private:
  /// Returns when all ranks have come to `call`.
  void meet(const CallHeader& call);

  const std::unique_ptr<Communicator> ranks_;
  const MessageMeanOptions options_;
  const Members members_;
  RollCall roll_call_;
  Exchange exchange_;
};

Mean MessageMean::all_reduce_mean(const Contribution& contribution) {
  const CallHeader call = call_of(contribution, options_);
  Mean mean;
  within(call, *this, [&] {
    roll_call_.enter(call);
    mean = exchange_.run(members_, roll_call_, contribution, rank());
  });
  return mean;
}

void MessageMean::broadcast(int root, std::span<std::byte> data) {
  meet(call_of_broadcast(root, data.size(), size()));
  ranks_->broadcast(root, data);
}

void MessageMean::meet(const CallHeader& call) {
  within(call, *this, [&] {
    roll_call_.enter(call);
    roll_call_.await();
  });
}

}  // namespace
}  // namespace message_mean

void check_options(const MessageMeanOptions& options) {
  if (options.algorithm != config::Algorithm::direct && options.algorithm != config::Algorithm::ring) {
    throw std::invalid_argument("a mean by messages must be direct or ring");
  }
  if (options.results_kept < 1) throw std::invalid_argument("a group must keep at least one result");
  if (options.segment_values < 1) throw std::invalid_argument("a segment must have at least one value");
}

std::unique_ptr<Communicator> with_message_mean(std::unique_ptr<Communicator> ranks,
                                                const MessageMeanOptions& options) {
  check_options(options);
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
