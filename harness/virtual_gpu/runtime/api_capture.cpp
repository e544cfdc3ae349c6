// SPDX-License-Identifier: Apache-2.0
// Stream capture.
#include <utility>

#include "harness/virtual_gpu/runtime/call.h"
#include "harness/virtual_gpu/runtime/capture.h"

using namespace pkb::virtual_gpu;

namespace {

template <class Body>
cudaError_t with_stream(cudaStream_t handle, Body&& body) {
  return call([&](Device& device) {
    const std::lock_guard lock(graphs().mutex());
    const auto stream = device.stream(handle);
    return stream ? body(device, stream) : cudaErrorInvalidResourceHandle;
  });
}

bool is_mode(cudaStreamCaptureMode mode) {
  return mode >= cudaStreamCaptureModeGlobal && mode <= cudaStreamCaptureModeRelaxed;
}

cudaError_t nodes_of(const cudaGraphNode_t* handles, std::size_t count, const Graph& graph,
                     std::vector<GraphNode*>& nodes) {
  if (count > 0 && handles == nullptr) return cudaErrorInvalidValue;
  for (std::size_t i = 0; i < count; ++i) {
    GraphNode* const node = graphs().node(handles[i]);
    if (node == nullptr || node->graph != &graph) return cudaErrorInvalidValue;
    nodes.push_back(node);
  }
  return cudaSuccess;
}

cudaStreamCaptureStatus status_of(const StreamObject& stream) {
  if (!stream.capture) return cudaStreamCaptureStatusNone;
  return stream.capture->is_valid() ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusInvalidated;
}

}  // namespace

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode mode) {
  return with_stream(handle, [&](Device& device, const std::shared_ptr<StreamObject>& stream) {
    if (!is_mode(mode)) return cudaErrorInvalidValue;
    const auto graph = std::make_shared<Graph>(graphs());
    const cudaError_t error = begin_capture(device, stream, graph, {}, mode);
    if (error == cudaSuccess) graphs().add(graph);
    return error;
  });
}

cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t handle, cudaGraph_t to, const cudaGraphNode_t* after,
                                          const cudaGraphEdgeData*, std::size_t count, cudaStreamCaptureMode mode) {
  return with_stream(handle, [&](Device& device, const std::shared_ptr<StreamObject>& stream) {
    const auto graph = graphs().graph(to);
    if (!is_mode(mode) || !graph) return cudaErrorInvalidValue;
    std::vector<GraphNode*> tail;
    if (const cudaError_t error = nodes_of(after, count, *graph, tail); error != cudaSuccess) return error;
    return begin_capture(device, stream, graph, std::move(tail), mode);
  });
}

cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t* to) {
  return with_stream(handle, [&](Device&, const std::shared_ptr<StreamObject>& stream) {
    if (to == nullptr) return cudaErrorInvalidValue;
    *to = nullptr;
    const auto capture = stream->capture;
    if (!capture) return cudaErrorIllegalState;
    const cudaError_t error = capture->end(*stream);
    const cudaGraph_t graph = handle_of(&capture->graph());
    if (error == cudaSuccess) *to = graph;
    if (error == cudaErrorStreamCaptureInvalidated || error == cudaErrorStreamCaptureUnjoined) graphs().destroy(graph);
    return error;
  });
}

cudaError_t cudaStreamIsCapturing(cudaStream_t handle, cudaStreamCaptureStatus* status) {
  return with_stream(handle, [&](Device& device, const std::shared_ptr<StreamObject>& stream) {
    if (status == nullptr) return cudaErrorInvalidValue;
    if (device.is_legacy(*stream)) {
      if (const cudaError_t error = check_capture(device, *stream); error != cudaSuccess) return error;
    }
    *status = status_of(*stream);
    return cudaSuccess;
  });
}

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t handle, cudaStreamCaptureStatus* status, unsigned long long* id,
                                     cudaGraph_t* graph, const cudaGraphNode_t** after,
                                     const cudaGraphEdgeData** edges, std::size_t* count) {
  return with_stream(handle, [&](Device&, const std::shared_ptr<StreamObject>& stream) {
    if (status == nullptr) return cudaErrorInvalidValue;
    *status = status_of(*stream);
    if (*status != cudaStreamCaptureStatusActive) return cudaSuccess;
    // A node's handle is its address, so the list of nodes is the list of handles.
    static_assert(sizeof(GraphNode*) == sizeof(cudaGraphNode_t));
    std::vector<GraphNode*>& tail = stream->capture->tail(*stream);
    if (id != nullptr) *id = stream->capture->id();
    if (graph != nullptr) *graph = handle_of(&stream->capture->graph());
    if (after != nullptr) *after = reinterpret_cast<const cudaGraphNode_t*>(tail.data());
    if (edges != nullptr) *edges = nullptr;
    if (count != nullptr) *count = tail.size();
    return cudaSuccess;
  });
}

cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t handle, cudaGraphNode_t* after, const cudaGraphEdgeData*,
                                                std::size_t count, unsigned flags) {
  return with_stream(handle, [&](Device&, const std::shared_ptr<StreamObject>& stream) {
    if (flags > cudaStreamSetCaptureDependencies) return cudaErrorInvalidValue;
    if (status_of(*stream) != cudaStreamCaptureStatusActive) return cudaErrorIllegalState;
    std::vector<GraphNode*> nodes;
    if (flags == cudaStreamAddCaptureDependencies) nodes = stream->capture->tail(*stream);
    if (const cudaError_t error = nodes_of(after, count, stream->capture->graph(), nodes); error != cudaSuccess) {
      return error;
    }
    stream->capture->tail(*stream) = std::move(nodes);
    return cudaSuccess;
  });
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  return call_always([&](Device&) {
    if (mode == nullptr || !is_mode(*mode)) return cudaErrorInvalidValue;
    *mode = exchange_capture_mode(*mode);
    return cudaSuccess;
  });
}
