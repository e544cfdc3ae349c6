// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/runtime/address_window.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "harness/error/error.h"

namespace pkb::virtual_gpu {

AddressWindow::AddressWindow() {
  void* const base = mmap(nullptr, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) {
    throw EnvironmentError({.where = "virtual GPU",
                            .fault = std::string("cannot reserve addresses for its memory: ") + std::strerror(errno),
                            .remedy = "lift the limit on address space (ulimit -v unlimited)"});
  }
  x_base = x_next = reinterpret_cast<std::uintptr_t>(base);
}

AddressWindow::~AddressWindow() { munmap(reinterpret_cast<void*>(x_base), kBytes); }

std::uint64_t AddressWindow::take(std::uint64_t bytes, std::uint64_t align) {
  if (bytes > kBytes) return 0;
  std::uint64_t base = room(x_next, x_base + kBytes, bytes, align);
  if (base == 0) base = room(x_base, x_next, bytes, align);
  if (base == 0) return 0;
  x_taken.emplace(base, base + bytes);
  x_next = base + bytes;
  return base;
}

// The first gap that is large enough among those that begin in [from, to].
std::uint64_t AddressWindow::room(std::uint64_t from, std::uint64_t to, std::uint64_t bytes,
                                  std::uint64_t align) const {
  auto next = x_taken.lower_bound(from);
  std::uint64_t start = from;
  if (next != x_taken.begin() && std::prev(next)->second > from) start = std::prev(next)->second;
  while (true) {
    const std::uint64_t base = (start + align - 1) / align * align;
    const std::uint64_t end = next == x_taken.end() ? x_base + kBytes : next->first;
    if (base <= end && bytes <= end - base) return base;
    if (next == x_taken.end() || next->first > to) return 0;
    start = next->second;
    ++next;
  }
}

void AddressWindow::give_back(std::uint64_t base) { x_taken.erase(base); }

}  // namespace pkb::virtual_gpu
