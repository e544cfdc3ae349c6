// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/layout.h"

#include <algorithm>

namespace pkb::judge {
namespace {

constexpr std::uint64_t kAlignment = 256;

}  // namespace

std::uint64_t bytes_of(const problem::Tensor& tensor) {
  std::uint64_t count = size_of(tensor.dtype);
  for (const std::int64_t extent : tensor.shape) count *= static_cast<std::uint64_t>(extent);
  return count;
}

Layout::Layout(const problem::Instance& instance, int rank) {
  const auto& mine = instance.tensors_of.at(static_cast<std::size_t>(rank));
  const auto place = [&](auto member, bool is_output) {
    for (std::size_t i = 0; i < (mine.*member).size(); ++i) {
      Slot slot{.tensor = &(mine.*member)[i], .is_output = is_output, .offset = bytes, .bytes_of = {}};
      for (const auto& theirs : instance.tensors_of) slot.bytes_of.push_back(bytes_of((theirs.*member)[i]));
      slot.bytes = slot.bytes_of[static_cast<std::size_t>(rank)];
      bytes += (std::ranges::max(slot.bytes_of) + kAlignment - 1) / kAlignment * kAlignment;
      slots.push_back(std::move(slot));
    }
  };
  place(&problem::Instance::Tensors::inputs, false);
  input_bytes = bytes;
  place(&problem::Instance::Tensors::outputs, true);
  bytes = std::max(bytes, kAlignment);
}

std::vector<worker::TensorPlace> Layout::places() const {
  std::vector<worker::TensorPlace> all;
  for (const Slot& slot : slots)
    all.push_back({.name = (slot.is_output ? "output " : "input ") + slot.tensor->name,
                   .role = slot.is_output        ? device::Role::output
                           : slot.tensor->in_out ? device::Role::in_out
                                                 : device::Role::input,
                   .dtype = slot.tensor->dtype,
                   .shape = slot.tensor->shape,
                   .offset = slot.offset,
                   .bytes_of = slot.bytes_of});
  return all;
}

}  // namespace pkb::judge
