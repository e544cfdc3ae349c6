// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cstring>

#include "harness/device/memory.h"
#include "harness/error/error.h"
#include "harness/process/memory_file.h"

namespace pkb::device {
namespace {

[[noreturn]] void fail(const char* action, std::size_t bytes) {
  throw EnvironmentError({.where = "virtual device memory",
                          .fault = fmt::format("cannot {} {} bytes: {}", action, bytes, std::strerror(errno)),
                          .remedy = errno == ENOMEM ? "choose a smaller size or fewer ranks" : ""});
}

class VirtualMemory final : public Memory {
 public:
  explicit VirtualMemory(Beside beside) : x_beside(beside) {}

  Segment create(std::size_t bytes) override {
    FileDescriptor fd = process::memory_file(whole(bytes));
    if (!fd) fail("create", bytes);
    const int file = fd.get();
    return map(file, bytes, std::move(fd));
  }

  Segment import(FileDescriptor fd, std::size_t bytes) override {
    struct stat status {};
    if (::fstat(fd.get(), &status) != 0 || static_cast<std::size_t>(status.st_size) < whole(bytes)) {
      throw EnvironmentError(
          {.where = "virtual device memory",
           .fault = fmt::format("a peer's segment has {} bytes, not {}", status.st_size, whole(bytes)),
           .remedy = {}});
    }
    return map(fd.get(), bytes, {});
  }

  void read(std::span<std::byte> to, const std::byte* from) override {
    if (!to.empty()) std::memcpy(to.data(), from, to.size());
  }
  void write(std::byte* to, std::span<const std::byte> from) override {
    if (!from.empty()) std::memcpy(to, from.data(), from.size());
  }
  void fill(std::byte* to, std::byte value, std::size_t bytes) override {
    std::memset(to, std::to_integer<int>(value), bytes);
  }

 private:
  static constexpr std::size_t kPage = 4096;

  static std::size_t pages(std::size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }
  std::size_t whole(std::size_t bytes) const {
    return x_beside == Beside::nothing ? bytes : pages(bytes) + note_bytes(pages(bytes));
  }

  Segment map(int file, std::size_t bytes, FileDescriptor keep) const {
    const std::size_t size = whole(bytes);
    void* data = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
    if (data == MAP_FAILED) fail("map", size);
    Segment segment(data, bytes, std::move(keep), [data, size] { ::munmap(data, size); });
    if (x_beside == Beside::notes) segment.set_beside(static_cast<std::byte*>(data) + pages(bytes));
    return segment;
  }

  Beside x_beside;
};

}  // namespace

std::unique_ptr<Memory> virtual_memory(Beside beside) { return std::make_unique<VirtualMemory>(beside); }

}  // namespace pkb::device
