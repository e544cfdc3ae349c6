// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>

#include <cstring>

#include "harness/error/error.h"
#include "harness/worker/machine.h"

namespace pkb::worker {
namespace {

/// Mapped for the life of the process.
timing::StartLine& map_start_line(const FileDescriptor& file) {
  void* const page =
      ::mmap(nullptr, sizeof(timing::StartLine), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (page == MAP_FAILED)
    throw EnvironmentError({.where = "start line", .fault = std::strerror(errno), .remedy = {}});
  return *static_cast<timing::StartLine*>(page);
}

class CudaMachine final : public Machine {
 public:
  CudaMachine(const Hello& hello, std::vector<FileDescriptor> descriptors)
      : x_memory(device::cuda_memory(hello.device)) {
    if (!descriptors.empty())
      x_stopwatch = std::make_unique<timing::Stopwatch>(map_start_line(descriptors.front()), hello.rank);
  }

  sandbox::Freedoms freedoms() const override { return {.driver = true}; }
  device::Segment import(FileDescriptor fd, std::size_t bytes) override {
    return x_memory->import(std::move(fd), bytes);
  }
  void announce(std::byte*, std::size_t, const std::string&, int, device::Role) override {}
  void withdraw(std::byte*) override {}
  device::Segment multicast(const std::vector<device::Segment>&, const std::string&) override { return {}; }
  void set_seed(std::uint64_t) override {}
  void begin_run(cudaStream_t) override {}
  void run_returned() override {}
  void end_run() override {}
  std::optional<timing::Lap> time(std::uint32_t iteration, const timing::Delivery& inputs, cudaStream_t stream,
                          const std::function<void()>& work) override {
    if (!x_stopwatch)
      throw EnvironmentError({.where = "worker", .fault = "the judge has sent no start line", .remedy = {}});
    return x_stopwatch->time(iteration, inputs, stream, work);
  }
  void review_run() override {}
  void forget_run() override {}
  std::vector<Trouble> take_troubles() override { return {}; }
  Counters take_counters() override { return {}; }

 private:
  std::unique_ptr<device::Memory> x_memory;
  std::unique_ptr<timing::Stopwatch> x_stopwatch;
};

}  // namespace

std::unique_ptr<Machine> make_machine(const Hello& hello, std::vector<FileDescriptor> descriptors) {
  return std::make_unique<CudaMachine>(hello, std::move(descriptors));
}

}  // namespace pkb::worker
