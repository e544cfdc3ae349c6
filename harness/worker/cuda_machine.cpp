// SPDX-License-Identifier: Apache-2.0
#include "harness/worker/machine.h"

namespace pkb::worker {
namespace {

class CudaMachine final : public Machine {
 public:
  explicit CudaMachine(int ordinal) : x_memory(device::cuda_memory(ordinal)) {}

  device::Segment import(FileDescriptor fd, std::size_t bytes) override {
    return x_memory->import(std::move(fd), bytes);
  }
  void announce(std::byte*, std::size_t, const std::string&, int, MemoryRole) override {}
  void withdraw(std::byte*) override {}
  device::Segment multicast(const std::vector<device::Segment>&, const std::string&) override { return {}; }
  void set_seed(std::uint64_t) override {}
  void begin_run() override {}
  void end_run() override {}
  void review_run() override {}
  void forget_run() override {}
  std::vector<Trouble> take_troubles() override { return {}; }
  Counters take_counters() override { return {}; }

 private:
  std::unique_ptr<device::Memory> x_memory;
};

}  // namespace

std::unique_ptr<Machine> make_machine(const Hello& hello, std::vector<FileDescriptor>) {
  return std::make_unique<CudaMachine>(hello.device);
}

}  // namespace pkb::worker
