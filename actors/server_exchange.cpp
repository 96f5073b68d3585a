#include <algorithm>
#include <utility>
#include <vector>

#include "actors/exchange.h"
#include "comm/codec.h"
#include "comm/tags.h"
#include "comm/weighted_sum.h"
#include "comm/wire.h"
#include "models/sampler.h"
#include "models/step_kernels.h"

namespace tandem::actors {
namespace {

using comm::AnswerHeader;
using comm::RequestHeader;
using comm::Tag;

class ServerExchange final : public Exchange {
 public:
  explicit ServerExchange(ExchangeOptions options)
      : job_(std::move(options.job)),
        ranks_(*options.ranks),
        clock_(std::move(options.clock)),
        size_(options.replica.size),
        parameter_count_(options.replica.parameter_count),
        states_(static_cast<std::size_t>(job_.topology.width)),
        encoded_(static_cast<std::size_t>(job_.topology.servers)) {
    if (!options.replica.initial.empty()) bring(options.replica.initial);
  }

  Update exchange(const comm::Contribution& gradient) override {
    const comm::Duration encoding = push(gradient);
    Update update = pull(gradient.step, states_[exchanges_++ % states_.size()], 2 * ranks_.deadline());
    update.encoding = encoding;
    // A gradient that is skipped takes nothing of what was left over along.
    if (update.finite && gradient.weight > 0) residual_.swap(new_residual_);
    return update;
  }

  std::span<const float> true_state(bool last) override {
    RequestHeader header;
    header.kind = last ? RequestHeader::Kind::last_state : RequestHeader::Kind::state;
    for (int server = 0; server < servers(); ++server) send(server, Tag::request, comm::bytes_of(header));
    // For the last one, others may have many steps to go; the servers notice if they do not come.
    pull(header.step, true_state_, last ? comm::longest_wait : 2 * ranks_.deadline());
    return true_state_;
  }

 private:
  int servers() const { return job_.topology.servers; }
  int rank_of(int server) const { return job_.training.workers + server; }

  void send(int server, Tag tag, std::span<const std::byte> data) {
    ranks_.send(rank_of(server), static_cast<std::uint32_t>(tag), data);
  }

  void receive(int server, Tag tag, std::span<std::byte> data, comm::Duration limit) {
    const int from = rank_of(server);
    ranks_.receive_any({&from, 1}, static_cast<std::uint32_t>(tag), data, limit);
  }

  template <class Value>
  std::span<Value> part(std::span<Value> vector, int server) const {
    const models::Share share = models::even_share(static_cast<std::int64_t>(size_), servers(), server);
    return vector.subspan(static_cast<std::size_t>(share.first), static_cast<std::size_t>(share.count));
  }

  void bring(std::span<const float> state) {
    for (int server = 0; server < servers(); ++server) {
      send(server, Tag::initial_state, std::as_bytes(part(state, server)));
    }
  }

  // Returns what the codec took.
  comm::Duration push(const comm::Contribution& gradient) {
    const scheduler::Time begin = clock_->now();
    comm::Duration encoding{};
    RequestHeader header;
    header.codec = static_cast<std::uint8_t>(job_.topology.codec);
    header.step = gradient.step;
    header.weight = gradient.weight;
    if (gradient.weight > 0) {
      header.finite = encode(gradient.values) ? 1 : 0;
      if (encodes()) encoding = clock_->now() - begin;
      const bool clipped_alone = job_.optimizer.clip_norm && !config::is_synchronous(job_.topology);
      if (clipped_alone) header.squared_norm = models::sum_of_squares(gradient.values.first(parameter_count_));
    }
    for (int server = 0; server < servers(); ++server) {
      const std::span<const float> values = part(gradient.values, server);
      header.size = values.size();
      send(server, Tag::request, comm::bytes_of(header));
      if (gradient.weight > 0) send(server, Tag::gradient, encodes() ? encoded_part(server) : std::as_bytes(values));
    }
    return encoding;
  }

  bool encodes() const { return job_.topology.codec != config::Codec::none; }

  std::span<std::byte> encoded_part(int server) { return encoded_[static_cast<std::size_t>(server)]; }

  // Each server's part by itself, if there is a codec. Returns whether all values are finite.
  bool encode(std::span<const float> gradient) {
    if (!encodes()) return comm::all_finite(gradient);
    residual_.resize(size_);
    new_residual_.resize(size_);
    bool finite = true;
    for (int server = 0; server < servers(); ++server) {
      const std::span<const float> values = part(gradient, server);
      encoded_[static_cast<std::size_t>(server)].resize(comm::encoded_size(job_.topology.codec, values.size()));
      finite &= comm::encode_with_feedback(job_.topology.codec, values, part(std::span<const float>(residual_), server),
                                           part(std::span(new_residual_), server), encoded_part(server));
    }
    return finite;
  }

  // Puts the servers' parts of the state together. A server notices before `limit` that a worker does not come, and can
  // name it.
  Update pull(comm::Step step, std::vector<float>& state, comm::Duration limit) {
    state.resize(size_);
    Update update{.step = step, .values = state, .weight = 0, .finite = true, .non_finite_rank = {}, .ahead = {}};
    for (int server = 0; server < servers(); ++server) {
      AnswerHeader header;
      receive(server, Tag::answer, comm::writable_bytes_of(header), limit);
      receive(server, Tag::state, std::as_writable_bytes(part(std::span<float>(state), server)), limit);
      update.weight = header.weight;
      update.finite &= header.finite != 0;
      if (header.non_finite_rank != AnswerHeader::no_rank) update.non_finite_rank = header.non_finite_rank;
      if (header.ahead != AnswerHeader::unknown) update.ahead = std::max(header.ahead, update.ahead.value_or(0));
    }
    return update;
  }

  const config::Job job_;
  comm::Communicator& ranks_;
  std::shared_ptr<const scheduler::Clock> clock_;
  std::size_t size_;
  std::size_t parameter_count_;
  std::size_t exchanges_ = 0;
  std::vector<std::vector<float>> states_;  // used in turn
  std::vector<float> true_state_;
  std::vector<float> residual_;  // of error feedback
  std::vector<float> new_residual_;
  std::vector<std::vector<std::byte>> encoded_;  // by server
};

}  // namespace

std::unique_ptr<Exchange> make_server_exchange(ExchangeOptions options) {
  return std::make_unique<ServerExchange>(std::move(options));
}

}  // namespace tandem::actors
