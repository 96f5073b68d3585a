#include "comm/in_process.h"

#include <array>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "comm/error_text.h"
#include "comm/in_process/broadcast_work.h"
#include "comm/in_process/group_state.h"
#include "comm/in_process/mailboxes.h"
#include "comm/in_process/mean_work.h"
#include "comm/in_process/rendezvous.h"

namespace tandem::comm {
namespace in_process {
namespace {

/// What all ends of a group share; it lives as long as any of them.
struct Group {
  explicit Group(const InProcessOptions& options)
      : state(options.size, options.deadline),
        rendezvous(state),
        mailboxes(state),
        mean(options.size, options.results_kept),
        broadcast(options.size) {}

  GroupState state;
  Rendezvous rendezvous;
  Mailboxes mailboxes;
  MeanWork mean;
  BroadcastWork broadcast;
  NoWork barrier;
};

class End : public Communicator {
 public:
  End(int rank, std::shared_ptr<Group> group) : rank_(rank), group_(std::move(group)) {}
  End(const End&) = delete;
  End& operator=(const End&) = delete;
  ~End() override { group_->rendezvous.leave(rank_); }

  int rank() const override { return rank_; }
  int size() const override { return group_->state.size(); }

  Mean all_reduce_mean(const Contribution& contribution) override {
    if (!std::isfinite(contribution.weight) || contribution.weight < 0) {
      throw std::invalid_argument("all_reduce_mean: the weight must be a number of samples, not " +
                                  std::to_string(contribution.weight));
    }
    group_->mean.post(rank_, contribution);
    group_->rendezvous.meet({.rank = rank_,
                             .collective = Collective::all_reduce_mean,
                             .step = contribution.step,
                             .size = contribution.values.size()},
                            group_->mean);
    return group_->mean.result();
  }

  void broadcast(int root, std::span<std::byte> data) override {
    check_rank("broadcast", root, size());
    group_->broadcast.post(rank_, root, data);
    group_->rendezvous.meet({.rank = rank_, .collective = Collective::broadcast, .size = data.size(), .root = root},
                            group_->broadcast);
  }

  void barrier() override {
    group_->rendezvous.meet({.rank = rank_, .collective = Collective::barrier}, group_->barrier);
  }

  void send(int to, std::uint32_t tag, std::span<const std::byte> data) override {
    check_rank("send", to, size());
    group_->mailboxes.send(rank_, to, tag, data);
  }

  void receive(int from, std::uint32_t tag, std::span<std::byte> data) override {
    receive_any(std::array{from}, tag, data, deadline());
  }

  int receive_any(std::span<const int> from, std::uint32_t tag, std::span<std::byte> data, Duration limit) override {
    if (from.empty()) throw std::invalid_argument("receive_any: there must be a rank to receive from");
    for (const int rank : from) check_rank("receive", rank, size());
    return group_->mailboxes.receive(rank_, from, tag, data, limit);
  }

  Duration deadline() const override { return group_->state.deadline(); }

  std::uint64_t bytes_sent() const override { return 0; }

  void abort(const std::string& reason) noexcept override { group_->state.abort(reason); }

 private:
  const int rank_;
  const std::shared_ptr<Group> group_;
};

}  // namespace
}  // namespace in_process

std::vector<std::unique_ptr<Communicator>> make_in_process_group(const InProcessOptions& options) {
  if (options.size < 1) throw std::invalid_argument("a group needs at least one rank");
  if (options.results_kept < 1) throw std::invalid_argument("a group must keep at least one result");
  if (options.deadline <= Duration::zero() || options.deadline > longest_wait) {
    throw std::invalid_argument("a group's deadline must be more than zero and at most a year");
  }
  const auto group = std::make_shared<in_process::Group>(options);
  std::vector<std::unique_ptr<Communicator>> ends;
  for (int rank = 0; rank < options.size; ++rank) ends.push_back(std::make_unique<in_process::End>(rank, group));
  return ends;
}

}  // namespace tandem::comm
