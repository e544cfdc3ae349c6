// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>

#include <cstring>

#include "harness/error/error.h"
#include "harness/virtual_gpu/virtual_gpu.h"
#include "harness/worker/machine.h"

namespace pkb::worker {
namespace {

/// Mapped for the life of the process.
virtual_gpu::Status* map_status(const FileDescriptor& file) {
  void* const page =
      ::mmap(nullptr, sizeof(virtual_gpu::Status), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (page == MAP_FAILED)
    throw EnvironmentError({.where = "status page", .fault = std::strerror(errno), .remedy = {}});
  return static_cast<virtual_gpu::Status*>(page);
}

class VirtualMachine final : public Machine {
 public:
  VirtualMachine(const Hello& hello, const FileDescriptor& status) : x_memory(device::virtual_memory()) {
    virtual_gpu::configure({.chip = hello.chip,
                            .rank = hello.rank,
                            .ranks = hello.ranks,
                            .threads = hello.threads,
                            .seed = 0,
                            .status = status ? map_status(status) : nullptr});
  }

  device::Memory& memory() override { return *x_memory; }
  void announce(std::byte* base, std::size_t bytes, const std::string& name, int owner) override {
    virtual_gpu::register_memory(base, bytes, name, owner);
  }
  void withdraw(std::byte* base) override { virtual_gpu::unregister_memory(base); }
  void set_seed(std::uint64_t seed) override { virtual_gpu::set_seed(seed); }

  std::vector<Trouble> take_troubles() override {
    std::vector<Trouble> troubles;
    for (const virtual_gpu::Fault& fault : virtual_gpu::take_faults())
      troubles.push_back({.kind = fault.kind == virtual_gpu::Fault::Kind::unsupported
                                      ? Trouble::Kind::unsupported
                                      : Trouble::Kind::fault,
                          .text = virtual_gpu::to_string(fault)});
    return troubles;
  }

  Counters take_counters() override {
    virtual_gpu::Counters counted = virtual_gpu::take_counters();
    return {.lane_instructions = counted.lane_instructions,
            .warp_instructions = counted.warp_instructions,
            .global_read = counted.global_read,
            .global_written = counted.global_written,
            .shared_read = counted.shared_read,
            .shared_written = counted.shared_written,
            .read_from = std::move(counted.read_from),
            .written_to = std::move(counted.written_to)};
  }

 private:
  std::unique_ptr<device::Memory> x_memory;
};

}  // namespace

std::unique_ptr<Machine> make_machine(const Hello& hello, FileDescriptor status) {
  return std::make_unique<VirtualMachine>(hello, status);
}

}  // namespace pkb::worker
