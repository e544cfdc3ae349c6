// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <thread>
#include <vector>

#include "harness/virtual_gpu/runtime/device.h"
#include "harness/virtual_gpu/runtime/graph.h"

/// Stream capture: what is put into streams becomes nodes of a graph. Errors are those of the CUDA runtime; most
/// also invalidate the capture.
namespace pkb::virtual_gpu {

/// One capture, from its begin on one stream to its end there, and the streams that joined it by an event.
class Capture {
 public:
  Capture(std::shared_ptr<Graph> graph, cudaStreamCaptureMode mode, unsigned long long id)
      : x_graph(std::move(graph)), x_mode(mode), x_id(id) {}

  Graph& graph() { return *x_graph; }
  unsigned long long id() const { return x_id; }
  bool is_valid() const { return x_valid; }
  void invalidate() { x_valid = false; }
  /// Whether calls that a capture cannot contain are errors in the calling thread.
  bool forbids_unsafe_calls() const;
  bool has_blocking_stream() const;

  void add_stream(const std::shared_ptr<StreamObject>& stream, std::vector<GraphNode*> tail);
  /// What the next node of a stream comes after.
  std::vector<GraphNode*>& tail(const StreamObject& stream) { return x_branches.at(&stream).tail; }
  cudaError_t append(const StreamObject& stream, Operation operation);

  /// Ends the capture for all its streams. Returns an error, or success when the graph is whole.
  cudaError_t end(const StreamObject& stream);
  /// The same whatever was captured.
  void abandon();

 private:
  struct Branch {
    std::shared_ptr<StreamObject> stream;
    std::vector<GraphNode*> tail;
  };
  bool is_joined(const StreamObject& origin) const;

  std::shared_ptr<Graph> x_graph;
  cudaStreamCaptureMode x_mode;
  unsigned long long x_id;
  std::thread::id x_thread = std::this_thread::get_id();
  const StreamObject* x_origin = nullptr;
  std::map<const StreamObject*, Branch> x_branches;
  bool x_valid = true;
};

/// Begins a capture of `stream` into `graph`, behind the nodes `tail`.
cudaError_t begin_capture(Device& device, const std::shared_ptr<StreamObject>& stream, std::shared_ptr<Graph> graph,
                          std::vector<GraphNode*> tail, cudaStreamCaptureMode mode);

/// Before work is put into `stream`.
cudaError_t check_capture(Device& device, const StreamObject& stream);
/// Before a call that waits for a stream or asks for its state.
cudaError_t check_not_capturing(const StreamObject& stream);
/// Before a call that may wait for work which is only being captured.
cudaError_t check_unsafe_call(Device& device);

/// cudaEventRecord and cudaStreamWaitEvent, in and outside captures.
cudaError_t record_event(Device& device, StreamObject& stream, cudaEvent_t handle, bool external);
cudaError_t wait_for_event(Device& device, const std::shared_ptr<StreamObject>& stream, cudaEvent_t handle,
                           bool external);

/// cudaThreadExchangeStreamCaptureMode.
cudaStreamCaptureMode exchange_capture_mode(cudaStreamCaptureMode mode);

/// Abandons all captures.
void forget_captures();

}  // namespace pkb::virtual_gpu
