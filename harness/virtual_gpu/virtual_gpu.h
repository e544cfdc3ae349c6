// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "harness/device/role.h"
#include "harness/virtual_gpu/exec/exec.h"

struct CUstream_st;  // cudaStream_t points to one

/// The virtual GPU as its worker process sees it. The CUDA runtime functions are exported beside these; a
/// process has one virtual device.
namespace pkb::virtual_gpu {

struct Setup {
  std::string chip = "h200";
  int rank = 0, ranks = 1;
  int threads = 1;          ///< host threads that execute blocks
  std::uint64_t seed = 0;   ///< of the schedule
  /// Shared with the judge: where the device publishes its state; may be null.
  struct Status* status = nullptr;
};
/// Before any CUDA call. @throws InputError for an unknown chip.
void configure(const Setup& setup);

/// What the judges may read at any time (in memory shared with them; the candidate could write it, so it explains
/// a hang but never makes one pass).
struct Status {
  std::uint64_t progress;   ///< grows whenever something happens that can change memory
  std::uint64_t looks;      ///< grows whenever the device begins to look at all that its blocks wait for
  std::uint32_t polling;    ///< 1: work is pending and every resident block only polls
  std::uint32_t launches;   ///< kernels started
  std::uint32_t host_waits; ///< 1: the program waits for the device, so it will not launch what ends the polling
  std::uint64_t kept_from_processor;  ///< ns in the present phase, as the rank's judge finds
  char waits[4000];         ///< NUL-terminated description of the waiting blocks while polling
  char races[4000];         ///< NUL-terminated, a line each: those of the present run, in case it never ends
};

/// Gives bytes of this process that are shared with others addresses of the device, which host code cannot access.
/// The bytes stay mapped by the caller. @throws std::bad_alloc
void* map_memory(void* bytes_here, std::size_t bytes);
void unmap_memory(void* base);
/// An address that stands, in multimem instructions, for `bytes` bytes at each of `replicas`: mapped memory of every
/// rank, in order. What of it is accessible register_memory says. @throws std::bad_alloc
void* map_multicast(const std::vector<void*>& replicas, std::size_t bytes, const std::string& name);
void unmap_multicast(void* base);
/// Whether the device's memory, and nothing else, may have this address. Safe in signal handlers.
bool is_device_address(const void* address);

/// Makes a part of mapped memory accessible to kernels and copies, `base` being its address on the device.
void register_memory(void* base, std::size_t bytes, const std::string& name, int owner);
/// The same, for checks: `sectors` is memory of all ranks of check::sector_bytes(bytes), zeroed at first; the checks keep
/// there what they know about accesses.
struct Watched {
  device::Role role = device::Role::symmetric;
  void* sectors = nullptr;
};
void register_memory(void* base, std::size_t bytes, const std::string& name, int owner, const Watched& watched);
void unregister_memory(void* base);

/// Looks for races, uninitialised reads and late writes from now on. Memory of check::Ledger::kBytes per rank, zeroed
/// at first, mapped by all ranks and by this process for ever.
void enable_checks(std::vector<std::byte*> ledgers);
/// Between these two launches belong to one run, before and after which all ranks are idle. No more than bounds are
/// checked outside, and without enable_checks.
/// With a `stream`, inputs count as there for what is ordered behind that, and outputs as complete with what is before
/// its end.
void begin_run(CUstream_st* stream = nullptr);
/// The host has enqueued all work of the run.
void run_returned();
void end_run();
/// After a run, when all ranks have ended it: adds what only now can be told to the faults.
void review_run();
/// When all ranks have reviewed it: forgets the run.
void forget_run();

/// Faults since the last call, first first.
std::vector<Fault> take_faults();
/// Sum over all finished launches since the last call.
Counters take_counters();
/// Changes the schedule's seed for launches from now on.
void set_seed(std::uint64_t seed);

}  // namespace pkb::virtual_gpu
