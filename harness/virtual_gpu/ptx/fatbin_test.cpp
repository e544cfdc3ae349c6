// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

#include "harness/virtual_gpu/ptx/module.h"

namespace pkb::virtual_gpu::ptx {
namespace {

std::string file(const std::string& name) {
  std::ifstream stream(std::string(PKB_PTX_TESTDATA) + "/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::vector<Embedded> extract(const std::string& image) {
  return extract_ptx(std::as_bytes(std::span(image)));
}

std::string error(const std::string& image) {
  try {
    extract(image);
  } catch (const ParseError& e) {
    return e.what();
  }
  return "accepted";
}

template <class T>
std::string with(std::string image, std::size_t offset, T value) {
  return image.replace(offset, sizeof value, reinterpret_cast<const char*>(&value), sizeof value);
}

class Compression : public testing::TestWithParam<const char*> {};

TEST_P(Compression, GivesTheText) {
  const std::string image = file(GetParam());
  EXPECT_EQ(image_bytes(image.data()), image.size());
  const std::vector<Embedded> found = extract(image);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].architecture, 90u);
  EXPECT_THAT(found[0].text, testing::HasSubstr(".visible .entry _Z5scalePff("));
  EXPECT_EQ(found[0].text.find('\0'), std::string::npos);
  EXPECT_EQ(found[0].text, extract(file("scale_none.fatbin"))[0].text);
  EXPECT_EQ(parse(found[0].text).functions.at(0).name, "_Z5scalePff");
}

INSTANTIATE_TEST_SUITE_P(Modes, Compression,
                         testing::Values("scale_none.fatbin", "scale_speed.fatbin", "scale_balance.fatbin"),
                         [](const auto& test) {
                           const std::string name = test.param;
                           return name.substr(6, name.find('.') - 6);
                         });

// Offsets: the entry begins at 16; its payload size is at 24, its compressed size at 32, its plain size
// at 72.
TEST(FatBinary, SeveralEntriesOfWhichSomeAreNoPtx) {
  const std::string image = file("scale_none.fatbin"), entry = image.substr(16);
  const std::string other = with(with(entry, 0, std::uint16_t(2)), 28, std::uint32_t(90));
  const std::string newer = with(entry, 28, std::uint32_t(100));
  const std::string all =
      with(image.substr(0, 16), 8, std::uint64_t(3 * entry.size())) + entry + other + newer;
  const std::vector<Embedded> found = extract(all + "what follows in memory");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].architecture, 90u);
  EXPECT_EQ(found[1].architecture, 100u);
  EXPECT_EQ(extract(with(image.substr(0, 16), 8, std::uint64_t(0))).size(), 0u);
}

TEST(FatBinary, Damage) {
  const std::string image = file("scale_balance.fatbin");
  const std::uint64_t huge = ~0ull;
  EXPECT_EQ(error(""), "fat binary: header is cut off");
  EXPECT_EQ(error(with(image, 0, 0x12345678u)), "fat binary: magic is 0x12345678, not 0xba55ed50");
  EXPECT_EQ(error(with(image, 6, std::uint16_t(8))), "fat binary: header of 8 bytes is too small");
  EXPECT_THAT(error(with(image, 8, huge)),
              testing::HasSubstr("list of entries of 18446744073709551615 bytes at 16"));
  EXPECT_EQ(error(image.substr(0, image.size() - 1)),
            "fat binary: list of entries of 352 bytes at 16 passes the end at 367");
  EXPECT_EQ(error(with(image.substr(0, 50), 8, std::uint64_t(34))), "fat binary: entry header is cut off");
  EXPECT_EQ(error(with(image, 20, 8u)), "fat binary: entry header of 8 bytes is too small");
  EXPECT_THAT(error(with(image, 24, huge)),
              testing::HasSubstr("fat binary: entry of 18446744073709551615 bytes"));
  EXPECT_THAT(error(with(image, 32, 0xffffffffu)),
              testing::HasSubstr("fat binary: compressed PTX of 4294967295 bytes"));
  EXPECT_EQ(error(with(image, 72, huge)), "fat binary: PTX of 18446744073709551615 bytes is too large");
  EXPECT_EQ(error(with(image, 72, std::uint64_t(10))), "fat binary: compressed PTX is damaged");
  EXPECT_EQ(error(with(image, 72, std::uint64_t(100000))), "fat binary: compressed PTX is damaged");
  const std::string lz4 = file("scale_speed.fatbin");
  EXPECT_EQ(error(with(lz4, 72, std::uint64_t(10))), "fat binary: compressed PTX is damaged");
}

}  // namespace
}  // namespace pkb::virtual_gpu::ptx
