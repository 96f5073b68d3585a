#include "config/effect.h"

#include <string>

namespace tandem::config {
namespace {

/// Where the key `kind` of table `table` is one of `kinds`.
template <typename Section, typename Kind>
Effect only_with_kind(const std::string& table, Section Job::*section, const std::vector<Kind>& kinds) {
  std::vector<std::string> words;
  for (const Kind kind : kinds) words.push_back(in_quotes(word(kind)));
  return {"Only with `" + table + ".kind` " + listed(words, "or") + ".", [=](const Job& job) -> std::string {
            const Kind held = (job.*section).kind;
            for (const Kind kind : kinds) {
              if (kind == held) return "";
            }
            return "with " + table + ".kind = " + in_quotes(word(held)) + ": it belongs to " + listed(words, "and");
          }};
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

Effect only_above_width_1() {
  return {"Only with `topology.width` above 1.", [](const Job& job) -> std::string {
            return job.topology.width > 1 ? "" : "with topology.width = 1: every step runs at width 1";
          }};
}

Effect only_with_gradients_in_flight() {
  return {"Only with `topology.width` above 1; \"momentum\" not with `optimizer.momentum` 0.",
          [](const Job& job) -> std::string {
            if (job.topology.width == 1) return "with topology.width = 1: no gradient is computed at stale weights";
            const bool no_momentum = job.optimizer.kind == OptimizerKind::sgd && job.optimizer.momentum == 0;
            if (job.topology.correction == Correction::momentum && no_momentum) {
              return "as \"momentum\" with optimizer.momentum = 0.0: it predicts weights from the momentum";
            }
            return "";
          }};
}

Effect never_with_fixed_staleness() {
  return {"Never with the topologies of this version: giving it is an error.", [](const Job& job) {
            return "with topology " + in_quotes(word(job.topology.kind)) + ": its staleness is always width - 1";
          }};
}

}  // namespace tandem::config
