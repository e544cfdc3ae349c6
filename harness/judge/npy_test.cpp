// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/npy.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

#include "harness/error/error.h"

namespace pkb::judge {
namespace {

namespace fs = std::filesystem;

class Npy : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "pkb-npy-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    x_folder = pattern;
    x_file = x_folder / "a.npy";
  }
  void TearDown() override { fs::remove_all(x_folder); }

  std::string contents() {
    std::ifstream in(x_file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void write(const std::string& bytes) { std::ofstream(x_file, std::ios::binary) << bytes; }
  /// A file as NumPy writes it, with any header.
  static std::string file_of(std::string header, const std::string& data) {
    header.resize(117, ' ');
    return std::string("\x93NUMPY\x01\x00", 8) + char(118) + '\0' + header + '\n' + data;
  }
  std::string refusal(DType dtype, std::vector<std::int64_t> shape) {
    try {
      read_npy(x_file, dtype, shape);
    } catch (const InputError& error) {
      const std::string text = error.what();
      EXPECT_TRUE(text.starts_with(x_file.string() + ": ")) << text;
      return text.substr(x_file.string().size() + 2);
    }
    return "no InputError";
  }

  fs::path x_folder, x_file;
};

// What numpy.save wrote for numpy.array([[1.5, -2, 3]], dtype=numpy.float32), byte for byte.
const std::string kHeader = "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 3), }";
const std::string kData("\x00\x00\xC0\x3F\x00\x00\x00\xC0\x00\x00\x40\x40", 12);

TEST_F(Npy, WritesWhatNumpyWrites) {
  Array array{.dtype = DType::f32, .shape = {1, 3}, .bytes = std::vector<std::byte>(12)};
  std::memcpy(array.bytes.data(), kData.data(), 12);
  write_npy(x_file, array);
  EXPECT_EQ(contents(), file_of(kHeader, kData));
  EXPECT_EQ(std::distance(fs::directory_iterator(x_folder), {}), 1);
}

TEST_F(Npy, ReadsWhatNumpyWrites) {
  write(file_of(kHeader, kData));
  const Array array = read_npy(x_file, DType::f32, std::vector<std::int64_t>{1, 3});
  EXPECT_EQ(std::memcmp(array.bytes.data(), kData.data(), 12), 0);
}

TEST_F(Npy, KeepsEveryDtypeAndEmptyOrOneDimensionalShapes) {
  for (const DTypeInfo& each : kDTypes) {
    for (const std::vector<std::int64_t>& shape : {std::vector<std::int64_t>{5}, {0, 7}, {2, 3, 4}}) {
      std::size_t count = each.bytes;
      for (const std::int64_t extent : shape) count *= static_cast<std::size_t>(extent);
      Array array{
          .dtype = each.dtype, .shape = shape, .bytes = std::vector<std::byte>(count, std::byte{0x5A})};
      write_npy(x_file, array);
      EXPECT_EQ(read_npy(x_file, each.dtype, shape).bytes, array.bytes) << each.name;
    }
  }
}

TEST_F(Npy, SaysWhatDoesNotFit) {
  EXPECT_EQ(refusal(DType::f32, {1, 3}),
            "cannot be read: No such file or directory; it must hold <f4 (fp32) of shape (1, 3)");
  write(file_of(kHeader, kData));
  EXPECT_EQ(refusal(DType::bf16, {1, 3}), "holds <f4; it must hold <u2 (bf16) of shape (1, 3)");
  EXPECT_EQ(refusal(DType::f32, {3}), "has shape (1, 3); it must hold <f4 (fp32) of shape (3,)");
  write(file_of(kHeader, kData.substr(1)));
  EXPECT_EQ(refusal(DType::f32, {1, 3}), "ends too early; it must hold <f4 (fp32) of shape (1, 3)");
  write(file_of("{'descr': '<f4', 'fortran_order': True, 'shape': (1, 3), }", kData));
  EXPECT_EQ(refusal(DType::f32, {1, 3}), "is in Fortran order; it must hold <f4 (fp32) of shape (1, 3)");
  write(file_of("{'descr': '<f4', 'fortran_order': False, 'shape': (1, x), }", kData));
  EXPECT_EQ(refusal(DType::f32, {1, 3}),
            "has a damaged .npy header; it must hold <f4 (fp32) of shape (1, 3)");
  write("PK\x03\x04 some other file");
  EXPECT_EQ(refusal(DType::f32, {1, 3}), "is no .npy file; it must hold <f4 (fp32) of shape (1, 3)");
  write("");
  EXPECT_EQ(refusal(DType::f32, {1, 3}), "is no .npy file; it must hold <f4 (fp32) of shape (1, 3)");
}

TEST_F(Npy, LeavesNothingBehindWhenItCannotWrite) {
  const fs::path missing = x_folder / "no" / "a.npy";
  EXPECT_THROW(write_npy(missing, {.dtype = DType::u8, .shape = {0}, .bytes = {}}), EnvironmentError);
  EXPECT_TRUE(fs::is_empty(x_folder));
}

}  // namespace
}  // namespace pkb::judge
