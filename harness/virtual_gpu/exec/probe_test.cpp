// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/exec/probe.h"

#include <fstream>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

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
  ASSERT_GT(digests.size(), 900u);
  ProbeRun run(all);
  std::vector<std::string> unknown;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::uint64_t ours = digest(run(i));
    if (const auto known = digests.find(all[i].name); known == digests.end())
      unknown.push_back(all[i].name);
    else
      EXPECT_EQ(fmt::format("{:016x}", ours), known->second) << all[i].name;
  }
  if (!unknown.empty())
    GTEST_SKIP() << unknown.size() << " of " << all.size() << " instructions were never recorded, "
                 << unknown.front() << " first; exec_probe_record does so";
}

TEST(Probes, ADigestSeesASingleWrongBit) {
  std::vector<std::uint64_t> results(kProbeInputs);
  const std::uint64_t right = digest(results);
  results[1234] ^= 1ull << 40;
  EXPECT_NE(digest(results), right);
}

}  // namespace
}  // namespace pkb::virtual_gpu
