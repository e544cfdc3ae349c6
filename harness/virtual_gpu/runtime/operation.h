// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <variant>
#include <vector>

#include "harness/virtual_gpu/runtime/copy.h"
#include "harness/virtual_gpu/runtime/device.h"
#include "harness/virtual_gpu/runtime/launch.h"

/// What the application puts into streams and graphs.
namespace pkb::virtual_gpu {

class Graph;

struct Nothing {};
struct KernelCall {
  LaunchRequest request;  ///< without arguments: those are in `work`
  Launch work;
};
struct HostFunction {
  cudaHostFn_t function = nullptr;
  void* data = nullptr;
};
struct EventRecord {
  cudaEvent_t handle = nullptr;
  std::shared_ptr<EventObject> event;
};
struct EventWait {
  cudaEvent_t handle = nullptr;
  std::shared_ptr<EventObject> event;
};
struct ChildGraph {
  std::shared_ptr<Graph> graph;
};
/// Work of a library that stands in for one of the device's: graphs take it for a kernel.
struct LibraryCall {
  std::string name;
  std::function<std::vector<check::Checker::Touch>()> run;  ///< returns what it has accessed
};
using Operation =
    std::variant<Nothing, KernelCall, Copy, Fill, HostFunction, EventRecord, EventWait, ChildGraph, LibraryCall>;

struct Enqueued {
  cudaError_t error = cudaSuccess;
  Point end = {};  ///< behind the operation; nowhere when it was captured
};

/// Submits an operation, which is checked against the memory as it is now. Not for child graphs.
Enqueued perform(Device& device, const StreamPtr& stream, const Operation& operation, std::vector<Point> after = {});

/// Puts an operation into a stream: into its graph while the stream is being captured, else it is performed.
Enqueued enqueue(Device& device, StreamObject& stream, Operation operation);

}  // namespace pkb::virtual_gpu
