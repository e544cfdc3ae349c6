// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/schedule/chip.h"

#include <algorithm>
#include <array>
#include <string>

#include "harness/error/error.h"

namespace pkb::virtual_gpu {
namespace {

constexpr std::size_t kGiB = std::size_t{1} << 30;
constexpr int kMiB = 1 << 20;

constexpr std::array kChips{
    Chip{.name = "h100", .product_name = "NVIDIA H100 80GB HBM3", .major = 9, .minor = 0, .sm_count = 132,
         .memory_bytes = 80 * kGiB, .l2_bytes = 50 * kMiB, .memory_bus_bits = 5120, .clock_khz = 1'980'000,
         .memory_clock_khz = 2'619'000, .gpc_sms = {16, 16, 16, 16, 16, 16, 18, 18}},
    Chip{.name = "h200", .product_name = "NVIDIA H200", .major = 9, .minor = 0, .sm_count = 132,
         .memory_bytes = 150'109'880'320, .l2_bytes = 60 * kMiB, .memory_bus_bits = 6016,
         .clock_khz = 1'980'000, .memory_clock_khz = 3'201'000,
         .gpc_sms = {16, 16, 16, 16, 16, 18, 18, 8, 2, 2, 2, 2}},
    Chip{.name = "b200", .product_name = "NVIDIA B200", .major = 10, .minor = 0, .sm_count = 148,
         .memory_bytes = 180 * kGiB, .l2_bytes = 126 * kMiB, .memory_bus_bits = 8192, .clock_khz = 1'965'000,
         .memory_clock_khz = 3'996'000, .gpc_sms = {18, 18, 18, 18, 18, 18, 20, 20}},
};

}  // namespace

const Chip& find_chip(std::string_view name) {
  const auto chip = std::ranges::find(kChips, name, &Chip::name);
  if (chip != kChips.end()) return *chip;
  std::string known;
  for (const Chip& each : kChips) known.append(known.empty() ? "" : ", ").append(each.name);
  throw InputError({.where = "chip of the virtual GPU",
                    .fault = "\"" + std::string(name) + "\" is unknown",
                    .remedy = "use one of " + known});
}

}  // namespace pkb::virtual_gpu
