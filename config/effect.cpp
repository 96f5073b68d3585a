#include "config/effect.h"

#include <algorithm>
#include <string>
#include <utility>

#include "config/value.h"

namespace tandem::config {
namespace {

/// Where the key `kind` of table `table` is one of `kinds`.
template <typename Section, typename Kind>
Effect only_with_kind(const std::string& table, Section Job::*section, const std::vector<Kind>& kinds) {
  std::vector<std::string> words;
  for (const Kind kind : kinds) words.push_back(in_quotes(name(kind)));
  return {"Only with `" + table + ".kind` " + listed(words, "or") + ".", [=](const Job& job) -> std::string {
            const Kind held = (job.*section).kind;
            for (const Kind kind : kinds) {
              if (kind == held) return "";
            }
            return "with " + table + ".kind = " + in_quotes(name(held)) + ": it belongs to " + listed(words, "and");
          }};
}

std::string with_topology(const Job& job) { return "with topology " + in_quotes(name(job.topology.kind)); }

/// The key of the momentum, and its value.
std::pair<std::string, double> momentum(const Optimizer& optimizer) {
  if (optimizer.kind == OptimizerKind::sgd) return {"optimizer.momentum", optimizer.momentum};
  return {"optimizer.beta1", optimizer.beta1};
}

/// Why no gradient is computed at weights that miss others; empty: some are.
std::string why_none_stale(const Job& job) {
  const Topology& topology = job.topology;
  if (topology.kind == TopologyKind::ps_async) {
    return topology.staleness == 0 ? "with topology.staleness = 0: no gradient is computed at stale weights" : "";
  }
  return topology.width == 1 ? "with topology.width = 1: no gradient is computed at stale weights" : "";
}

}  // namespace

Effect only_with(DataKind kind) { return only_with_kind("data", &Job::data, std::vector{kind}); }
Effect only_with(ModelKind kind) { return only_with_kind("model", &Job::model, std::vector{kind}); }
Effect only_with(ScheduleKind kind) { return only_with_kind("schedule", &Job::schedule, std::vector{kind}); }
Effect only_with(const std::vector<OptimizerKind>& kinds) {
  return only_with_kind("optimizer", &Job::optimizer, kinds);
}

Effect only_with_momentum() {
  const Effect with_sgd = only_with({OptimizerKind::sgd});
  return {"Only with `optimizer.kind` \"sgd\" and `optimizer.momentum` above 0.", [=](const Job& job) -> std::string {
            const std::string why_none = with_sgd.why_none(job);
            if (!why_none.empty() || job.optimizer.momentum > 0) return why_none;
            return "with optimizer.momentum = 0.0: it changes how momentum is applied";
          }};
}

Effect only_with_a_width_to_reach() {
  return {"Only with `topology.width` above 1, and not with \"ps-async\".", [](const Job& job) -> std::string {
            if (job.topology.kind == TopologyKind::ps_async) {
              return with_topology(job) + ": its gradients are stale at width 1 too";
            }
            return job.topology.width > 1 ? "" : "with topology.width = 1: every step runs at width 1";
          }};
}

Effect only_with_room_ahead() {
  return {"Only with `topology.name` \"ps-async\", and not below `topology.width` - 1.",
          [](const Job& job) -> std::string {
            const Topology& topology = job.topology;
            if (topology.kind == TopologyKind::ps_sync) return with_topology(job) + ": no worker runs ahead";
            if (topology.kind != TopologyKind::ps_async) {
              return with_topology(job) + ": its staleness is always width - 1";
            }
            if (!topology.staleness || *topology.staleness >= topology.width - 1) return "";
            return "as " + std::to_string(*topology.staleness) +
                   " with topology.width = " + std::to_string(topology.width) +
                   ": a worker begins width - 1 steps before it waits, so at least " +
                   std::to_string(topology.width - 1) + " is allowed";
          }};
}

Effect only_with_stale_gradients() {
  return {
      "Only with `topology.width` above 1, or with \"ps-async\" and a `topology.staleness` other than 0. \"momentum\" "
      "only with momentum to predict from: `optimizer.momentum`, or with \"adam\" and \"adamw\" `optimizer.beta1`, "
      "above 0; \"local\" not with \"ps-sync\"; \"dc\" only with \"ps-async\".",
      [](const Job& job) -> std::string {
        const Topology& topology = job.topology;
        if (const std::string why = why_none_stale(job); !why.empty()) return why;
        const std::string as = "as " + in_quotes(name(topology.correction)) + " ";
        if (topology.correction == Correction::dc && topology.kind != TopologyKind::ps_async) {
          return as + with_topology(job) + ": it belongs to \"ps-async\"";
        }
        if (topology.correction == Correction::local && topology.kind == TopologyKind::ps_sync) {
          return as + with_topology(job) + ": a server, which has the optimizer, has no worker's gradients in flight";
        }
        const auto [key, value] = momentum(job.optimizer);
        if (topology.correction != Correction::momentum || value > 0) return "";
        return as + "with " + key + " = 0.0: it predicts weights from the momentum";
      }};
}

Effect only_with_delay_compensation() {
  return {"Only with `topology.correction` \"dc\".", [](const Job& job) -> std::string {
            if (job.topology.correction == Correction::dc) return "";
            return "with topology.correction = " + in_quotes(name(job.topology.correction)) + ": it belongs to \"dc\"";
          }};
}

Effect only_where_workers_reduce() {
  return {"Only with `topology.name` \"allreduce\" or \"pipeline\"; \"native\" only without a codec.",
          [](const Job& job) -> std::string {
            const Topology& topology = job.topology;
            if (has_parameter_servers(topology.kind)) return with_topology(job) + ": the servers sum";
            if (topology.algorithm != Algorithm::native || topology.codec == Codec::none) return "";
            return "as \"native\" with topology.codec = " + in_quotes(name(topology.codec)) +
                   ": only \"direct\" and \"ring\" carry a codec";
          }};
}

Effect only_with_parameter_servers() {
  return {"Only with `topology.name` \"ps-sync\" or \"ps-async\".", [](const Job& job) -> std::string {
            return has_parameter_servers(job.topology.kind) ? "" : with_topology(job) + ": it has no parameter server";
          }};
}

Effect only_below_the_exchange_timeout() {
  return {"Only below `run.exchange_timeout_seconds`.", [](const Job& job) -> std::string {
            const double limit = job.run.exchange_timeout_seconds;
            if (job.cluster.silence_seconds < limit) return "";
            return "as " + toml_text(job.cluster.silence_seconds) +
                   " with run.exchange_timeout_seconds = " + toml_text(limit) +
                   ": an exchange fails before a silent node is found; allowed is less than " + toml_text(limit);
          }};
}

double default_silence(const Job& job) {
  return std::min(Cluster{}.silence_seconds, job.run.exchange_timeout_seconds / 2);
}

Correction default_correction(const Job& job) {
  if (!why_none_stale(job).empty()) return Correction::none;
  if (job.topology.kind != TopologyKind::ps_sync) return Correction::local;
  return momentum(job.optimizer).second > 0 ? Correction::momentum : Correction::none;
}

Algorithm default_algorithm(const Job& job) {
  const bool plain = job.topology.codec == Codec::none || has_parameter_servers(job.topology.kind);
  return plain ? Algorithm::native : Algorithm::direct;
}

}  // namespace tandem::config
