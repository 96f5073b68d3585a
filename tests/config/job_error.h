#pragma once

#include <string>
#include <vector>

#include "config/job_reader.h"

namespace tandem::config {

/// What parse_job() says against `text` as the file job.toml; empty if it accepts it.
inline std::string error_of(const std::string& text, const std::vector<std::string>& overrides = {}) {
  try {
    parse_job(text, "job.toml", overrides);
    return "";
  } catch (const JobError& error) {
    return error.what();
  }
}

}  // namespace tandem::config
