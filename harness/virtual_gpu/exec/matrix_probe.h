// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

/// Probes of mma.sync: the same PTX and inputs for a real GPU and for the virtual one. A probe is one kernel of one
/// warp, named m0, m1..., whose thread i takes 16 words from in[16 * i] and gives 4 to out[4 * i]: parameters out, in.
namespace pkb::virtual_gpu {

struct MatrixProbe {
  std::string opcode;          ///< unique
  std::string a, b, sum;       ///< types
  int words_a, words_b, words_sum;
};
std::vector<MatrixProbe> matrix_probes();

enum class MatrixInputs : std::uint8_t {
  exact,    ///< no sum is rounded: results have to agree
  general,  ///< numbers of like magnitude: results agree within the error of the sums
  special,  ///< with zeros, subnormal numbers, infinities and NaN: results that are not finite have to agree
};
std::vector<std::uint32_t> matrix_probe_inputs(const MatrixProbe& probe, MatrixInputs inputs);
std::string matrix_probe_module(const std::vector<MatrixProbe>& probes);

/// Results on the virtual GPU, 4 words a thread.
std::vector<std::uint32_t> run_matrix_probe(const MatrixProbe& probe, MatrixInputs inputs);

}  // namespace pkb::virtual_gpu
