#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "config/job.h"
#include "models/dataset.h"

// IDX, the format of MNIST and its kin. A file is, big-endian: two zero bytes, a type (0x08: unsigned bytes, the only
// one read here), the number of dimensions (one byte), each dimension (32 bits), then the values and nothing behind
// them.
namespace tandem::models {

struct IdxArray {
  std::vector<std::int64_t> dimensions;
  std::vector<std::uint8_t> values;
};

/// Reads a file, gzipped or not, that must have `dimensions` dimensions, none of them 0. Throws std::runtime_error that
/// names the file and what is wrong with it. Never allocates much more than the file really holds.
IdxArray read_idx(const std::filesystem::path& file, std::size_t dimensions);

/// Reads train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-idx3-ubyte and t10k-labels-idx1-ubyte, each
/// plain or with ".gz", from data.folder. There are as many classes as the largest label to train on says. Throws
/// std::runtime_error.
Dataset load_idx(const config::Data& data);

}  // namespace tandem::models
