// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>

namespace pkb::virtual_gpu {

/// Addresses of the device's own memory: a range of this process's addresses that is reserved and never accessible,
/// so that host code which takes a device pointer for its own dies there as it does with a real GPU.
/// Guarded by its user.
class AddressWindow {
 public:
  AddressWindow();
  ~AddressWindow();
  AddressWindow(const AddressWindow&) = delete;
  AddressWindow& operator=(const AddressWindow&) = delete;

  /// The start of `bytes` free addresses on a boundary of `align`, a power of two; 0 when there is no such room.
  /// Released addresses come back as late as possible, so that uses after a free hit nothing.
  std::uint64_t take(std::uint64_t bytes, std::uint64_t align);
  /// `base` is what `take` returned.
  void give_back(std::uint64_t base);
  bool contains(std::uint64_t address) const { return address - x_base < kBytes; }

 private:
  static constexpr std::uint64_t kBytes = std::uint64_t{8} << 40;

  std::uint64_t room(std::uint64_t from, std::uint64_t to, std::uint64_t bytes, std::uint64_t align) const;

  std::uint64_t x_base = 0, x_next = 0;
  std::map<std::uint64_t, std::uint64_t> x_taken;  ///< base and end
};

}  // namespace pkb::virtual_gpu
