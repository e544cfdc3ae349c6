// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/check/report.h"

#include <fmt/format.h>

namespace pkb::virtual_gpu::check {
namespace {

Dim3 unflatten(std::uint64_t index, const std::uint32_t (&size)[3]) {
  const std::uint64_t x = std::max(size[0], 1u), y = std::max(size[1], 1u);
  return {static_cast<std::uint32_t>(index % x), static_cast<std::uint32_t>(index / x % y),
          static_cast<std::uint32_t>(index / (x * y))};
}

std::string coordinates(const Dim3& at) { return fmt::format("({},{},{})", at.x, at.y, at.z); }

Dim3 thread_at(const Ledger::Launch& launch, Thread thread) {
  // A copy that completes in a group is numbered by its warp; of those of an mbarrier any thread may be the issuer.
  const std::uint32_t agent = agent_of(thread);
  const std::uint32_t index = agent < kWarps              ? agent * 32 + lane_of(thread)
                              : agent >= kFirstGroupAgent ? lane_of(thread) * 32
                                                          : 0;
  return unflatten(index, launch.block);
}

}  // namespace

std::string place_text(const Ledger& ledger, PlaceId id) {
  const auto place = ledger.place(id);
  if (!place || place->line == 0) return {};
  return fmt::format("{}:{}{}{}", place->file, place->line, place->inner[0] == 0 ? "" : ", in ", place->inner);
}

std::string describe(const Ledger& ledger, Stamp stamp, PlaceId id) {
  const std::uint32_t block = block_of(stamp.thread());
  const auto launch = ledger.launch_of(block);
  const auto place = ledger.place(id);
  std::string what = stamp.writes() ? "a write" : "a read";
  if (place) what = fmt::format("{} ({})", what, place->opcode);
  if (!launch) return fmt::format("{} by rank {}", what, rank_of(block));
  const std::string line = place_text(ledger, id);
  std::string text = fmt::format("{} by rank {}, {}", what, rank_of(block), launch->name);
  if (!line.empty()) text += fmt::format(" ({})", line);
  if (!place) return text;
  return text + fmt::format(", block {}, thread {}", coordinates(unflatten(block - launch->first, launch->grid)),
                            coordinates(thread_at(*launch, stamp.thread())));
}

Fault fault_at(const Ledger& ledger, Fault::Kind kind, PlaceId id, Stamp stamp) {
  Fault fault;
  fault.kind = kind;
  const std::uint32_t block = block_of(stamp.thread());
  if (const auto launch = ledger.launch_of(block)) {
    fault.kernel = launch->name;
    if (fault.kernel.starts_with("kernel ")) fault.kernel.erase(0, 7);
    fault.block = unflatten(block - launch->first, launch->grid);
    fault.thread = thread_at(*launch, stamp.thread());
  }
  if (const auto place = ledger.place(id)) {
    fault.file = place->file;
    fault.line = place->line;
    fault.inner = place->inner;
  }
  return fault;
}

}  // namespace pkb::virtual_gpu::check
