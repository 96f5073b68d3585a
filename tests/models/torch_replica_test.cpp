#include "models/torch_replica.h"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "models/replica_fixture.h"

namespace tandem::models {
namespace {

using config::ModelKind;

constexpr std::array all_models = {ModelKind::softmax, ModelKind::mlp, ModelKind::resnet18};

double distance(std::span<const float> a, std::span<const float> b) {
  return std::sqrt(std::inner_product(a.begin(), a.end(), b.begin(), 0.0, std::plus<>(),
                                      [](double x, double y) { return (x - y) * (x - y); }));
}

double norm(std::span<const float> values) { return distance(values, Vector(values.size())); }

/// The job's step on each of its workers: their gradients' mean over all samples, and the sums of their results.
Computed compute_on_all_ranks(const config::Job& job, std::int64_t step) {
  Computed mean;
  std::vector<double> sums;
  for (int rank = 0; rank < job.training.workers; ++rank) {
    const Computed own = compute(*make_replica(job, rank), step);
    sums.resize(own.gradient.size());
    for (std::size_t i = 0; i < sums.size(); ++i) {
      sums[i] += static_cast<double>(own.result.samples) * own.gradient[i];
    }
    mean.result.samples += own.result.samples;
    mean.result.loss_sum += own.result.loss_sum;
    mean.result.correct += own.result.correct;
  }
  for (const double sum : sums) {
    mean.gradient.push_back(static_cast<float>(sum / static_cast<double>(mean.result.samples)));
  }
  return mean;
}

TEST_CASE("p workers with batch b compute what one worker with batch p * b computes") {
  const int workers = GENERATE(2, 3, 4);
  for (const ModelKind model : {ModelKind::softmax, ModelKind::mlp}) {
    config::Job one = small_job(model);
    one.data.samples = 29;
    one.training.batch = 12;
    config::Job several = one;
    several.training.workers = workers;
    several.training.batch = 12 / workers;
    // The third step has 5 samples left.
    for (const std::int64_t step : {0, 2, 3}) {
      const Computed expected = compute(*make_replica(one), step);
      const Computed mean = compute_on_all_ranks(several, step);
      CHECK(mean.result.samples == expected.result.samples);
      CHECK(mean.result.correct == expected.result.correct);
      CHECK(mean.result.loss_sum == Approx(expected.result.loss_sum).epsilon(1e-6));
      CHECK(distance(mean.gradient, expected.gradient) <= 1e-6 * norm(expected.gradient));
    }
  }
}

TEST_CASE("a share without samples gives a gradient of zeros") {
  for (const ModelKind model : all_models) {
    config::Job job = small_job(model);
    job.data.samples = 14;
    job.training.workers = 4;
    job.training.batch = 3;
    const Computed idle = compute(*make_replica(job, 3), 1);
    CHECK(idle.result.samples == 0);
    CHECK(idle.result.loss_sum == 0);
    CHECK(idle.gradient == Vector(idle.gradient.size(), 0.0F));
  }
}

TEST_CASE("accumulated batches give the mean gradient over all their samples") {
  for (const ModelKind model : {ModelKind::softmax, ModelKind::mlp}) {
    config::Job job = small_job(model);
    job.data.samples = 23;  // one step of 12, one of 11
    job.training.batch = 12;
    const auto whole = make_replica(job);
    // Parts of 4, 4 and 4, and of 4, 4 and 3.
    job.training.batch = 4;
    job.training.accumulate = 3;
    const auto parts = make_replica(job);
    REQUIRE(parts->steps_per_epoch() == 2);
    for (const std::int64_t step : {0, 1}) {
      const Computed expected = compute(*whole, step);
      const Computed accumulated = compute(*parts, step);
      CHECK(accumulated.result.samples == expected.result.samples);
      CHECK(accumulated.result.correct == expected.result.correct);
      CHECK(accumulated.result.loss_sum == Approx(expected.result.loss_sum).epsilon(1e-6));
      CHECK(distance(accumulated.gradient, expected.gradient) <= 1e-6 * norm(expected.gradient));
    }
  }
}

TEST_CASE("running statistics go through every accumulated batch") {
  config::Job job = small_job(ModelKind::resnet18);
  job.data.samples = 8;
  job.training.batch = 4;
  job.training.accumulate = 2;
  const auto replica = make_replica(job);
  const Computed step = compute(*replica, 0);
  const std::size_t parameters = replica->parameter_count();
  CHECK(norm(Vector(step.gradient.begin() + static_cast<long>(parameters), step.gradient.end())) > 0);
  apply_update(*replica, 0, step.gradient);
  CHECK(replica->evaluate().samples == 60);
}

TEST_CASE("an adopted state is the true one and the one that compute uses") {
  for (const ModelKind model : all_models) {
    const auto teacher = make_replica(small_job(model));
    train(*teacher, 0, 2);
    const auto replica = make_replica(small_job(model));
    const Vector in_flight = compute(*replica, 0).gradient;
    const StepGradient flying{.step = 0, .values = in_flight};
    replica->advance({}, Prediction::local, {&flying, 1});
    replica->adopt(teacher->weights());
    CHECK(copy_of(replica->weights()) == copy_of(teacher->weights()));
    CHECK(compute(*replica, 2).gradient == compute(*teacher, 2).gradient);
    CHECK(replica->evaluate().loss_sum == teacher->evaluate().loss_sum);
  }
}

class RecordPhases final : public PhaseListener {
 public:
  void phase_ended(ComputePhase phase) override { phases.push_back(phase); }
  std::vector<ComputePhase> phases;
};

TEST_CASE("every step ends the phases data, forward and backward, with and without samples") {
  config::Job job = small_job(ModelKind::softmax);
  job.data.samples = 7;
  job.training.workers = 2;
  const auto replica = make_replica(job, 1);
  Vector gradient(replica->size());
  RecordPhases listener;
  replica->compute(0, gradient, listener);
  CHECK(listener.phases == std::vector{ComputePhase::data, ComputePhase::forward, ComputePhase::backward});

  job.data.samples = 1;
  listener.phases.clear();
  make_replica(job, 1)->compute(0, gradient, listener);
  CHECK(listener.phases == std::vector{ComputePhase::data, ComputePhase::forward, ComputePhase::backward});
}

TEST_CASE("after a prediction compute uses the predicted weights, and all else the true ones") {
  for (const ModelKind model : all_models) {
    const auto replica = make_replica(small_job(model));
    const auto ahead = make_replica(small_job(model));
    Computed in_flight = compute(*replica, 0);
    // Statistics are never predicted.
    std::fill(in_flight.gradient.begin() + static_cast<long>(replica->parameter_count()), in_flight.gradient.end(), 0);
    const Vector start = copy_of(replica->weights());
    const Evaluation evaluation = replica->evaluate();
    const Computed at_start = compute(*replica, 1);
    apply_update(*ahead, 0, in_flight.gradient);

    const StepGradient step{.step = 0, .values = in_flight.gradient};
    replica->advance({}, Prediction::local, {&step, 1});

    CHECK(compute(*replica, 1).gradient == compute(*ahead, 1).gradient);
    CHECK(copy_of(replica->weights()) == start);
    CHECK(replica->evaluate().loss_sum == evaluation.loss_sum);
    replica->advance({}, Prediction::none, {});
    CHECK(compute(*replica, 1).gradient == at_start.gradient);
  }
}

TEST_CASE("an update changes the true weights by the optimizer's step") {
  config::Job job = small_job(ModelKind::mlp);
  job.optimizer.lr = 0.5;
  job.optimizer.momentum = 0;
  const auto replica = make_replica(job);
  const Vector start = copy_of(replica->weights());
  const Vector gradient = compute(*replica, 0).gradient;
  apply_update(*replica, 0, gradient);
  Vector expected;
  for (std::size_t i = 0; i < start.size(); ++i) expected.push_back(start[i] - 0.5F * gradient[i]);
  CHECK(distance(replica->weights(), expected) <= 1e-6 * norm(expected));
}

TEST_CASE("the evaluations of all ranks cover the test set once") {
  config::Job job = small_job(ModelKind::mlp);
  // More than one batch of the evaluation on each rank.
  job.data.test_samples = 1003;
  const Evaluation whole = make_replica(job)->evaluate();
  CHECK(whole.samples == 1003);
  for (const int workers : {2, 3, 5}) {
    job.training.workers = workers;
    Evaluation sum;
    for (int rank = 0; rank < workers; ++rank) {
      const Evaluation own = make_replica(job, rank)->evaluate();
      sum.samples += own.samples;
      sum.loss_sum += own.loss_sum;
      sum.correct += own.correct;
    }
    CHECK(sum.samples == whole.samples);
    CHECK(sum.correct == whole.correct);
    CHECK(sum.loss_sum == Approx(whole.loss_sum).epsilon(1e-6));
  }
}

TEST_CASE("a model learns the synthetic images") {
  config::Job job = small_job(ModelKind::mlp);
  job.data.samples = 600;
  job.data.test_samples = 200;
  job.training.batch = 30;
  const auto replica = make_replica(job);
  CHECK(replica->evaluate().correct < 120);
  train(*replica, 0, 3 * replica->steps_per_epoch());
  CHECK(replica->evaluate().correct > 180);
}

TEST_CASE("a replica that loads what another saved continues with the same bits") {
  for (const ModelKind model : all_models) {
    const auto first = make_replica(small_job(model));
    train(*first, 0, 2);
    const std::vector<std::byte> saved = first->save();
    train(*first, 2, 2);

    const auto second = make_replica(small_job(model));
    train(*second, 0, 1);
    second->load(saved);
    train(*second, 2, 2);
    CHECK(copy_of(second->weights()) == copy_of(first->weights()));
    CHECK(second->save() == first->save());
  }
}

TEST_CASE("loading forgets a prediction") {
  const auto replica = make_replica(small_job(ModelKind::mlp));
  const std::vector<std::byte> saved = replica->save();
  const Vector gradient = compute(*replica, 0).gradient;
  const StepGradient in_flight{.step = 0, .values = gradient};
  replica->advance({}, Prediction::local, {&in_flight, 1});
  replica->load(saved);
  CHECK(compute(*replica, 0).gradient == gradient);
}

TEST_CASE("what is not a saved replica of this configuration is refused and changes nothing") {
  const auto replica = make_replica(small_job(ModelKind::mlp));
  const std::vector<std::byte> saved = replica->save();
  train(*replica, 0, 1);
  const std::vector<std::byte> before = replica->save();
  const auto refuses = [&](const std::vector<std::byte>& bytes) {
    CHECK_THROWS_AS(replica->load(bytes), std::runtime_error);
    CHECK(replica->save() == before);
  };

  refuses({});
  refuses({saved.begin(), saved.end() - 1});
  refuses({saved.begin(), saved.begin() + static_cast<long>(saved.size() / 2)});
  std::vector<std::byte> longer = saved;
  longer.push_back(std::byte{0});
  refuses(longer);
  std::vector<std::byte> other_magic = saved;
  other_magic[0] ^= std::byte{1};
  refuses(other_magic);
  config::Job other = small_job(ModelKind::mlp);
  other.model.hidden = {14, 7};
  refuses(make_replica(other)->save());
  other = small_job(ModelKind::mlp);
  other.optimizer.kind = config::OptimizerKind::adam;
  refuses(make_replica(other)->save());
}

TEST_CASE("resnet18 refuses shares that its batch normalization cannot take, before any step") {
  config::Job job = small_job(ModelKind::resnet18);
  job.data.width = 8;
  job.data.samples = 12;
  job.training.workers = 2;
  job.training.batch = 3;
  CHECK_NOTHROW(make_torch_replicas(job, 1));
  job.data.samples = 14;  // one for each worker in the last step
  CHECK_THROWS_WITH(make_torch_replicas(job, 1), Catch::Contains("resnet18") && Catch::Contains("training.batch"));
  job.data.width = 9;
  CHECK_NOTHROW(make_torch_replicas(job, 1));
}

TEST_CASE("a missing data set fails before any replica is made") {
  config::Job job;
  job.data.folder = "/nonexistent";
  CHECK_THROWS_WITH(make_torch_replicas(job, 1), Catch::Contains("/nonexistent") && Catch::Contains("data.folder"));
}

}  // namespace
}  // namespace tandem::models
