// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/exec/heap.h"

#include <bit>
#include <cstring>
#include <iterator>

#include <fmt/format.h>

#include "harness/virtual_gpu/exec/block.h"
#include "harness/virtual_gpu/exec/checks.h"
#include "harness/virtual_gpu/exec/control.h"

namespace pkb::virtual_gpu {

DeviceHeap::DeviceHeap(std::uint64_t base, std::uint64_t bytes)
    : x_lock((base + kAlignment - 1) / kAlignment * kAlignment) {
  const std::uint64_t begin = x_lock + kAlignment;
  if (begin < base + bytes) x_free.emplace(begin, base + bytes - begin);
}

std::uint64_t DeviceHeap::allocate(std::uint64_t bytes) {
  if (bytes > ~std::uint64_t{0} - kAlignment) return 0;
  const std::uint64_t rounded = bytes == 0 ? kAlignment : (bytes + kAlignment - 1) / kAlignment * kAlignment;
  const std::lock_guard lock(x_mutex);
  for (auto hole = x_free.begin(); hole != x_free.end(); ++hole) {
    if (hole->second < rounded) continue;
    const auto [address, size] = *hole;
    x_free.erase(hole);
    if (size > rounded) x_free.emplace(address + rounded, size - rounded);
    x_used.emplace(address, rounded);
    return address;
  }
  return 0;
}

bool DeviceHeap::release(std::uint64_t address) {
  const std::lock_guard lock(x_mutex);
  const auto used = x_used.find(address);
  if (used == x_used.end()) return false;
  auto hole = x_free.emplace(address, used->second).first;
  x_used.erase(used);
  if (const auto next = std::next(hole); next != x_free.end() && hole->first + hole->second == next->first) {
    hole->second += next->second;
    x_free.erase(next);
  }
  if (hole != x_free.begin())
    if (const auto before = std::prev(hole); before->first + before->second == hole->first) {
      before->second += hole->second;
      x_free.erase(hole);
    }
  return true;
}

namespace {

/// A lane's value of `place`, at most 8 bytes, in the caller's local memory.
std::byte* value_of(Warp& warp, int lane, const Kernel::Parameter& place) {
  return warp.local(lane, warp.frame().local_base + place.offset, place.bytes);
}

bool has_heap(Warp& warp, const Instruction& in) {
  if (warp.block().launch().heap) return true;
  warp.fault(in, warp.first_lane(), Fault::Kind::unsupported, 0, "malloc on a device that has no heap");
  return false;
}

}  // namespace

void call_malloc(Warp& warp, const Instruction& in) {
  if (!has_heap(warp, in)) return;
  warp.progress();
  release_before(warp, in);
  const CallList list(warp.block().kernel(), in);
  for (std::uint32_t left = warp.mask(); left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    const StrongAccess bracket(warp, in, ptx::Space::global, lane, warp.block().launch().heap->lock(), 4,
                               check::Access::Kind::update);
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, value_of(warp, lane, list.values[1]), sizeof bytes);
    const std::uint64_t address = warp.block().launch().heap->allocate(bytes);
    std::memcpy(value_of(warp, lane, list.values[0]), &address, sizeof address);
  }
}

void call_free(Warp& warp, const Instruction& in) {
  if (!has_heap(warp, in)) return;
  warp.progress();
  release_before(warp, in);
  const CallList list(warp.block().kernel(), in);
  for (std::uint32_t left = warp.mask(); left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    const StrongAccess bracket(warp, in, ptx::Space::global, lane, warp.block().launch().heap->lock(), 4,
                               check::Access::Kind::update);
    std::uint64_t address = 0;
    std::memcpy(&address, value_of(warp, lane, list.values[0]), sizeof address);
    if (address != 0 && !warp.block().launch().heap->release(address))
      return warp.fault(
          in, lane, Fault::Kind::illegal_address, address,
          fmt::format("free of {:#x}, which no malloc of device code returned or which was freed before",
                      address));
  }
}

}  // namespace pkb::virtual_gpu
