#include "comm/peer_group/ranks.h"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>
#include <utility>

#include "comm/error_text.h"
#include "comm/message_mean.h"

namespace tandem::comm::peer_group {
namespace {

/// A Communicator all but for means and for checking that ranks meet in the same collective, which with_message_mean()
/// adds: its all_reduce_mean throws std::logic_error, and its broadcast and barrier trust that all come to the same.
class Ranks : public Communicator {
 public:
  Ranks(std::unique_ptr<Links> links, const PeerGroupOptions& options)
      : rank_(options.rank), size_(options.size), deadline_(options.deadline), links_(std::move(links)) {}

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  Mean all_reduce_mean(const Contribution&) override {
    throw std::logic_error("all_reduce_mean: this group has no means");
  }

  void broadcast(int root, std::span<std::byte> data) override;
  void barrier() override;

  void send(int to, std::uint32_t tag, std::span<const std::byte> data) override {
    send_together(to, std::array{Message{tag, data}});
  }
  void send_together(int to, std::span<const Message> messages) override {
    check_rank("send", to, size_);
    links_->send(to, FrameKind::message, messages);
  }

  void receive(int from, std::uint32_t tag, std::span<std::byte> data) override {
    receive_any(std::array{from}, tag, data, deadline_);
  }

  int receive_any(std::span<const int> from, std::uint32_t tag, std::span<std::byte> data, Duration limit) override {
    if (from.empty()) throw std::invalid_argument("receive_any: there must be a rank to receive from");
    for (const int rank : from) check_rank("receive", rank, size_);
    return links_->receive({.from = from, .kind = FrameKind::message, .tag = tag}, data, limit);
  }

  Duration deadline() const override { return deadline_; }
  std::uint64_t bytes_sent() const override { return links_->bytes_sent(); }
  void abort(const std::string& reason) noexcept override { links_->abort(reason); }

 private:
  void broadcast_part(int root, std::span<std::byte> part);

  const int rank_;
  const int size_;
  const Duration deadline_;
  const std::unique_ptr<Links> links_;
};

/// In parts of a frame: a rank passes on what it has while more comes, and the deadline is for a part.
void Ranks::broadcast(int root, std::span<std::byte> data) {
  check_rank("broadcast", root, size_);
  links_->check_alive("broadcast on rank " + std::to_string(rank_));
  constexpr std::size_t most = frame_capacity - sizeof(FrameHeader);
  for (std::size_t begin = 0; begin < data.size(); begin += most) {
    broadcast_part(root, data.subspan(begin, std::min(most, data.size() - begin)));
  }
}

/// Along a binomial tree: counted from the root, a rank gets its part from the rank without its lowest bit, and passes
/// it on to those that have one more bit, below its lowest.
void Ranks::broadcast_part(int root, std::span<std::byte> part) {
  const auto rank_at = [&](int place) { return (place + root) % size_; };
  const int own = (rank_ + size_ - root) % size_;
  int bit = 1;
  for (; bit < size_; bit *= 2) {
    if ((own & bit) == 0) continue;
    links_->receive({.from = std::array{rank_at(own - bit)}, .kind = FrameKind::broadcast}, part, deadline_);
    break;
  }
  for (bit /= 2; bit > 0; bit /= 2) {
    if (own + bit < size_) links_->send(rank_at(own + bit), FrameKind::broadcast, std::array{Message{0, part}});
  }
}

/// with_message_mean() has met the others; what is left is to say whether the group is dead.
void Ranks::barrier() { links_->check_alive("barrier on rank " + std::to_string(rank_)); }

}  // namespace

void check(const PeerGroupOptions& options) {
  if (options.size < 1) throw std::invalid_argument("a group needs at least one rank");
  check_rank("a group of processes", options.rank, options.size);
  if (options.size > 1 && options.address.empty()) {
    throw std::invalid_argument("a group of several ranks needs an address at which they reach this one");
  }
  if (options.results_kept < 1) throw std::invalid_argument("a group must keep at least one result");
  for (const Duration limit : {options.deadline, options.connect_deadline}) {
    if (limit <= Duration::zero() || limit > longest_wait) {
      throw std::invalid_argument("a group's deadline must be more than zero and at most a year");
    }
  }
}

std::unique_ptr<Communicator> make_communicator(std::unique_ptr<Links> links, const PeerGroupOptions& options) {
  return with_message_mean(std::make_unique<Ranks>(std::move(links), options),
                           {.algorithm = config::Algorithm::direct, .results_kept = options.results_kept});
}

}  // namespace tandem::comm::peer_group
