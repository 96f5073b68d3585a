#pragma once

#include <array>

#include "config/job.h"

namespace tandem::config {

/// The words that the job file uses for an enum's values, in the order of the values.
template <typename Enum>
inline constexpr std::array<const char*, 0> kWords{};

template <>
inline constexpr std::array<const char*, 2> kWords<DataKind>{"idx", "synthetic"};
template <>
inline constexpr std::array<const char*, 3> kWords<ModelKind>{"softmax", "mlp", "resnet18"};
template <>
inline constexpr std::array<const char*, 3> kWords<OptimizerKind>{"sgd", "adam", "adamw"};
template <>
inline constexpr std::array<const char*, 3> kWords<ScheduleKind>{"constant", "step", "cosine"};
template <>
inline constexpr std::array<const char*, 2> kWords<TopologyKind>{"allreduce", "pipeline"};
template <>
inline constexpr std::array<const char*, 3> kWords<Correction>{"none", "momentum", "local"};

template <typename Enum>
constexpr const char* word(Enum value) {
  return kWords<Enum>[static_cast<std::size_t>(value)];
}

}  // namespace tandem::config
