// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/runtime/capture.h"

#include <algorithm>
#include <atomic>
#include <utility>

namespace pkb::virtual_gpu {
namespace {

thread_local cudaStreamCaptureMode thread_mode = cudaStreamCaptureModeGlobal;

// Guarded by the mutex of the graphs. The count spares calls that no capture concerns the mutex.
std::vector<std::shared_ptr<Capture>> captures;
std::atomic<int> capture_count = 0;
unsigned long long capture_ids = 0;

cudaError_t invalidate(Capture& capture, cudaError_t error) {
  capture.invalidate();
  return error;
}

}  // namespace

bool Capture::forbids_unsafe_calls() const {
  const bool own = x_thread == std::this_thread::get_id();
  switch (thread_mode) {
    case cudaStreamCaptureModeGlobal:
      return own ? x_mode != cudaStreamCaptureModeRelaxed : x_mode == cudaStreamCaptureModeGlobal;
    case cudaStreamCaptureModeThreadLocal: return own && x_mode != cudaStreamCaptureModeRelaxed;
    case cudaStreamCaptureModeRelaxed: return false;
  }
  return false;
}

bool Capture::has_blocking_stream() const {
  return std::ranges::any_of(
      x_branches, [](const auto& branch) { return branch.second.stream->stream->kind == Stream::Kind::blocking; });
}

void Capture::add_stream(const std::shared_ptr<StreamObject>& stream, std::vector<GraphNode*> tail) {
  if (x_origin == nullptr) x_origin = stream.get();
  x_branches.emplace(stream.get(), Branch{stream, std::move(tail)});
}

cudaError_t Capture::append(const StreamObject& stream, Operation operation) {
  const std::lock_guard lock(graphs().mutex());
  if (!x_valid) return cudaErrorStreamCaptureInvalidated;
  std::vector<GraphNode*>& last = tail(stream);
  last = {x_graph->add(std::move(operation), last)};
  return cudaSuccess;
}

// Whether all that was captured comes before the end of the stream where it began.
bool Capture::is_joined(const StreamObject& origin) const {
  std::unordered_set<const GraphNode*> reached;
  std::vector<const GraphNode*> left(x_branches.at(&origin).tail.begin(), x_branches.at(&origin).tail.end());
  while (!left.empty()) {
    const GraphNode* const node = left.back();
    left.pop_back();
    if (reached.insert(node).second) left.insert(left.end(), node->after.begin(), node->after.end());
  }
  return std::ranges::all_of(x_branches, [&](const auto& branch) {
    return std::ranges::all_of(branch.second.tail, [&](const GraphNode* node) { return reached.contains(node); });
  });
}

cudaError_t Capture::end(const StreamObject& stream) {
  if (x_origin != &stream) {
    invalidate();
    return cudaErrorStreamCaptureUnmatched;
  }
  if (x_mode != cudaStreamCaptureModeRelaxed && x_thread != std::this_thread::get_id()) {
    return cudaErrorStreamCaptureWrongThread;
  }
  const bool joined = is_joined(stream);
  std::erase_if(captures, [this](const auto& each) { return each.get() == this; });
  capture_count = static_cast<int>(captures.size());
  const bool valid = x_valid;
  abandon();
  if (!valid) return cudaErrorStreamCaptureInvalidated;
  return joined ? cudaSuccess : cudaErrorStreamCaptureUnjoined;
}

void Capture::abandon() {
  x_valid = false;
  for (auto& [handle, branch] : std::exchange(x_branches, {})) branch.stream->capture.reset();
}

cudaError_t begin_capture(Device& device, const std::shared_ptr<StreamObject>& stream, std::shared_ptr<Graph> graph,
                          std::vector<GraphNode*> tail, cudaStreamCaptureMode mode) {
  if (device.is_legacy(*stream)) return cudaErrorStreamCaptureUnsupported;
  if (stream->capture) return cudaErrorIllegalState;
  auto capture = std::make_shared<Capture>(std::move(graph), mode, ++capture_ids);
  capture->add_stream(stream, std::move(tail));
  stream->capture = capture;
  captures.push_back(std::move(capture));
  capture_count = static_cast<int>(captures.size());
  return cudaSuccess;
}

cudaError_t check_capture(Device& device, const StreamObject& stream) {
  if (capture_count == 0) return cudaSuccess;
  const std::lock_guard lock(graphs().mutex());
  if (stream.capture) return stream.capture->is_valid() ? cudaSuccess : cudaErrorStreamCaptureInvalidated;
  if (!device.is_legacy(stream)) return cudaSuccess;
  // Work of the legacy stream would come after that of the streams which are captured.
  for (const auto& capture : captures) {
    if (capture->has_blocking_stream()) return invalidate(*capture, cudaErrorStreamCaptureImplicit);
  }
  return cudaSuccess;
}

cudaError_t check_not_capturing(const StreamObject& stream) {
  return stream.capture ? invalidate(*stream.capture, cudaErrorStreamCaptureUnsupported) : cudaSuccess;
}

cudaError_t check_unsafe_call(Device&) {
  if (capture_count == 0) return cudaSuccess;
  const std::lock_guard lock(graphs().mutex());
  for (const auto& capture : captures) {
    if (capture->forbids_unsafe_calls()) return invalidate(*capture, cudaErrorStreamCaptureUnsupported);
  }
  return cudaSuccess;
}

cudaError_t record_event(Device& device, StreamObject& stream, cudaEvent_t handle, bool external) {
  const auto event = device.event(handle);
  if (!event) return cudaErrorInvalidResourceHandle;
  if (!stream.capture || external) {
    if (!stream.capture) event->captured.reset();
    return enqueue(device, stream, EventRecord{handle, event}).error;
  }
  const std::lock_guard lock(graphs().mutex());
  if (!stream.capture->is_valid()) return cudaErrorStreamCaptureInvalidated;
  event->captured = stream.capture;
  event->captured_after = stream.capture->tail(stream);
  return cudaSuccess;
}

cudaError_t wait_for_event(Device& device, const std::shared_ptr<StreamObject>& stream, cudaEvent_t handle,
                           bool external) {
  const auto event = device.event(handle);
  if (!event) return cudaErrorInvalidResourceHandle;
  const bool in_capture = event->captured != nullptr && !external;
  if (!in_capture && (!stream->capture || external)) return enqueue(device, *stream, EventWait{handle, event}).error;

  const std::lock_guard lock(graphs().mutex());
  if (!in_capture) {  // what the graph would wait for is no part of it
    return event->point.stream ? invalidate(*stream->capture, cudaErrorStreamCaptureIsolation) : cudaSuccess;
  }
  Capture& from = *event->captured;
  if (!from.is_valid()) return stream->capture ? cudaErrorStreamCaptureInvalidated : cudaErrorCapturedEvent;
  if (stream->capture && stream->capture != event->captured) {
    stream->capture->invalidate();
    return invalidate(from, cudaErrorStreamCaptureMerge);
  }
  if (device.is_legacy(*stream)) return invalidate(from, cudaErrorStreamCaptureImplicit);
  if (!stream->capture) {
    stream->capture = event->captured;
    from.add_stream(stream, event->captured_after);
    return cudaSuccess;
  }
  std::vector<GraphNode*>& tail = from.tail(*stream);
  for (GraphNode* node : event->captured_after) {
    if (std::ranges::find(tail, node) == tail.end()) tail.push_back(node);
  }
  return cudaSuccess;
}

cudaStreamCaptureMode exchange_capture_mode(cudaStreamCaptureMode mode) { return std::exchange(thread_mode, mode); }

void forget_captures() {
  const std::lock_guard lock(graphs().mutex());
  for (const auto& capture : std::exchange(captures, {})) capture->abandon();
  capture_count = 0;
}

}  // namespace pkb::virtual_gpu
