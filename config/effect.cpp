#include "config/effect.h"

#include <string>

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
  return {
      "Only with `topology.width` above 1; \"momentum\" only with momentum to predict from: `optimizer.momentum`, or "
      "with \"adam\" and \"adamw\" `optimizer.beta1`, above 0.",
      [](const Job& job) -> std::string {
        if (job.topology.width == 1) return "with topology.width = 1: no gradient is computed at stale weights";
        const bool is_sgd = job.optimizer.kind == OptimizerKind::sgd;
        const double momentum = is_sgd ? job.optimizer.momentum : job.optimizer.beta1;
        if (job.topology.correction != Correction::momentum || momentum > 0) return "";
        return std::string("as \"momentum\" with optimizer.") + (is_sgd ? "momentum" : "beta1") +
               " = 0.0: it predicts weights from the momentum";
      }};
}

Effect never_with_fixed_staleness() {
  return {"Never with the topologies of this version: giving it is an error.", [](const Job& job) {
            return "with topology " + in_quotes(name(job.topology.kind)) + ": its staleness is always width - 1";
          }};
}

}  // namespace tandem::config
