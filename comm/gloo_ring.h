#pragma once

#include <memory>
#include <span>

#include "comm/gloo.h"
#include "comm/store.h"

namespace tandem::comm {

/// Gloo's own ring AllReduce of float32 values, as Gloo has it, to compare with: training uses
/// make_gloo_communicator(). Errors are std::exception of Gloo's own, with Gloo's words. Owner only.
class GlooRing {
 public:
  /// Collective, as make_gloo_communicator(); of the options it needs rank, size, address, key_prefix and deadlines.
  GlooRing(Store& store, const PeerGroupOptions& options);
  GlooRing(const GlooRing&) = delete;
  GlooRing& operator=(const GlooRing&) = delete;
  ~GlooRing();

  /// Collective: the sum of all ranks' values, of which there are equally many; valid until the next call.
  std::span<const float> sum(std::span<const float> values);

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

}  // namespace tandem::comm
