// SPDX-License-Identifier: Apache-2.0
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <iterator>
#include <map>
#include <string_view>

#include "harness/error/error.h"
#include "harness/virtual_gpu/check/ledger.h"
#include "harness/virtual_gpu/check/shadow.h"
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

void on_segmentation_fault(int signal, siginfo_t* info, void*) {
  constexpr std::string_view kText =
      "host code touched device memory: only kernels and the CUDA copy functions may use such a pointer\n";
  if (virtual_gpu::is_device_address(info->si_addr))
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, kText.data(), kText.size());
  ::signal(signal, SIG_DFL);  // the access is repeated and ends the process
}

/// A pointer to device memory that host code follows ends the worker; its last words say why.
void explain_segmentation_faults() {
  struct sigaction action {};
  action.sa_sigaction = on_segmentation_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  ::sigaction(SIGSEGV, &action, nullptr);
}

Trouble::Kind kind_of(const virtual_gpu::Fault& fault) {
  using Kind = virtual_gpu::Fault::Kind;
  switch (fault.kind) {
    case Kind::unsupported:
      return Trouble::Kind::unsupported;
    case Kind::illegal_address:
    case Kind::misaligned:
    case Kind::trap:
    case Kind::assertion:
    case Kind::barrier_divergence:
    case Kind::invalid_instruction:
      return Trouble::Kind::fault;
    case Kind::uninitialised:
    case Kind::input_written:
      return Trouble::Kind::memory_fault;
    case Kind::race:
    case Kind::late_write:
      return Trouble::Kind::race;
  }
  return Trouble::Kind::fault;
}

class VirtualMachine final : public Machine {
 public:
  VirtualMachine(const Hello& hello, std::vector<FileDescriptor> descriptors)
      : x_memory(device::virtual_memory(descriptors.size() > 1 ? device::Beside::notes : device::Beside::nothing)) {
    const FileDescriptor status = descriptors.empty() ? FileDescriptor() : std::move(descriptors.front());
    virtual_gpu::configure({.chip = hello.chip,
                            .rank = hello.rank,
                            .ranks = hello.ranks,
                            .threads = hello.threads,
                            .seed = 0,
                            .status = status ? map_status(status) : nullptr});
    explain_segmentation_faults();
    if (descriptors.size() <= 1) return;
    std::vector<std::byte*> ledgers;
    const auto pages = device::virtual_memory();
    for (std::size_t i = 1; i < descriptors.size(); ++i) {
      x_ledgers.push_back(pages->import(std::move(descriptors[i]), virtual_gpu::check::Ledger::kBytes));
      ledgers.push_back(x_ledgers.back().data());
    }
    virtual_gpu::enable_checks(std::move(ledgers));
  }

  sandbox::Freedoms freedoms() const override { return {}; }
  device::Segment import(FileDescriptor fd, std::size_t bytes) override {
    auto here = std::make_shared<device::Segment>(x_memory->import(std::move(fd), bytes));
    void* const base = virtual_gpu::map_memory(here->data(), bytes);
    if (here->beside() != nullptr) x_notes[static_cast<std::byte*>(base)] = here->beside();
    return device::Segment(base, bytes, {}, [this, here, base] {
      x_notes.erase(static_cast<std::byte*>(base));
      virtual_gpu::unmap_memory(base);
    });
  }
  void announce(std::byte* base, std::size_t bytes, const std::string& name, int owner, device::Role role) override {
    virtual_gpu::register_memory(base, bytes, name, owner,
                                 {.role = role, .sectors = notes_of(base)});
  }
  void withdraw(std::byte* base) override { virtual_gpu::unregister_memory(base); }
  device::Segment multicast(const std::vector<device::Segment>& by_rank, const std::string& name) override {
    std::vector<void*> replicas;
    for (const device::Segment& each : by_rank) replicas.push_back(each.data());
    const std::size_t bytes = by_rank.front().bytes();
    void* const base = virtual_gpu::map_multicast(replicas, bytes, name);
    return device::Segment(base, bytes, {}, [base] { virtual_gpu::unmap_multicast(base); });
  }
  void set_seed(std::uint64_t seed) override { virtual_gpu::set_seed(seed); }
  void begin_run(cudaStream_t stream) override { virtual_gpu::begin_run(stream); }
  void run_returned() override { virtual_gpu::run_returned(); }
  void end_run() override { virtual_gpu::end_run(); }
  std::optional<timing::Lap> time(std::uint32_t, const timing::Delivery&, cudaStream_t, const std::function<void()>&) override {
    throw EnvironmentError({.where = "virtual GPU", .fault = "it has no time", .remedy = {}});
  }
  void review_run() override { virtual_gpu::review_run(); }
  void forget_run() override { virtual_gpu::forget_run(); }

  std::vector<Trouble> take_troubles() override {
    std::vector<Trouble> troubles;
    for (const virtual_gpu::Fault& fault : virtual_gpu::take_faults())
      troubles.push_back({.kind = kind_of(fault), .text = virtual_gpu::to_string(fault)});
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
  void* notes_of(const std::byte* base) const {
    const auto after = x_notes.upper_bound(base);
    if (after == x_notes.begin()) return nullptr;
    const auto& [segment, notes] = *std::prev(after);
    static_assert(device::note_bytes(1) == virtual_gpu::check::sector_bytes(1) && device::note_bytes(4096) == virtual_gpu::check::sector_bytes(4096));
    return notes + device::note_bytes(static_cast<std::size_t>(base - segment));
  }

  std::unique_ptr<device::Memory> x_memory;
  std::vector<device::Segment> x_ledgers;
  std::map<const std::byte*, std::byte*> x_notes;  ///< of the segments, by their addresses on the device
};

}  // namespace

std::unique_ptr<Machine> make_machine(const Hello& hello, std::vector<FileDescriptor> descriptors) {
  return std::make_unique<VirtualMachine>(hello, std::move(descriptors));
}

}  // namespace pkb::worker
