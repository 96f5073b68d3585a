#include "actors/local_ranks.h"

#include <algorithm>
#include <utility>

#include "comm/gloo.h"
#include "comm/hierarchical.h"
#include "comm/in_process.h"
#include "comm/message_mean.h"
#include "comm/zeromq.h"
#include "scheduler/clock.h"

namespace tandem::actors {
namespace {

std::vector<std::vector<int>> ranks_by_node(const std::vector<int>& places) {
  std::vector<std::vector<int>> nodes(1 + static_cast<std::size_t>(*std::max_element(places.begin(), places.end())));
  for (std::size_t rank = 0; rank < places.size(); ++rank) {
    nodes[static_cast<std::size_t>(places[rank])].push_back(static_cast<int>(rank));
  }
  return nodes;
}

// What goes around a ring waits for each rank once a segment, so that longer ones are faster there.
constexpr std::size_t ring_segment = 262144;

comm::MessageMeanOptions mean_options(const config::Topology& topology) {
  comm::MessageMeanOptions options{.codec = topology.codec, .results_kept = topology.width};
  if (topology.algorithm != config::Algorithm::native) options.algorithm = topology.algorithm;
  if (options.algorithm == config::Algorithm::ring) options.segment_values = ring_segment;
  return options;
}

}  // namespace

LocalRanks::LocalRanks(LocalRanksOptions options, std::shared_ptr<PublishedStore> store)
    : options_(std::move(options)),
      local_(ranks_by_node(options_.places).at(static_cast<std::size_t>(options_.node))),
      store_(std::move(store)),
      flat_(local_.size()) {
  if (alone()) ends_ = share_memory();
}

LocalRanks::~LocalRanks() {
  if (aborting_.joinable()) aborting_.join();
}

comm::Communicator& LocalRanks::end(int rank) {
  const std::size_t index = index_of(rank);
  if (!alone()) {
    try {
      add(index, connect(rank));
    } catch (const std::exception& error) {
      abort(error.what());
      throw;
    }
  }
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return aborted_ || !ends_.empty(); });
  if (ends_.empty()) throw comm::AbortedError("connecting with the other ranks: " + *aborted_);
  return *ends_[index];
}

std::size_t LocalRanks::index_of(int rank) const {
  return static_cast<std::size_t>(std::find(local_.begin(), local_.end(), rank) - local_.begin());
}

LocalRanks::Ends LocalRanks::share_memory() const {
  const config::Job& job = options_.job;
  Ends ends = comm::make_in_process_group({.size = static_cast<int>(local_.size()),
                                           .results_kept = job.topology.width,
                                           .deadline = scheduler::from_seconds(job.run.exchange_timeout_seconds)});
  if (job.topology.algorithm == config::Algorithm::native) return ends;
  for (auto& end : ends) end = comm::with_message_mean(std::move(end), mean_options(job.topology));
  return ends;
}

std::unique_ptr<comm::Communicator> LocalRanks::connect(int rank) {
  const config::Job& job = options_.job;
  const comm::PeerGroupOptions options{
      .rank = rank,
      .size = static_cast<int>(options_.places.size()),
      .address = options_.address,
      .key_prefix = options_.group,
      .name = options_.name,
      .results_kept = job.topology.width,
      .deadline = scheduler::from_seconds(job.run.exchange_timeout_seconds),
      .connect_deadline = scheduler::from_seconds(job.cluster.connect_timeout_seconds)};
  return job.cluster.encrypt_data ? make_zeromq_communicator(*store_, options)
                                  : make_gloo_communicator(*store_, options);
}

// The last one makes of all of them what the topology needs.
void LocalRanks::add(std::size_t index, std::unique_ptr<comm::Communicator> end) {
  comm::Communicator& added = *end;
  std::unique_lock lock(mutex_);
  flat_[index] = std::move(end);
  if (aborted_) {
    // It may wait, which whoever aborts must not.
    const std::string reason = *aborted_;
    lock.unlock();
    return added.abort(reason);
  }
  if (++connected_ < local_.size()) return;
  ends_ = assemble(std::exchange(flat_, {}));
  changed_.notify_all();
}

LocalRanks::Ends LocalRanks::assemble(Ends flat) const {
  const config::Topology& topology = options_.job.topology;
  // Who does not reduce sends messages.
  if (config::has_parameter_servers(topology.kind)) return flat;
  return comm::make_hierarchical_group(std::move(flat),
                                       {.hosts = ranks_by_node(options_.places), .mean = mean_options(topology)});
}

void LocalRanks::abort(const std::string& reason) noexcept {
  const std::lock_guard lock(mutex_);
  if (aborted_) return;
  aborted_ = reason;
  changed_.notify_all();
  if (store_) store_->close(reason);
  // A group over a network waits until the others know.
  aborting_ = std::thread([this, reason] { abort_now(reason); });
}

void LocalRanks::abort_now(const std::string& reason) {
  std::vector<comm::Communicator*> ends;
  {
    const std::lock_guard lock(mutex_);
    for (const Ends& some : {std::cref(flat_), std::cref(ends_)}) {
      for (const auto& end : some) {
        if (end) ends.push_back(end.get());
      }
    }
  }
  for (comm::Communicator* end : ends) end->abort(reason);
}

}  // namespace tandem::actors
