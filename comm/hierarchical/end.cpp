#include "comm/hierarchical/end.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "comm/message_mean/call.h"
#include "comm/message_mean/members.h"
#include "comm/message_mean/roll_call.h"
#include "comm/tags.h"

// A collective on several hosts:
//
//   1. Every rank tells the others of its host and the leaders of other hosts what it came to, and waits, on its end of
//      the flat group, until those of its host have told it. Whatever kills the flat group ends that wait.
//   2. In a mean the ranks of the host now sum in shared memory. All have come and are on their way there, so nobody
//      waits long; one that fails on the way aborts the others.
//   3. The leader exchanges with the other leaders. It returns when it has heard of all ranks.
//   4. The leader tells the others of its host that all is done. They wait for that on their ends of the flat group,
//      without a limit of their own: an exchange may take long while messages come, and the leader, which has a
//      deadline in everything it waits for, either says that it is done or aborts the group.
//
// A mean lies in the leader's memory (message_mean::Exchange) and is overwritten by the results_kept-th next exchange.
// That begins when all ranks of the host have entered the call, by which they have given up the mean (Mean::values).
// What the ranks of a host sum to is overwritten by step 2 of the next call, which the leader enters after its
// exchange.
namespace tandem::comm::hierarchical {
namespace {

/// This rank's exchange with the other leaders.
message_mean::Members leaders(Communicator& flat, const message_mean::Hosts& hosts) {
  std::vector<int> ranks;
  int place = 0;
  for (const std::vector<int>& host : hosts) {
    if (std::ranges::find(host, flat.rank()) != host.end()) place = static_cast<int>(ranks.size());
    ranks.push_back(host.front());
  }
  return {flat, std::move(ranks), place};
}

class End : public Communicator {
 public:
  End(std::unique_ptr<Communicator> flat, std::unique_ptr<Communicator> local, std::shared_ptr<Host> host,
      const HierarchicalOptions& options)
      : flat_(std::move(flat)),
        local_(std::move(local)),
        host_(std::move(host)),
        options_(options.mean),
        leaders_(leaders(*flat_, options.hosts)),
        roll_call_(*flat_, options.hosts, Tag::host_call) {}

  int rank() const override { return flat_->rank(); }
  int size() const override { return flat_->size(); }

  Mean all_reduce_mean(const Contribution& contribution) override;
  void broadcast(int root, std::span<std::byte> data) override;
  void barrier() override;

  void send(int to, std::uint32_t tag, std::span<const std::byte> data) override { flat_->send(to, tag, data); }
  void send_together(int to, std::span<const Message> messages) override { flat_->send_together(to, messages); }
  void receive(int from, std::uint32_t tag, std::span<std::byte> data) override { flat_->receive(from, tag, data); }
  int receive_any(std::span<const int> from, std::uint32_t tag, std::span<std::byte> data, Duration limit) override {
    return flat_->receive_any(from, tag, data, limit);
  }
  Duration deadline() const override { return flat_->deadline(); }
  std::uint64_t bytes_sent() const override { return flat_->bytes_sent(); }
  void abort(const std::string& reason) noexcept override;

 private:
  /// Runs the rest of `call` once those of this host have come to it. Its errors end the group.
  template <typename Body>
  void meet(const CallHeader& call, const Body& body);

  bool leads() const { return rank() == host_->leader(); }
  /// What the ranks of this host contribute together, and the rank to name if that is not finite.
  Contribution sum_host(const Contribution& contribution, std::optional<int>& culprit);
  Mean sum_in_memory(const Contribution& contribution);
  /// Returns when all ranks have come.
  void await_all();
  void tell_done();
  void await_done();

  const std::unique_ptr<Communicator> flat_;
  const std::unique_ptr<Communicator> local_;
  const std::shared_ptr<Host> host_;
  const MessageMeanOptions options_;
  const message_mean::Members leaders_;
  message_mean::RollCall roll_call_;
};

template <typename Body>
void End::meet(const CallHeader& call, const Body& body) {
  message_mean::within(call, *this, [&] {
    try {
      roll_call_.enter(call);
      roll_call_.await_host();
      body();
    } catch (const CommError& error) {
      // Those of this host may be waiting in shared memory.
      abort(error.what());
      throw;
    }
  });
}

Mean End::all_reduce_mean(const Contribution& contribution) {
  Mean mean;
  meet(message_mean::call_of(contribution, options_), [&] {
    std::optional<int> culprit = rank();
    const Contribution of_host = local_ ? sum_host(contribution, culprit) : contribution;
    if (leads()) {
      mean = host_->exchange().run(leaders_, roll_call_, of_host, culprit);
      host_->set_result(mean);
      tell_done();
    } else {
      await_done();
      mean = host_->result();
      mean.encoding = mean.decoding = Duration::zero();
    }
  });
  return mean;
}

void End::broadcast(int root, std::span<std::byte> data) {
  meet(message_mean::call_of_broadcast(root, data.size(), size()), [&] { await_all(); });
  flat_->broadcast(root, data);
}

void End::barrier() {
  meet({.call = Call::barrier}, [&] { await_all(); });
}

void End::await_all() {
  if (!leads()) return await_done();
  roll_call_.await();
  tell_done();
}

void End::abort(const std::string& reason) noexcept {
  host_->set_cause(reason);
  if (local_) local_->abort(reason);
  flat_->abort(reason);
}

Contribution End::sum_host(const Contribution& contribution, std::optional<int>& culprit) {
  const Mean sum = sum_in_memory(contribution);
  culprit.reset();
  if (sum.non_finite_rank) culprit = host_->ranks()[static_cast<std::size_t>(*sum.non_finite_rank)];
  return {.step = sum.step, .values = sum.values, .weight = sum.weight};
}

Mean End::sum_in_memory(const Contribution& contribution) {
  try {
    return local_->all_reduce_mean(contribution);
  } catch (const CommError& error) {
    // The in-process group's error names its own ranks.
    if (const auto cause = host_->cause()) throw AbortedError("the group was aborted: " + *cause);
    throw CommError(std::string("among the ranks of this host, counted from 0: ") + error.what());
  }
}

void End::tell_done() {
  for (const int other : host_->ranks()) {
    if (other != rank()) flat_->send(other, static_cast<std::uint32_t>(Tag::host_done), {});
  }
}

void End::await_done() {
  flat_->receive_any(std::array{host_->leader()}, static_cast<std::uint32_t>(Tag::host_done), {}, longest_wait);
}

}  // namespace

std::unique_ptr<Communicator> make_end(std::unique_ptr<Communicator> flat, std::unique_ptr<Communicator> local,
                                       std::shared_ptr<Host> host, const HierarchicalOptions& options) {
  return std::make_unique<End>(std::move(flat), std::move(local), std::move(host), options);
}

}  // namespace tandem::comm::hierarchical
