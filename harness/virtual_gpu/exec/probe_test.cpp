// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/exec/probe.h"

#include <fstream>
#include <sstream>
#include <unordered_map>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "harness/virtual_gpu/exec/probe_run.h"

namespace pkb::virtual_gpu {
namespace {

// The file's digests come from a real GPU; see its first line.
std::unordered_map<std::string, std::string> recorded() {
  std::ifstream file(PKB_PROBE_DIGESTS);
  std::unordered_map<std::string, std::string> digests;
  for (std::string line; std::getline(file, line);)
    if (const auto space = line.rfind(' '); line[0] != '#')
      digests[line.substr(0, space)] = line.substr(space + 1);
  return digests;
}

TEST(Probes, EveryInstructionGivesTheBitsOfARealGpu) {
  const auto digests = recorded();
  const auto all = probes();
  ASSERT_GT(all.size(), 900u);
  ProbeRun run(all);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto known = digests.find(all[i].name);
    ASSERT_NE(known, digests.end()) << all[i].name << " was never recorded";
    EXPECT_EQ(fmt::format("{:016x}", digest(run(i))), known->second) << all[i].name;
  }
}

TEST(Probes, ADigestSeesASingleWrongBit) {
  std::vector<std::uint64_t> results(kProbeInputs);
  const std::uint64_t right = digest(results);
  results[1234] ^= 1ull << 40;
  EXPECT_NE(digest(results), right);
}

}  // namespace
}  // namespace pkb::virtual_gpu
