// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/exec/matrix_probe.h"

#include <bit>
#include <cmath>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "harness/virtual_gpu/exec/half_type.h"

namespace pkb::virtual_gpu {
namespace {

using Words = std::vector<std::uint32_t>;

// The file comes from a real GPU; see its first line.
std::map<std::pair<std::string, int>, Words> recorded() {
  std::ifstream file(PKB_PROBE_MATRICES);
  std::map<std::pair<std::string, int>, Words> results;
  for (std::string line; std::getline(file, line);) {
    if (line[0] == '#') continue;
    std::istringstream fields(line);
    std::string opcode;
    int inputs = 0;
    fields >> opcode >> inputs >> std::hex;
    Words& words = results[{opcode, inputs}];
    for (std::uint32_t word; fields >> word;) words.push_back(word);
  }
  return results;
}

std::vector<double> values(const MatrixProbe& probe, const Words& words) {
  std::vector<double> result;
  for (const std::uint32_t word : words)
    if (probe.sum == "f32") {
      result.push_back(std::bit_cast<float>(word));
    } else {
      result.push_back(to_float(Half{static_cast<std::uint16_t>(word)}));
      result.push_back(to_float(Half{static_cast<std::uint16_t>(word >> 16)}));
    }
  return result;
}

TEST(MatrixProbes, SumsAreThoseOfARealGpu) {
  const auto known = recorded();
  if (known.empty()) GTEST_SKIP() << "no matrices were recorded; exec_probe_record does so";
  for (const MatrixProbe& probe : matrix_probes())
    for (const MatrixInputs inputs : {MatrixInputs::exact, MatrixInputs::general, MatrixInputs::special}) {
      SCOPED_TRACE(fmt::format("{}, inputs {}", probe.opcode, static_cast<int>(inputs)));
      const auto found = known.find({probe.opcode, static_cast<int>(inputs)});
      ASSERT_NE(found, known.end()) << "never recorded";
      const Words ours = run_matrix_probe(probe, inputs), &real = found->second;
      if (inputs == MatrixInputs::exact || probe.sum == "s32") {
        EXPECT_EQ(ours, real);
        continue;
      }
      const auto a = values(probe, ours), b = values(probe, real);
      ASSERT_EQ(a.size(), b.size());
      // Products are below 16 and at most 32 are summed. Tensor cores cut off what lies below some bits of the
      // largest term: about 24 of them, for 8-bit floats about 13. A 16-bit result is rounded as well.
      const double largest = 32 * 16;
      const bool coarse = probe.sum == "f16" || probe.a[0] == 'e';
      for (std::size_t i = 0; i < a.size(); ++i) {
        if (inputs == MatrixInputs::general) {
          ASSERT_NEAR(a[i], b[i], largest * (coarse ? 0x1p-10 : 0x1p-20)) << i;
        } else if (!std::isfinite(a[i]) || !std::isfinite(b[i])) {
          ASSERT_TRUE(a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) << i << ": " << a[i] << ' ' << b[i];
        }
      }
    }
}

TEST(MatrixProbes, EveryOneRunsOnTheVirtualGpu) {
  for (const MatrixProbe& probe : matrix_probes()) {
    const Words general = run_matrix_probe(probe, MatrixInputs::general);
    if (probe.sum != "s32") {
      EXPECT_NE(general, run_matrix_probe(probe, MatrixInputs::special)) << probe.opcode;
    }
    EXPECT_NE(general, Words(general.size())) << probe.opcode;
  }
}

}  // namespace
}  // namespace pkb::virtual_gpu
