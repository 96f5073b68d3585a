#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "config/job_error.h"

namespace tandem::config {
namespace {

using Catch::Contains;
using Catch::Equals;
using Catch::StartsWith;

const std::string kPipelineFile =
    "[optimizer]\nlr = 0.1\nmomentum = 0.9\nnesterov = true\n"
    "[topology]\nname = 'pipeline'\nwidth = 3\nwarmup_steps = 10\ncorrection = 'momentum'\n";

struct Overridden {
  Job job;
  std::vector<std::string> notes;
};

Overridden overridden(const std::string& text, const std::vector<std::string>& overrides) {
  Overridden result;
  result.job = parse_job(text, "job.toml", overrides, &result.notes);
  return result;
}

TEST_CASE("a setting without effect is an error that says why") {
  const auto [text, expected] = GENERATE(table<std::string, std::string>({
      {"topology.staleness = 1",
       "topology.staleness has no effect with topology \"pipeline\": its staleness is always width - 1"},
      {"topology = { staleness = 1, name = 'allreduce' }",
       "topology.staleness has no effect with topology \"allreduce\": its staleness is always width - 1"},
      {"topology = { staleness = 1, name = 'ps-sync' }",
       "topology.staleness has no effect with topology \"ps-sync\": no worker runs ahead"},
      {"topology = { staleness = 1, width = 3, name = 'ps-async' }",
       "topology.staleness has no effect as 1 with topology.width = 3: a worker begins width - 1 steps before it "
       "waits, "
       "so at least 2 is allowed"},
      {"topology = { warmup_steps = 5, width = 2, name = 'ps-async' }",
       "topology.warmup_steps has no effect with topology \"ps-async\": its gradients are stale at width 1 too"},
      {"topology = { correction = 'local', staleness = 0, name = 'ps-async' }",
       "topology.correction has no effect with topology.staleness = 0: no gradient is computed at stale weights"},
      {"topology = { correction = 'local', width = 2, name = 'ps-sync' }",
       "topology.correction has no effect as \"local\" with topology \"ps-sync\": a server, which has the optimizer, "
       "has no worker's gradients in flight"},
      {"topology.correction = 'dc'",
       "topology.correction has no effect as \"dc\" with topology \"pipeline\": it belongs to \"ps-async\""},
      {"topology.dc_lambda = 0.1",
       "topology.dc_lambda has no effect with topology.correction = \"local\": it belongs to \"dc\""},
      {"topology = { algorithm = 'native', codec = 'int8' }",
       "topology.algorithm has no effect as \"native\" with topology.codec = \"int8\": only \"direct\" and \"ring\" "
       "carry a codec"},
      {"topology = { algorithm = 'ring', name = 'ps-sync' }",
       "topology.algorithm has no effect with topology \"ps-sync\": the servers sum"},
      {"topology.servers = 2", "topology.servers has no effect with topology \"pipeline\": it has no parameter server"},
      {"optimizer = { momentum = 0.9, kind = 'adam' }",
       "optimizer.momentum has no effect with optimizer.kind = \"adam\": it belongs to \"sgd\""},
      {"optimizer = { nesterov = true, kind = 'adamw' }",
       "optimizer.nesterov has no effect with optimizer.kind = \"adamw\": it belongs to \"sgd\""},
      {"optimizer = { nesterov = true, momentum = 0 }",
       "optimizer.nesterov has no effect with optimizer.momentum = 0.0: it changes how momentum is applied"},
      {"optimizer.beta1 = 0.9",
       "optimizer.beta1 has no effect with optimizer.kind = \"sgd\": it belongs to \"adam\" and \"adamw\""},
      {"optimizer.beta2 = 0.9",
       "optimizer.beta2 has no effect with optimizer.kind = \"sgd\": it belongs to \"adam\" and \"adamw\""},
      {"optimizer.epsilon = 0.9",
       "optimizer.epsilon has no effect with optimizer.kind = \"sgd\": it belongs to \"adam\" and \"adamw\""},
      {"model = { hidden = [5], kind = 'softmax' }",
       "model.hidden has no effect with model.kind = \"softmax\": it belongs to \"mlp\""},
      {"model = { hidden = [5], kind = 'resnet18' }",
       "model.hidden has no effect with model.kind = \"resnet18\": it belongs to \"mlp\""},
      {"data.samples = 5", "data.samples has no effect with data.kind = \"idx\": it belongs to \"synthetic\""},
      {"data.test_samples = 5",
       "data.test_samples has no effect with data.kind = \"idx\": it belongs to \"synthetic\""},
      {"data.channels = 5", "data.channels has no effect with data.kind = \"idx\": it belongs to \"synthetic\""},
      {"data.height = 5", "data.height has no effect with data.kind = \"idx\": it belongs to \"synthetic\""},
      {"data.width = 5", "data.width has no effect with data.kind = \"idx\": it belongs to \"synthetic\""},
      {"data.classes = 5", "data.classes has no effect with data.kind = \"idx\": it belongs to \"synthetic\""},
      {"data = { mean = 0.5, kind = 'synthetic' }",
       "data.mean has no effect with data.kind = \"synthetic\": it belongs to \"idx\""},
      {"data = { deviation = 0.5, kind = 'synthetic' }",
       "data.deviation has no effect with data.kind = \"synthetic\": it belongs to \"idx\""},
      {"data = { folder = 'x', kind = 'synthetic' }",
       "data.folder has no effect with data.kind = \"synthetic\": it belongs to \"idx\""},
      {"schedule.interval = 5",
       "schedule.interval has no effect with schedule.kind = \"constant\": it belongs to \"step\""},
      {"schedule = { factor = 0.5, kind = 'cosine' }",
       "schedule.factor has no effect with schedule.kind = \"cosine\": it belongs to \"step\""},
      {"schedule = { final_share = 0.5, kind = 'step' }",
       "schedule.final_share has no effect with schedule.kind = \"step\": it belongs to \"cosine\""},
      {"topology = { warmup_steps = 5, width = 1 }",
       "topology.warmup_steps has no effect with topology.width = 1: every step runs at width 1"},
      {"topology = { correction = 'local', width = 1 }",
       "topology.correction has no effect with topology.width = 1: no gradient is computed at stale weights"},
      {"topology = { correction = 'local', name = 'allreduce' }",
       "topology.correction has no effect with topology.width = 1: no gradient is computed at stale weights"},
      {"topology.correction = 'momentum'\noptimizer.momentum = 0",
       "topology.correction has no effect as \"momentum\" with optimizer.momentum = 0.0: it predicts weights from the "
       "momentum"},
      {"topology.correction = 'momentum'\noptimizer = { kind = 'adam', beta1 = 0 }",
       "topology.correction has no effect as \"momentum\" with optimizer.beta1 = 0.0: it predicts weights from the "
       "momentum"},
      {"topology.correction = 'momentum'\noptimizer = { kind = 'adamw', beta1 = 0 }",
       "topology.correction has no effect as \"momentum\" with optimizer.beta1 = 0.0: it predicts weights from the "
       "momentum"},
  }));
  CHECK_THAT(error_of(text), StartsWith("job.toml:1:") && Contains(": " + expected));
}

TEST_CASE("a setting that says what is so without it is no error") {
  CHECK(error_of("topology = { correction = 'none', width = 1 }").empty());
  CHECK(error_of("topology = { warmup_steps = 0, width = 1 }").empty());
  CHECK(error_of("optimizer = { kind = 'adam', momentum = 0, nesterov = false }").empty());
  CHECK(error_of("optimizer = { kind = 'adam' }\ntopology.correction = 'momentum'").empty());
}

TEST_CASE("an override without effect is an error") {
  CHECK_THAT(
      error_of("", {"optimizer.beta1=0.5"}),
      Equals("--set optimizer.beta1=0.5: optimizer.beta1 has no effect with optimizer.kind = \"sgd\": it belongs "
             "to \"adam\" and \"adamw\""));
  CHECK_THAT(error_of(kPipelineFile, {"optimizer.kind=adam", "optimizer.momentum=0.5"}),
             StartsWith("--set optimizer.momentum=0.5: optimizer.momentum has no effect"));
  CHECK_THAT(error_of(kPipelineFile, {"topology.name=allreduce", "topology.correction=local"}),
             StartsWith("--set topology.correction=local: topology.correction has no effect"));
}

TEST_CASE("an override can give a setting of the file its effect") {
  CHECK(error_of("data.samples = 5", {"data.kind=synthetic"}).empty());
}

TEST_CASE("the file's own settings without effect stay errors below overrides") {
  CHECK_THAT(error_of("data.samples = 5", {"topology.width=1"}),
             StartsWith("job.toml:1:6: data.samples has no effect"));
}

TEST_CASE("what an override makes ineffective in the file is dropped with a note") {
  const auto [job, notes] = overridden(kPipelineFile, {"topology.width=1"});
  CHECK(job.topology == Topology{TopologyKind::pipeline, 1, 0, Correction::none});
  CHECK(notes == std::vector<std::string>{
                     "job.toml:8:1: topology.warmup_steps = 10 is dropped: it has no effect with topology.width = 1: "
                     "every step runs at width 1",
                     "job.toml:9:1: topology.correction = \"momentum\" is dropped: it has no effect with "
                     "topology.width = 1: no gradient is computed at stale weights"});
}

TEST_CASE("what is dropped leaves the default behind") {
  const auto [job, notes] = overridden(kPipelineFile, {"optimizer.momentum=0"});
  CHECK(job.topology.correction == Correction::local);
  CHECK_FALSE(job.optimizer.nesterov);
  CHECK(notes.size() == 2);
}

TEST_CASE("an override of the optimizer or the data drops what belongs to the file's") {
  const std::string file = kPipelineFile + "[data]\nkind = 'idx'\nmean = 0.5\n";
  const auto [job, notes] =
      overridden(file, {"optimizer.kind=adamw", "data.kind=synthetic", "topology.correction=local"});
  CHECK(job.optimizer.kind == OptimizerKind::adamw);
  CHECK(job.optimizer.momentum == 0);
  CHECK(job.data.kind == DataKind::synthetic);
  REQUIRE(notes.size() == 3);
  CHECK_THAT(notes[0], StartsWith("job.toml:3:1: optimizer.momentum = 0.9 is dropped"));
  CHECK_THAT(notes[1], StartsWith("job.toml:4:1: optimizer.nesterov = true is dropped"));
  CHECK_THAT(notes[2], StartsWith("job.toml:12:1: data.mean = 0.5 is dropped"));
}

TEST_CASE("another topology by one override has its own default width") {
  const auto [job, notes] = overridden(kPipelineFile, {"topology.name=allreduce"});
  CHECK(job.topology == Topology{TopologyKind::allreduce, 1, 0, Correction::none});
  REQUIRE(notes.size() == 3);
  CHECK_THAT(notes[0], Equals("job.toml:7:1: topology.width = 3 is dropped: it was chosen for topology.name = "
                              "\"pipeline\", and --set topology.name=allreduce replaces that"));
  CHECK(overridden("topology.width = 3", {"topology.name=allreduce"}).job.topology.width == 1);
  CHECK(overridden("topology.name = 'allreduce'", {"topology.name=pipeline"}).job.topology.width == 2);
}

TEST_CASE("every topology takes a file that was written for another, by one override") {
  const auto [file, name] =
      GENERATE(table<std::string, std::string>({{kPipelineFile, "ps-sync"},
                                                {kPipelineFile, "ps-async"},
                                                {"topology = { name = 'ps-async', staleness = 2, servers = 3, "
                                                 "correction = 'dc', dc_lambda = 0.5, codec = 'int8' }",
                                                 "pipeline"},
                                                {"topology = { name = 'pipeline', algorithm = 'ring' }", "ps-sync"}}));
  CAPTURE(file, name);
  CHECK(std::string(tandem::config::name(overridden(file, {"topology.name=" + name}).job.topology.kind)) == name);
}

TEST_CASE("a correction that none is given for suits the topology") {
  const auto [text, correction] = GENERATE(table<std::string, Correction>({
      {"topology.name = 'pipeline'", Correction::local},
      {"topology.name = 'allreduce'", Correction::none},
      {"topology = { name = 'allreduce', width = 2 }", Correction::local},
      {"topology.name = 'ps-sync'", Correction::none},
      {"topology = { name = 'ps-sync', width = 2 }", Correction::momentum},
      {"topology = { name = 'ps-sync', width = 2 }\noptimizer.momentum = 0", Correction::none},
      {"topology.name = 'ps-async'", Correction::local},
      {"topology = { name = 'ps-async', staleness = 0 }", Correction::none},
  }));
  CAPTURE(text);
  CHECK(parse_job(text, "job.toml").topology.correction == correction);
}

TEST_CASE("a width stays with the same topology, and one given beside another topology counts") {
  const auto same = overridden(kPipelineFile, {"topology.name=pipeline"});
  CHECK(same.job.topology.width == 3);
  CHECK(same.notes.empty());
  CHECK(overridden(kPipelineFile, {"topology.name=allreduce", "topology.width=4"}).job.topology.width == 4);
}

TEST_CASE("notes are appended, and without anyone to take them a job is the same") {
  std::vector<std::string> notes{"earlier"};
  const std::vector<std::string> overrides{"topology.width=1"};
  const Job job = parse_job(kPipelineFile, "job.toml", overrides, &notes);
  CHECK(notes.size() == 3);
  CHECK(notes[0] == "earlier");
  CHECK(parse_job(kPipelineFile, "job.toml", overrides) == job);
}

TEST_CASE("a silent node is found before an exchange that waits for it fails") {
  CHECK(parse_job("", "job.toml").cluster.silence_seconds == 5);
  CHECK(parse_job("run.exchange_timeout_seconds = 4", "job.toml").cluster.silence_seconds == 2);
  CHECK(
      parse_job("run.exchange_timeout_seconds = 4\ncluster.silence_seconds = 3", "job.toml").cluster.silence_seconds ==
      3);
  CHECK_THROWS_WITH(parse_job("run.exchange_timeout_seconds = 4\ncluster.silence_seconds = 4", "job.toml"),
                    StartsWith("job.toml:2:9: cluster.silence_seconds has no effect as 4.0 with "
                               "run.exchange_timeout_seconds = 4.0"));
}

TEST_CASE("a node for servers is an error where there are none") {
  CHECK_THROWS_WITH(parse_job("topology = { name = 'allreduce', server_node = 'big' }", "job.toml"),
                    StartsWith("job.toml:1:34: topology.server_node has no effect"));
  CHECK(parse_job("topology = { name = 'ps-sync', server_node = 'big' }", "job.toml").topology.server_node == "big");
}

}  // namespace
}  // namespace tandem::config
