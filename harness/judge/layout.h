// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "harness/problem/problem.h"
#include "harness/worker/protocol.h"

namespace pkb::judge {

/// Where one tensor of a problem lies in the tensor segment, the same on every rank.
struct Slot {
  const problem::Tensor* tensor;  ///< as this rank sees it
  bool is_output = false;
  std::uint64_t offset = 0;
  std::vector<std::uint64_t> bytes_of;  ///< by rank
  std::uint64_t bytes = 0;              ///< on this rank
};

/// The tensors of one instance: inputs then outputs. Holds pointers into the instance.
struct Layout {
  Layout(const problem::Instance& instance, int rank);
  std::vector<Slot> slots;
  std::uint64_t input_bytes = 0;  ///< of the part that holds the inputs
  std::uint64_t bytes = 0;        ///< of the whole segment

  std::vector<worker::TensorPlace> places() const;
};

std::uint64_t bytes_of(const problem::Tensor& tensor);

}  // namespace pkb::judge
