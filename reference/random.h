// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "reference/tensor.h"

namespace pkb::ref {

/// How random elements are distributed; only the fields of its kind count.
struct Distribution {
  enum class Kind : std::uint8_t {
    normal,    ///< mean + stddev * N(0, 1), tails up to 6.3 standard deviations; floating dtypes
    uniform,   ///< low + (high - low) * [0, 1), then rounded, which may reach `high` in a narrow dtype;
               ///< floating
    integers,  ///< low..high inclusive, alike; a zero has a random sign in floating dtypes; any dtype but fp8
    bits,      ///< every bit pattern of the dtype alike; any dtype
  };
  Kind kind = Kind::normal;
  double mean = 0, stddev = 1, low = 0, high = 1;
};

/// Which random numbers: equal keys give equal tensors.
struct RandomKey {
  std::uint64_t seed = 0;
  std::uint32_t trial = 0;
  std::uint16_t tensor = 0;  ///< the tensor's number within the problem
  std::uint16_t rank = 0;    ///< 0 for replicated tensors
};

/// Fills a contiguous tensor of any place. Element i depends on (key, distribution, dtype, i) alone, and host
/// and cuda give the same bits: Philox-4x32-10 with key = seed and counter = (block of elements, tensor and
/// rank, trial), then IEEE additions, multiplications, divisions and square roots in fp64, rounded to the
/// dtype once.
void random_fill(Tensor& tensor, const Distribution& distribution, const RandomKey& key);

}  // namespace pkb::ref
