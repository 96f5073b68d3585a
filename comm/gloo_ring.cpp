#include "comm/gloo_ring.h"

#include <gloo/allreduce.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/store.h>
#include <gloo/transport/tcp/device.h>

#include <chrono>
#include <stdexcept>
#include <vector>

namespace tandem::comm {
namespace {

using std::chrono::milliseconds;

/// A Store as Gloo knows one.
class GlooStore : public gloo::rendezvous::Store {
 public:
  GlooStore(comm::Store& store, const PeerGroupOptions& options)
      : store_(store), prefix_(options.key_prefix + "/"), limit_(options.connect_deadline) {}

  void set(const std::string& key, const std::vector<char>& data) override {
    store_.set(prefix_ + key, std::as_bytes(std::span(data)));
  }

  std::vector<char> get(const std::string& key) override {
    const auto value = store_.get(prefix_ + key, std::chrono::steady_clock::now() + limit_);
    if (!value) throw std::runtime_error("nobody set " + prefix_ + key + " in time");
    const auto* const begin = reinterpret_cast<const char*>(value->data());
    return {begin, begin + value->size()};
  }

  void wait(const std::vector<std::string>& keys) override {
    for (const std::string& key : keys) get(key);
  }

 private:
  comm::Store& store_;
  const std::string prefix_;
  const Duration limit_;
};

}  // namespace

struct GlooRing::State {
  explicit State(const PeerGroupOptions& options)
      : device(gloo::transport::tcp::CreateDevice(gloo::transport::tcp::attr(options.address.c_str()))),
        context(std::make_shared<gloo::rendezvous::Context>(options.rank, options.size)) {
    context->setTimeout(std::chrono::duration_cast<milliseconds>(options.deadline));
  }

  std::shared_ptr<gloo::transport::Device> device;
  const std::shared_ptr<gloo::rendezvous::Context> context;
  std::vector<float> sum;
};

GlooRing::GlooRing(Store& store, const PeerGroupOptions& options) : state_(std::make_unique<State>(options)) {
  GlooStore gloo_store(store, options);
  state_->context->connectFullMesh(gloo_store, state_->device);
}

GlooRing::~GlooRing() = default;

std::span<const float> GlooRing::sum(std::span<const float> values) {
  state_->sum.resize(values.size());
  if (values.empty()) return state_->sum;
  gloo::AllreduceOptions options(state_->context);
  options.setAlgorithm(gloo::AllreduceOptions::Algorithm::RING);
  // Gloo does not write to its input.
  options.setInput(const_cast<float*>(values.data()), values.size());
  options.setOutput(state_->sum.data(), values.size());
  options.setReduceFunction(
      [](void* sum, const void* a, const void* b, std::size_t count) { gloo::sum<float>(sum, a, b, count); });
  gloo::allreduce(options);
  return state_->sum;
}

}  // namespace tandem::comm
