#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/key.h"

namespace tandem::config {

/// Every key of the job file, table by table in the order that to_toml() prints. The single source for reading,
/// printing, suggestions and documentation: a new key is an entry here and a member in job.h. Safe from any thread.
const std::vector<Key>& schema();

/// The key, or null where there is none.
const Key* find_key(std::string_view table, std::string_view name);

bool is_table(std::string_view table);

/// The tables in the order of the schema.
std::vector<std::string> tables();

}  // namespace tandem::config
