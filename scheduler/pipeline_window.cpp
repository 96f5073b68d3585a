#include "scheduler/pipeline_window.h"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace tandem::scheduler {

PipelineWindow::PipelineWindow(int max_width) : max_width_(max_width) {
  if (max_width < 1) throw std::logic_error("a pipeline's width is at least 1, not " + std::to_string(max_width));
}

void PipelineWindow::grant(const Permit& permit) {
  if (last_) throw std::logic_error("a permit came after the last one");
  if (permit.width < 1 || permit.width > max_width_) {
    throw std::logic_error("a permit of width " + std::to_string(permit.width) + ", allowed are 1 to " +
                           std::to_string(max_width_));
  }
  if (permit.until < permitted_until()) throw std::logic_error("a permit takes back steps that were permitted");
  last_ = permit.last;
  if (permit.until > permitted_until()) permits_.push_back(permit);
}

void PipelineWindow::end() {
  permits_.clear();
  last_ = true;
}

void PipelineWindow::update_arrived(Step step) {
  if (step != arrived_ || step >= step_) {
    throw std::logic_error("the update of step " + std::to_string(step) + " came out of order");
  }
  ++arrived_;
}

PipelineWindow::Next PipelineWindow::next() const {
  if (!ended() && permits_.empty()) return Next::await_permit;
  if (ended() && applied_ == step_) return Next::done;
  if (arrived_ < due().end) return Next::await_update;
  return ended() ? Next::apply_rest : Next::compute;
}

StepRange PipelineWindow::due() const {
  if (ended()) return {applied_, step_};
  return {applied_, std::max(applied_, step_ - permits_.front().width + 1)};
}

void PipelineWindow::step_computed() {
  if (next() != Next::compute) throw std::logic_error("step " + std::to_string(step_) + " was computed too early");
  applied_ = due().end;
  ++step_;
  if (permits_.front().until == step_) permits_.pop_front();
}

void PipelineWindow::rest_applied() {
  if (next() != Next::apply_rest) throw std::logic_error("the rest was applied too early");
  applied_ = step_;
}

}  // namespace tandem::scheduler
