// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/schedule/occupancy.h"

#include <algorithm>
#include <limits>

namespace pkb::virtual_gpu {
namespace {

template <class Integer>
constexpr Integer round_up(Integer value, Integer unit) {
  return (value + unit - 1) / unit * unit;
}

std::uint32_t registers_per_warp(const Chip& chip, const BlockShape& shape) {
  return round_up<std::uint32_t>(shape.registers_per_thread * 32, static_cast<std::uint32_t>(chip.register_unit));
}

}  // namespace

Occupancy occupancy(const Chip& chip, const BlockShape& shape) {
  const auto warps = static_cast<std::uint32_t>((shape.threads + 31) / 32);
  const auto shared = round_up<std::uint64_t>(shape.shared + static_cast<std::uint64_t>(chip.reserved_shared),
                                              static_cast<std::uint64_t>(chip.shared_unit));
  // A sub-partition of the SM has registers of its own and no warp straddles two, so what is left over when
  // it holds as many warps as fit is of no use to anyone.
  const auto partition = static_cast<std::uint32_t>(chip.registers_per_sm / chip.sub_partitions);
  const std::uint32_t fit = partition / std::max(registers_per_warp(chip, shape), 1u);
  return {.warps = warps,
          .registers = fit == 0 ? std::numeric_limits<std::uint32_t>::max() : warps * (partition / fit),
          .shared = static_cast<std::uint32_t>(shared)};
}

int blocks_per_sm(const Chip& chip, const BlockShape& shape) {
  const auto threads_limit = static_cast<std::uint64_t>(chip.max_block_threads);
  if (shape.threads == 0 || shape.threads > threads_limit) return 0;
  if (shape.shared > static_cast<std::uint64_t>(chip.shared_per_block)) return 0;
  if (shape.registers_per_thread > most_registers(chip, shape.threads)) return 0;
  const Occupancy needs = occupancy(chip, shape);
  const auto fit = [](int have, std::uint32_t need) { return static_cast<int>(static_cast<std::uint32_t>(have) / need); };
  return std::min({chip.blocks_per_sm, fit(chip.warps_per_sm, needs.warps),
                   fit(chip.registers_per_sm, needs.registers), fit(chip.shared_per_sm, needs.shared)});
}

int active_clusters(const Chip& chip, const BlockShape& shape, std::uint64_t size) {
  const auto per_sm = static_cast<std::uint64_t>(blocks_per_sm(chip, shape));
  std::uint64_t clusters = 0;
  for (const int sms : chip.gpc_sms) {
    if (holds_cluster(static_cast<std::size_t>(sms), size)) clusters += static_cast<std::uint64_t>(sms) * per_sm / size;
  }
  return static_cast<int>(clusters);
}

std::uint32_t most_registers(const Chip& chip, std::uint64_t threads) {
  // The hardware's check of one block counts as if its warps were spread over all sub-partitions.
  const auto warps = round_up<std::uint64_t>((threads + 31) / 32, static_cast<std::uint64_t>(chip.sub_partitions));
  const auto unit = static_cast<std::uint64_t>(chip.register_unit);
  const std::uint64_t per_warp = static_cast<std::uint64_t>(chip.registers_per_block) / warps / unit * unit;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(per_warp / 32, 255));
}

std::uint32_t registers_per_thread(const Chip& chip, const Kernel& kernel) {
  return std::min({kernel.registers_per_thread, kernel.max_registers,
                   most_registers(chip, kernel.promised_threads)});
}

BlockShape shape_of(const Chip& chip, const Kernel& kernel, std::uint64_t threads, std::uint64_t dynamic_shared) {
  return {.threads = threads,
          .registers_per_thread = std::min(registers_per_thread(chip, kernel), most_registers(chip, threads)),
          .shared = kernel.static_shared + dynamic_shared};
}

}  // namespace pkb::virtual_gpu
