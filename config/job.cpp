#include "config/job.h"

#include <algorithm>

namespace tandem::config {

std::int64_t total_steps(const Training& training, std::int64_t steps_per_epoch) {
  const std::int64_t steps = training.epochs * steps_per_epoch;
  return training.steps ? std::min(steps, *training.steps) : steps;
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
  }
  return nullptr;
}

}  // namespace tandem::config
