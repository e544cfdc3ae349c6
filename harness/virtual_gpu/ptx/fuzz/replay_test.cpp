// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

// A fuzz target on its corpus: seeds, and inputs that once did harm.
TEST(Fuzz, Replay) {
  int inputs = 0;
  for (const auto& each : std::filesystem::directory_iterator(PKB_FUZZ_CORPUS)) {
    SCOPED_TRACE(each.path().filename().string());
    std::ifstream file(each.path(), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    const std::clock_t start = std::clock();
    // A copy of exactly this size lets AddressSanitizer see a read behind its end.
    const std::vector<std::uint8_t> exact(bytes.begin(), bytes.end());
    EXPECT_NO_THROW(LLVMFuzzerTestOneInput(exact.data(), exact.size()));
    EXPECT_LT(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC, 5);
    ++inputs;
  }
  EXPECT_GT(inputs, 1);
}
