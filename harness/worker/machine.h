// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/device/memory.h"
#include "harness/sandbox/system_calls.h"
#include "harness/timing/stopwatch.h"
#include "harness/worker/protocol.h"

namespace pkb::worker {

/// What differs between a worker with a virtual GPU and one with a real GPU; each executable links one.
class Machine {
 public:
  virtual ~Machine() = default;
  /// What a confined worker needs of the system for this device.
  virtual sandbox::Freedoms freedoms() const = 0;
  /// Makes memory that another process created a segment, at addresses of the device. @throws EnvironmentError
  virtual device::Segment import(FileDescriptor fd, std::size_t bytes) = 0;
  /// Tells the device what the candidate may touch: nothing else of a segment is memory to a virtual GPU.
  virtual void announce(std::byte* base, std::size_t bytes, const std::string& name, int owner, device::Role role) = 0;
  virtual void withdraw(std::byte* base) = 0;
  /// An address for multimem instructions that stands for the segments of all ranks; nothing where the device has
  /// none.
  virtual device::Segment multicast(const std::vector<device::Segment>& by_rank, const std::string& name) = 0;
  virtual void set_seed(std::uint64_t seed) = 0;
  /// Around the work of one run, whose beginning and end are those of its work on `stream`.
  virtual void begin_run(cudaStream_t stream) = 0;
  /// All of it is enqueued.
  virtual void run_returned() = 0;
  virtual void end_run() = 0;
  /// Runs `work`, which enqueues on `stream`, in step with the other ranks; nothing when the device failed. What `work`
  /// throws is thrown again. @throws EnvironmentError where nothing can be timed
  virtual std::optional<timing::Lap> time(std::uint32_t iteration, const timing::Delivery& inputs, cudaStream_t stream,
                                  const std::function<void()>& work) = 0;
  /// After all ranks have ended the run, and after all have reviewed it.
  virtual void review_run() = 0;
  virtual void forget_run() = 0;
  /// What the device found wrong since the last call, beyond what CUDA's error codes say.
  virtual std::vector<Trouble> take_troubles() = 0;
  virtual Counters take_counters() = 0;
};

/// `descriptors` came with the message. @throws EnvironmentError, InputError
std::unique_ptr<Machine> make_machine(const Hello& hello, std::vector<FileDescriptor> descriptors);

}  // namespace pkb::worker
