#include "models/idx.h"

#include <stdlib.h>
#include <zlib.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <string>

namespace tandem::models {
namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<std::uint8_t>;
using Catch::Matchers::Contains;

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (fs::temp_directory_path() / "tandem-idx-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
    path_ = pattern;
  }
  ~TemporaryFolder() { fs::remove_all(path_); }

  fs::path operator/(const std::string& name) const { return path_ / name; }
  std::string string() const { return path_.string(); }

 private:
  fs::path path_;
};

void write_plain(const fs::path& file, const Bytes& bytes) {
  std::ofstream stream(file, std::ios::binary);
  stream.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

void write_gzipped(const fs::path& file, const Bytes& bytes) {
  gzFile stream = gzopen(file.c_str(), "wb");
  gzwrite(stream, bytes.data(), static_cast<unsigned>(bytes.size()));
  gzclose(stream);
}

void append_big_endian(Bytes& bytes, std::uint32_t value) {
  for (const int shift : {24, 16, 8, 0}) bytes.push_back(static_cast<std::uint8_t>(value >> shift));
}

Bytes idx_bytes(const std::vector<std::uint32_t>& dimensions, const Bytes& values) {
  Bytes bytes = {0, 0, 8, static_cast<std::uint8_t>(dimensions.size())};
  for (const std::uint32_t dimension : dimensions) append_big_endian(bytes, dimension);
  bytes.insert(bytes.end(), values.begin(), values.end());
  return bytes;
}

/// The message of the std::runtime_error that `call` throws; it must name `file`.
std::string error_naming(const fs::path& file, const std::function<void()>& call) {
  try {
    call();
  } catch (const std::runtime_error& error) {
    CHECK_THAT(error.what(), Contains(file.string()));
    return error.what();
  }
  FAIL("no error");
  return {};
}

std::string error_of_reading(const fs::path& file, std::size_t dimensions) {
  return error_naming(file, [&] { read_idx(file, dimensions); });
}

/// A small valid data set: 3 images of 2x1 to train on, 2 to test with, classes 0 to 2.
void write_data_set(const TemporaryFolder& folder) {
  write_plain(folder / "train-images-idx3-ubyte", idx_bytes({3, 2, 1}, {0, 51, 102, 153, 204, 255}));
  write_gzipped(folder / "train-labels-idx1-ubyte.gz", idx_bytes({3}, {2, 0, 1}));
  write_gzipped(folder / "t10k-images-idx3-ubyte.gz", idx_bytes({2, 2, 1}, {1, 2, 3, 4}));
  write_plain(folder / "t10k-labels-idx1-ubyte", idx_bytes({2}, {1, 2}));
}

config::Data data_in(const TemporaryFolder& folder) {
  config::Data data;
  data.folder = folder.string();
  data.mean = 0.5;
  data.deviation = 0.25;
  return data;
}

std::string error_of_loading(const TemporaryFolder& folder, const std::string& file) {
  return error_naming(folder / file, [&] { load_idx(data_in(folder)); });
}

TEST_CASE("an IDX file reads the same, gzipped or not") {
  const TemporaryFolder folder;
  const Bytes bytes = idx_bytes({2, 3}, {1, 2, 3, 4, 5, 255});
  write_plain(folder / "plain", bytes);
  write_gzipped(folder / "zipped.gz", bytes);
  for (const char* name : {"plain", "zipped.gz"}) {
    const IdxArray array = read_idx(folder / name, 2);
    CHECK(array.dimensions == std::vector<std::int64_t>{2, 3});
    CHECK(array.values == Bytes{1, 2, 3, 4, 5, 255});
  }
}

TEST_CASE("a broken IDX file is refused with its name and the reason") {
  const TemporaryFolder folder;
  const fs::path file = folder / "file";
  const Bytes good = idx_bytes({2, 3}, {1, 2, 3, 4, 5, 6});
  const auto error_of = [&](const Bytes& bytes) {
    write_plain(file, bytes);
    return error_of_reading(file, 2);
  };
  const auto with = [&](std::size_t index, std::uint8_t value) {
    Bytes bytes = good;
    bytes[index] = value;
    return bytes;
  };
  const auto cut = [&](std::size_t size) { return Bytes(good.begin(), good.begin() + static_cast<long>(size)); };

  CHECK_THAT(error_of({}), Contains("truncated: 0 of 4 bytes of its header"));
  CHECK_THAT(error_of(cut(3)), Contains("truncated"));
  CHECK_THAT(error_of(cut(11)), Contains("truncated: 7 of 8 bytes of its dimensions"));
  CHECK_THAT(error_of(cut(17)), Contains("truncated: 5 of 6 bytes of its values"));
  CHECK_THAT(error_of(with(0, 1)), Contains("not an IDX file"));
  CHECK_THAT(error_of(with(1, 1)), Contains("not an IDX file"));
  CHECK_THAT(error_of(with(2, 0x0D)), Contains("type 13"));
  CHECK_THAT(error_of(with(3, 3)), Contains("3 dimensions instead of 2"));
  CHECK_THAT(error_of(with(7, 0)), Contains("a dimension is 0"));
  Bytes longer = good;
  longer.push_back(0);
  CHECK_THAT(error_of(longer), Contains("more bytes than its header says"));
}

TEST_CASE("an IDX header that promises too much is refused without allocating it") {
  const TemporaryFolder folder;
  const fs::path file = folder / "file";
  constexpr std::uint32_t huge = 0xFFFFFFFF;
  write_plain(file, idx_bytes({huge, huge, huge}, {1}));
  CHECK_THAT(error_of_reading(file, 3), Contains("dimensions are too large"));
  write_plain(file, idx_bytes({huge, 0x7FFFFFFF}, {1}));
  CHECK_THAT(error_of_reading(file, 2), Contains("truncated: 1 of "));
}

TEST_CASE("a damaged gzip stream is refused") {
  const TemporaryFolder folder;
  const fs::path file = folder / "file.gz";
  write_gzipped(file, idx_bytes({1000}, Bytes(1000, 7)));
  const auto size = fs::file_size(file);
  SECTION("cut within the values") {
    fs::resize_file(file, size - 12);
    CHECK_THAT(error_of_reading(file, 1), Contains("truncated"));
  }
  SECTION("cut within the checksum") {
    fs::resize_file(file, size - 4);
    CHECK_THAT(error_of_reading(file, 1), Contains("truncated"));
  }
  SECTION("wrong checksum") {
    std::fstream stream(file, std::ios::binary | std::ios::in | std::ios::out);
    stream.seekp(static_cast<std::streamoff>(size) - 8);
    stream.put('\x55').put('\x55');
    stream.close();
    CHECK_THAT(error_of_reading(file, 1), Contains("cannot be read"));
  }
}

TEST_CASE("an IDX file that cannot be opened is an error with the system's reason") {
  const TemporaryFolder folder;
  CHECK_THAT(error_of_reading(folder / "none", 1), Contains("No such file"));
}

TEST_CASE("an IDX data set takes its shape, classes and normalization from files and job") {
  const TemporaryFolder folder;
  write_data_set(folder);
  const Dataset dataset = load_idx(data_in(folder));
  CHECK(dataset.shape == ImageShape{.channels = 1, .height = 2, .width = 1});
  CHECK(dataset.classes == 3);
  CHECK(dataset.train.samples() == 3);
  CHECK(dataset.test.labels == std::vector<std::int32_t>{1, 2});
  CHECK(dataset.value_of_pixel[51] == static_cast<float>((51 / 255.0 - 0.5) / 0.25));

  const std::vector<std::int64_t> indices = {2, 0};
  std::vector<float> images(4);
  std::vector<std::int32_t> labels(2);
  gather(dataset, dataset.train, indices, images, labels);
  CHECK(labels == std::vector<std::int32_t>{1, 2});
  const auto value = [&](int pixel) { return static_cast<float>((pixel / 255.0 - 0.5) / 0.25); };
  CHECK(images == std::vector<float>{value(204), value(255), value(0), value(51)});
}

TEST_CASE("an IDX data set whose files do not match is refused") {
  const TemporaryFolder folder;
  write_data_set(folder);
  SECTION("fewer labels than images") {
    write_plain(folder / "train-labels-idx1-ubyte", idx_bytes({2}, {0, 1}));
    CHECK_THAT(error_of_loading(folder, "train-labels-idx1-ubyte"), Contains("2 labels") && Contains("3 images"));
  }
  SECTION("other sizes to test with") {
    write_plain(folder / "t10k-images-idx3-ubyte", idx_bytes({2, 1, 2}, {1, 2, 3, 4}));
    CHECK_THAT(error_of_loading(folder, "t10k-images-idx3-ubyte"), Contains("1x2") && Contains("2x1"));
  }
  SECTION("a label that never occurs in training") {
    write_plain(folder / "t10k-labels-idx1-ubyte", idx_bytes({2}, {1, 3}));
    CHECK_THAT(error_of_loading(folder, "t10k-labels-idx1-ubyte"), Contains("image 1 has label 3"));
  }
}

TEST_CASE("a missing data set: the error says what is missing and how to get it") {
  const TemporaryFolder folder;
  write_data_set(folder);
  fs::remove(folder / "t10k-images-idx3-ubyte.gz");
  const std::string message = error_of_loading(folder, "t10k-images-idx3-ubyte");
  for (const char* name : {"data.folder", "train-images-idx3-ubyte", "train-labels-idx1-ubyte",
                           "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte", "dataset-fashion-mnist"}) {
    CHECK_THAT(message, Contains(name));
  }
}

TEST_CASE("the packaged Fashion-MNIST loads") {
  const Dataset dataset = load_idx(config::Data{});
  CHECK(dataset.shape == ImageShape{.channels = 1, .height = 28, .width = 28});
  CHECK(dataset.classes == 10);
  CHECK(dataset.train.samples() == 60000);
  CHECK(dataset.test.samples() == 10000);
}

}  // namespace
}  // namespace tandem::models
