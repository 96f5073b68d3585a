#include "models/cross_entropy.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <vector>

namespace tandem::models {
namespace {

TEST_CASE("cross entropy: loss and gradient of a batch match the formula") {
  const std::vector<std::vector<double>> rows = {{0.5, -1.0, 2.0}, {3.0, 0.0, -2.0}};
  const std::vector<std::int32_t> labels = {2, 1};
  std::vector<float> logits;
  for (const auto& row : rows) logits.insert(logits.end(), row.begin(), row.end());

  const BatchLoss loss = softmax_cross_entropy(logits, labels);

  double expected_loss = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    double sum = 0;
    for (const double value : rows[i]) sum += std::exp(value);
    const auto label = static_cast<std::size_t>(labels[i]);
    expected_loss += std::log(sum) - rows[i][label];
    for (std::size_t j = 0; j < rows[i].size(); ++j) {
      const double expected = (std::exp(rows[i][j]) / sum - (j == label ? 1 : 0)) / 2;
      CHECK(logits[i * 3 + j] == Approx(expected).margin(1e-7));
    }
  }
  CHECK(loss.loss_sum == Approx(expected_loss).epsilon(1e-6));
  CHECK(loss.correct == 1);
}

TEST_CASE("cross entropy stays finite where exponentials of the logits would not") {
  std::vector<float> logits = {1000.0F, -1000.0F};
  const std::vector<std::int32_t> labels = {1};
  CHECK(softmax_cross_entropy(logits, labels).loss_sum == Approx(2000.0));
  CHECK(logits == std::vector<float>{1.0F, -1.0F});
}

TEST_CASE("cross entropy does not hide a logit that is not finite") {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    std::vector<float> logits = {0.0F, bad, 1.0F};
    const std::vector<std::int32_t> labels = {0};
    const BatchLoss loss = softmax_cross_entropy(logits, labels);
    CHECK_FALSE(std::isfinite(loss.loss_sum));
    CHECK(std::isnan(logits[0]));
  }
}

}  // namespace
}  // namespace tandem::models
