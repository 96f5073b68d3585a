#include "models/idx.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>

namespace tandem::models {
namespace {

namespace fs = std::filesystem;

constexpr std::array file_names = {"train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte",
                                   "t10k-labels-idx1-ubyte"};

[[noreturn]] void fail(const fs::path& file, const std::string& what) {
  throw std::runtime_error(file.string() + ": " + what);
}

/// The bytes of a file, unzipped if it is gzipped.
class ByteReader {
 public:
  explicit ByteReader(const fs::path& path) : path_(path), file_(gzopen(path.c_str(), "rb"), gzclose) {
    if (!file_) fail(path_, std::string("cannot be opened: ") + std::strerror(errno));
  }

  /// The next `count` bytes; `what` names them in the error if the file ends before.
  std::vector<std::uint8_t> read(std::uint64_t count, const char* what) {
    // A piece at a time, so that a header that promises too much does not allocate it.
    constexpr std::uint64_t piece = 16 << 20;
    std::vector<std::uint8_t> bytes;
    while (bytes.size() < count) {
      const std::size_t first = bytes.size();
      bytes.resize(first + std::min(piece, count - first));
      const std::size_t got = read_some(bytes.data() + first, bytes.size() - first);
      if (got < bytes.size() - first) {
        fail(path_,
             "truncated: " + std::to_string(first + got) + " of " + std::to_string(count) + " bytes of its " + what);
      }
    }
    return bytes;
  }

  void expect_end() {
    std::uint8_t byte = 0;
    if (read_some(&byte, 1) != 0) fail(path_, "more bytes than its header says");
  }

 private:
  std::size_t read_some(std::uint8_t* to, std::size_t count) {
    const int got = gzread(file_.get(), to, static_cast<unsigned>(count));
    int error = Z_OK;
    const char* const message = gzerror(file_.get(), &error);
    if (error == Z_BUF_ERROR) fail(path_, "truncated: the gzip stream ends early");
    if (got < 0) fail(path_, std::string("cannot be read: ") + (error == Z_ERRNO ? std::strerror(errno) : message));
    return static_cast<std::size_t>(got);
  }

  fs::path path_;
  std::unique_ptr<gzFile_s, int (*)(gzFile)> file_;
};

std::vector<std::int64_t> read_dimensions(ByteReader& reader, std::size_t count) {
  const std::vector<std::uint8_t> bytes = reader.read(4 * count, "dimensions");
  std::vector<std::int64_t> dimensions;
  for (std::size_t i = 0; i < bytes.size(); i += 4) {
    dimensions.push_back(std::int64_t{bytes[i]} << 24 | bytes[i + 1] << 16 | bytes[i + 2] << 8 | bytes[i + 3]);
  }
  return dimensions;
}

std::uint64_t product(const fs::path& file, const std::vector<std::int64_t>& dimensions) {
  std::int64_t total = 1;
  for (const std::int64_t dimension : dimensions) {
    if (dimension == 0) fail(file, "a dimension is 0");
    if (dimension > std::numeric_limits<std::int64_t>::max() / total) fail(file, "its dimensions are too large");
    total *= dimension;
  }
  return static_cast<std::uint64_t>(total);
}

/// Where the file of that name is, gzipped or not; empty if it is not there.
fs::path find_file(const fs::path& folder, const char* name) {
  for (const char* suffix : {"", ".gz"}) {
    fs::path file = folder / (std::string(name) + suffix);
    if (fs::exists(file)) return file;
  }
  return {};
}

std::string how_to_get(const fs::path& folder) {
  const std::string packaged = config::Data{}.folder;
  if ((folder / "").lexically_normal() == fs::path(packaged) / "") {
    return "Debian's package dataset-fashion-mnist provides it: apt-get install dataset-fashion-mnist";
  }
  std::string names;
  for (const char* name : file_names) names += (names.empty() ? "" : ", ") + std::string(name);
  return "data.folder must be a folder with the four files " + names +
         ", each plain or with .gz. Debian's package dataset-fashion-mnist provides such a set in " + packaged;
}

std::array<fs::path, file_names.size()> find_files(const fs::path& folder) {
  std::array<fs::path, file_names.size()> files;
  for (std::size_t i = 0; i < files.size(); ++i) {
    files[i] = find_file(folder, file_names[i]);
    if (files[i].empty()) {
      throw std::runtime_error("data set not found: there is no " + (folder / file_names[i]).string() +
                               ", nor one with .gz. " + how_to_get(folder));
    }
  }
  return files;
}

struct LabelledImages {
  ImageShape shape;
  ImageSet set;
};

LabelledImages read_set(const fs::path& image_file, const fs::path& label_file) {
  IdxArray images = read_idx(image_file, 3);
  const IdxArray labels = read_idx(label_file, 1);
  if (labels.dimensions[0] != images.dimensions[0]) {
    fail(label_file, std::to_string(labels.dimensions[0]) + " labels, but " + image_file.string() + " has " +
                         std::to_string(images.dimensions[0]) + " images");
  }
  return {.shape = {.channels = 1, .height = images.dimensions[1], .width = images.dimensions[2]},
          .set = {.pixels = std::move(images.values), .labels = {labels.values.begin(), labels.values.end()}}};
}

}  // namespace

IdxArray read_idx(const fs::path& file, std::size_t dimensions) {
  ByteReader reader(file);
  const std::vector<std::uint8_t> magic = reader.read(4, "header");
  if (magic[0] != 0 || magic[1] != 0) fail(file, "not an IDX file: it does not begin with two zero bytes");
  if (magic[2] != 0x08) fail(file, "its values are of type " + std::to_string(magic[2]) + ", not 8 (unsigned bytes)");
  if (magic[3] != dimensions) {
    fail(file, std::to_string(magic[3]) + " dimensions instead of " + std::to_string(dimensions));
  }
  IdxArray array;
  array.dimensions = read_dimensions(reader, dimensions);
  array.values = reader.read(product(file, array.dimensions), "values");
  reader.expect_end();
  return array;
}

Dataset load_idx(const config::Data& data) {
  const auto [train_images, train_labels, test_images, test_labels] = find_files(data.folder);
  LabelledImages train = read_set(train_images, train_labels);
  LabelledImages test = read_set(test_images, test_labels);
  if (test.shape != train.shape) {
    fail(test_images,
         "images of " + text(test.shape) + " pixels, but " + train_images.string() + " has " + text(train.shape));
  }
  const std::int64_t classes = *std::max_element(train.set.labels.begin(), train.set.labels.end()) + 1;
  const auto largest = std::max_element(test.set.labels.begin(), test.set.labels.end());
  if (*largest >= classes) {
    fail(test_labels, "image " + std::to_string(largest - test.set.labels.begin()) + " has label " +
                          std::to_string(*largest) + ", but the labels to train on end at " +
                          std::to_string(classes - 1));
  }
  return {.shape = train.shape,
          .classes = classes,
          .value_of_pixel = normalized_pixels(data.mean, data.deviation),
          .train = std::move(train.set),
          .test = std::move(test.set)};
}

}  // namespace tandem::models
