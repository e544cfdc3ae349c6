// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>

#include "harness/process/file_descriptor.h"

/// Device memory that judges and workers share: segments that travel between processes as file descriptors.
namespace pkb::device {

/// A piece of device memory mapped into this process; unmapped when the object ends.
class Segment {
 public:
  Segment() = default;
  Segment(void* data, std::size_t bytes, FileDescriptor fd, std::function<void()> unmap)
      : x_data(data), x_bytes(bytes), x_fd(std::move(fd)), x_unmap(std::move(unmap)) {}
  Segment(Segment&& other) noexcept { *this = std::move(other); }
  Segment& operator=(Segment&& other) noexcept {
    std::swap(x_data, other.x_data);
    std::swap(x_bytes, other.x_bytes);
    std::swap(x_beside, other.x_beside);
    std::swap(x_fd, other.x_fd);
    std::swap(x_unmap, other.x_unmap);
    return *this;
  }
  ~Segment() {
    if (x_unmap) x_unmap();
  }

  std::byte* data() const { return static_cast<std::byte*>(x_data); }  ///< a device pointer
  /// The notes beside the memory, see Beside; null without.
  std::byte* beside() const { return x_beside; }
  void set_beside(std::byte* beside) { x_beside = beside; }
  std::size_t bytes() const { return x_bytes; }                        ///< as asked for, not rounded
  int fd() const { return x_fd.get(); }  ///< of a created segment; -1 of an imported one

 private:
  void* x_data = nullptr;
  std::size_t x_bytes = 0;
  std::byte* x_beside = nullptr;
  FileDescriptor x_fd;
  std::function<void()> x_unmap;
};

/// The memory of one device, virtual or real.
/// Every function throws EnvironmentError when the device or the system refuses.
class Memory {
 public:
  virtual ~Memory() = default;
  /// Zeroed memory that other processes can import through its descriptor.
  virtual Segment create(std::size_t bytes) = 0;
  /// Maps what another process created with the same number of bytes. Takes the descriptor.
  virtual Segment import(FileDescriptor fd, std::size_t bytes) = 0;
  /// Device to host, complete on return.
  virtual void read(std::span<std::byte> to, const std::byte* from) = 0;
  /// Host to device, complete on return.
  virtual void write(std::byte* to, std::span<const std::byte> from) = 0;
  virtual void fill(std::byte* to, std::byte value, std::size_t bytes) = 0;
};

/// What travels with a segment of virtual memory: room for the virtual GPU's notes about accesses. Zeroed, and nothing
/// until it is touched. Who creates and who imports a segment must agree.
enum class Beside : std::uint8_t { nothing, notes };
/// Room for notes about `bytes` of memory.
constexpr std::size_t note_bytes(std::size_t bytes) { return (bytes + 31) / 32 * 40; }

/// Memory of virtual GPUs: sealed anonymous files, shared mappings.
std::unique_ptr<Memory> virtual_memory(Beside beside = Beside::nothing);

/// Memory of the real GPU `ordinal`: exportable virtual memory management handles.
/// Makes the device current in the calling thread.
std::unique_ptr<Memory> cuda_memory(int ordinal);

}  // namespace pkb::device
