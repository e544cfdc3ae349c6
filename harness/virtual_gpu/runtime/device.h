// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "harness/virtual_gpu/exec/exec.h"
#include "harness/virtual_gpu/exec/heap.h"
#include "harness/virtual_gpu/runtime/memory_table.h"
#include "harness/virtual_gpu/runtime/module.h"
#include "harness/virtual_gpu/schedule/engine.h"
#include "harness/virtual_gpu/schedule/status_page.h"
#include "harness/virtual_gpu/virtual_gpu.h"

namespace pkb::virtual_gpu {

class Capture;
struct GraphNode;

/// What a cudaStream_t points to.
struct StreamObject {
  StreamPtr stream;
  unsigned flags = cudaStreamDefault;
  int priority = 0;
  unsigned long long id = 0;
  std::shared_ptr<Capture> capture;  ///< while work is captured into a graph instead of being done
};

/// What a cudaEvent_t points to.
struct EventObject {
  unsigned flags = cudaEventDefault;
  Point point;  ///< of the last record
  /// Work done by the device when the event was reached.
  std::shared_ptr<std::uint64_t> stamp;
  std::shared_ptr<Capture> captured;       ///< that the last record was part of
  std::vector<GraphNode*> captured_after;  ///< what that record stands behind
};

/// The process's one virtual GPU: what the CUDA runtime functions act on.
class Device {
 public:
  explicit Device(const Setup& setup);

  const Setup& setup() const { return x_setup; }
  const Chip& chip() const { return x_chip; }
  MemoryTable& memory() { return x_table; }
  const MemoryTable& memory() const { return x_table; }
  ModuleTable& modules() { return x_modules; }
  Engine& engine() { return x_engine; }

  /// The stream that a handle means, also one of the three special ones; null for a handle that is none.
  std::shared_ptr<StreamObject> stream(cudaStream_t handle);
  cudaStream_t create_stream(unsigned flags, int priority);
  bool destroy_stream(cudaStream_t handle);

  /// Null for a handle that is none.
  std::shared_ptr<EventObject> event(cudaEvent_t handle);
  cudaEvent_t create_event(unsigned flags);
  bool is_legacy(const StreamObject& stream) const { return &stream == x_legacy.get(); }
  bool destroy_event(cudaEvent_t handle);

  /// Keeps a fault for take_faults(). The errors that follow from one stay until the device is reset.
  void report(const Fault& fault);
  void fail(const Fault& fault);
  cudaError_t sticky_error() const;
  std::vector<Fault> take_faults();

  /// Fault::unsupported for a call that the virtual GPU lacks.
  cudaError_t unsupported(const std::string& what);

  std::uint64_t next_launch_id() { return ++x_launch_ids; }

  void enable_checks(std::vector<std::byte*> ledgers);
  check::Checker* checker() { return x_checker.get(); }

  /// What malloc of device code takes from: allocated when the first kernel that calls it is launched; null when there
  /// is no memory for it.
  std::shared_ptr<DeviceHeap> heap();

  /// cudaDeviceReset.
  void reset();

 private:
  std::shared_ptr<StreamObject> new_stream(Stream::Kind kind, unsigned flags, int priority);

  const Setup x_setup;
  const Chip& x_chip;
  StatusPage x_status;  ///< for races; the engine writes the rest
  Memory x_memory;
  MemoryTable x_table;
  ModuleTable x_modules;

  mutable std::mutex x_mutex;
  std::unordered_map<cudaStream_t, std::shared_ptr<StreamObject>> x_streams;
  std::unordered_map<cudaEvent_t, std::shared_ptr<EventObject>> x_events;
  std::shared_ptr<StreamObject> x_legacy;
  unsigned long long x_stream_ids = 0;
  std::atomic<std::uint64_t> x_launch_ids = 0;
  std::vector<Fault> x_faults;
  cudaError_t x_sticky = cudaSuccess;

  std::unique_ptr<check::Checker> x_checker;
  std::shared_ptr<DeviceHeap> x_heap;
  Engine x_engine;  // last: its threads use what stands above
};

/// The device, made with the defaults of Setup if configure() was not called. It is never destroyed, since candidate code
/// that runs while the process exits still calls it.
Device& device();

/// The error that a fault becomes.
cudaError_t error_of(Fault::Kind kind);

}  // namespace pkb::virtual_gpu
