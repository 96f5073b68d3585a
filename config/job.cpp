#include "config/job.h"

#include <algorithm>

namespace tandem::config {

std::int64_t total_steps(const Training& training, std::int64_t steps_per_epoch) {
  const std::int64_t steps = training.epochs * steps_per_epoch;
  return training.steps ? std::min(steps, *training.steps) : steps;
}

bool has_parameter_servers(TopologyKind kind) {
  return kind == TopologyKind::ps_sync || kind == TopologyKind::ps_async;
}

bool is_synchronous(const Topology& topology) {
  return topology.kind != TopologyKind::ps_async || topology.staleness == 0;
}

// Without a default, so that the compiler asks for the name of a new value.
const char* name(DataKind kind) {
  switch (kind) {
    case DataKind::idx:
      return "idx";
    case DataKind::synthetic:
      return "synthetic";
  }
  return nullptr;
}

const char* name(ModelKind kind) {
  switch (kind) {
    case ModelKind::softmax:
      return "softmax";
    case ModelKind::mlp:
      return "mlp";
    case ModelKind::resnet18:
      return "resnet18";
  }
  return nullptr;
}

const char* name(OptimizerKind kind) {
  switch (kind) {
    case OptimizerKind::sgd:
      return "sgd";
    case OptimizerKind::adam:
      return "adam";
    case OptimizerKind::adamw:
      return "adamw";
  }
  return nullptr;
}

const char* name(ScheduleKind kind) {
  switch (kind) {
    case ScheduleKind::constant:
      return "constant";
    case ScheduleKind::step:
      return "step";
    case ScheduleKind::cosine:
      return "cosine";
  }
  return nullptr;
}

const char* name(TopologyKind kind) {
  switch (kind) {
    case TopologyKind::ps_sync:
      return "ps-sync";
    case TopologyKind::ps_async:
      return "ps-async";
    case TopologyKind::allreduce:
      return "allreduce";
    case TopologyKind::pipeline:
      return "pipeline";
  }
  return nullptr;
}

const char* name(Correction correction) {
  switch (correction) {
    case Correction::none:
      return "none";
    case Correction::momentum:
      return "momentum";
    case Correction::local:
      return "local";
    case Correction::dc:
      return "dc";
  }
  return nullptr;
}

const char* name(Codec codec) {
  switch (codec) {
    case Codec::none:
      return "none";
    case Codec::bf16:
      return "bf16";
    case Codec::int8:
      return "int8";
  }
  return nullptr;
}

const char* name(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::native:
      return "native";
    case Algorithm::direct:
      return "direct";
    case Algorithm::ring:
      return "ring";
  }
  return nullptr;
}

}  // namespace tandem::config
