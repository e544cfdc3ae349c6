// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/exec/memory.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace pkb::virtual_gpu {
namespace {

bool ends_before(std::uint64_t address, const Allocation& allocation) { return address < allocation.base; }

}  // namespace

void Memory::add(Allocation allocation) {
  const std::lock_guard lock(x_mutex);
  auto next = std::make_shared<Snapshot>(*x_snapshot);
  const auto after = std::upper_bound(next->begin(), next->end(), allocation.base, ends_before);
  const bool overlaps =
      (after != next->end() && allocation.base + allocation.bytes > after->base) ||
      (after != next->begin() && std::prev(after)->base + std::prev(after)->bytes > allocation.base);
  if (overlaps)
    throw std::invalid_argument("Memory::add: " + allocation.name + " overlaps another allocation");
  next->insert(after, std::move(allocation));
  x_snapshot = std::move(next);
  x_generation.fetch_add(1, std::memory_order_release);
}

bool Memory::remove(std::uint64_t base) {
  const std::lock_guard lock(x_mutex);
  const auto found = std::find_if(x_snapshot->begin(), x_snapshot->end(),
                                  [base](const Allocation& allocation) { return allocation.base == base; });
  if (found == x_snapshot->end()) return false;
  constexpr std::size_t kRemembered = 256;
  x_freed.push_back(*found);
  x_freed.back().shadow = nullptr;
  if (x_freed.size() > kRemembered) x_freed.pop_front();
  auto next = std::make_shared<Snapshot>(*x_snapshot);
  next->erase(next->begin() + (found - x_snapshot->begin()));
  x_snapshot = std::move(next);
  x_generation.fetch_add(1, std::memory_order_release);
  return true;
}

std::string Memory::freed(std::uint64_t address) const {
  const std::lock_guard lock(x_mutex);
  const auto found = std::find_if(x_freed.rbegin(), x_freed.rend(), [address](const Allocation& each) {
    return address - each.base < each.bytes;
  });
  return found == x_freed.rend() ? std::string() : found->name;
}

std::shared_ptr<const Memory::Snapshot> Memory::snapshot() const {
  const std::lock_guard lock(x_mutex);
  return x_snapshot;
}

const Allocation* Memory::find(const Snapshot& snapshot, std::uint64_t address) {
  const auto after = std::upper_bound(snapshot.begin(), snapshot.end(), address, ends_before);
  if (after == snapshot.begin()) return nullptr;
  const Allocation& candidate = *std::prev(after);
  return address - candidate.base < candidate.bytes ? &candidate : nullptr;
}

}  // namespace pkb::virtual_gpu
