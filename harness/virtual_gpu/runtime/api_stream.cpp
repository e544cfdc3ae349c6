// SPDX-License-Identifier: Apache-2.0
// Streams, events and functions of the host in a stream.
#include <algorithm>

#include "harness/virtual_gpu/runtime/call.h"
#include "harness/virtual_gpu/runtime/capture.h"

using namespace pkb::virtual_gpu;

namespace {

constexpr int kLeastPriority = 0, kGreatestPriority = -5;

// Runs body(device, stream) for a valid handle.
template <class Body>
cudaError_t with_stream(cudaStream_t handle, Body&& body) {
  return call([&](Device& device) {
    const auto stream = device.stream(handle);
    return stream ? body(device, *stream) : cudaErrorInvalidResourceHandle;
  });
}

template <class Body>
cudaError_t with_event(cudaEvent_t handle, Body&& body) {
  return call([&](Device& device) {
    const auto event = device.event(handle);
    return event ? body(device, *event) : cudaErrorInvalidResourceHandle;
  });
}

template <class Value>
cudaError_t give(Value* to, Value value) {
  if (to == nullptr) return cudaErrorInvalidValue;
  *to = value;
  return cudaSuccess;
}

// Events count work, not time: how long the instructions executed in between would take if every lane of the chip
// issued one per clock. Enough for programs that divide by it; `virtual` reports no times.
float milliseconds_of(const Chip& chip, std::uint64_t instructions) {
  constexpr double kLanesPerSm = 128;
  const double per_millisecond = chip.sm_count * kLanesPerSm * chip.clock_khz;
  return static_cast<float>(static_cast<double>(instructions) / per_millisecond);
}

}  // namespace

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
  return call([&](Device& device) {
    if (stream == nullptr || flags > cudaStreamNonBlocking) return cudaErrorInvalidValue;
    *stream = device.create_stream(flags, std::clamp(priority, kGreatestPriority, kLeastPriority));
    return cudaSuccess;
  });
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return cudaStreamCreateWithPriority(stream, flags, kLeastPriority);
}

cudaError_t cudaStreamCreate(cudaStream_t* stream) { return cudaStreamCreateWithFlags(stream, cudaStreamDefault); }

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return call([&](Device& device) {
    return device.destroy_stream(stream) ? cudaSuccess : cudaErrorInvalidResourceHandle;
  });
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  return with_stream(handle, [](Device& device, StreamObject& stream) {
    if (const cudaError_t error = check_not_capturing(stream); error != cudaSuccess) return error;
    if (const cudaError_t error = check_capture(device, stream); error != cudaSuccess) return error;
    device.engine().wait(device.engine().end_of(stream.stream));
    return device.sticky_error();
  });
}

cudaError_t cudaStreamQuery(cudaStream_t handle) {
  return with_stream(handle, [](Device& device, StreamObject& stream) {
    if (const cudaError_t error = check_not_capturing(stream); error != cudaSuccess) return error;
    if (const cudaError_t error = check_capture(device, stream); error != cudaSuccess) return error;
    return device.engine().idle(stream.stream) ? device.sticky_error() : cudaErrorNotReady;
  });
}

cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event_handle, unsigned flags) {
  return call([&](Device& device) {
    const auto stream = device.stream(handle);
    if (!stream) return cudaErrorInvalidResourceHandle;
    if (flags > cudaEventWaitExternal) return cudaErrorInvalidValue;
    return wait_for_event(device, stream, event_handle, flags == cudaEventWaitExternal);
  });
}

cudaError_t cudaStreamGetFlags(cudaStream_t handle, unsigned* flags) {
  return with_stream(handle, [&](Device&, StreamObject& stream) { return give(flags, stream.flags); });
}

cudaError_t cudaStreamGetPriority(cudaStream_t handle, int* priority) {
  return with_stream(handle, [&](Device&, StreamObject& stream) { return give(priority, stream.priority); });
}

cudaError_t cudaStreamGetId(cudaStream_t handle, unsigned long long* id) {
  return with_stream(handle, [&](Device&, StreamObject& stream) { return give(id, stream.id); });
}

cudaError_t cudaStreamGetDevice(cudaStream_t handle, int* index) {
  return with_stream(handle, [&](Device&, StreamObject&) { return give(index, 0); });
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return call([&](Device&) {
    if (least != nullptr) *least = kLeastPriority;
    if (greatest != nullptr) *greatest = kGreatestPriority;
    return cudaSuccess;
  });
}

// The attributes are hints, except for the priority, which the virtual GPU keeps and ignores as well.
cudaError_t cudaStreamSetAttribute(cudaStream_t handle, cudaStreamAttrID attribute, const cudaStreamAttrValue* value) {
  return with_stream(handle, [&](Device&, StreamObject& stream) {
    if (value == nullptr) return cudaErrorInvalidValue;
    if (attribute == cudaLaunchAttributePriority) stream.priority = value->priority;
    return cudaSuccess;
  });
}

cudaError_t cudaStreamGetAttribute(cudaStream_t handle, cudaStreamAttrID attribute, cudaStreamAttrValue* value) {
  return with_stream(handle, [&](Device&, StreamObject& stream) {
    if (value == nullptr) return cudaErrorInvalidValue;
    *value = {};
    if (attribute == cudaLaunchAttributePriority) value->priority = stream.priority;
    return cudaSuccess;
  });
}

cudaError_t cudaStreamCopyAttributes(cudaStream_t to, cudaStream_t from) {
  return with_stream(from, [&](Device& device, StreamObject&) {
    return device.stream(to) ? cudaSuccess : cudaErrorInvalidResourceHandle;
  });
}

cudaError_t cudaLaunchHostFunc(cudaStream_t handle, cudaHostFn_t function, void* data) {
  return with_stream(handle, [&](Device& device, StreamObject& stream) {
    if (function == nullptr) return cudaErrorInvalidValue;
    return enqueue(device, stream, HostFunction{function, data}).error;
  });
}

cudaError_t cudaStreamAddCallback(cudaStream_t handle, cudaStreamCallback_t callback, void* data, unsigned flags) {
  return with_stream(handle, [&](Device& device, StreamObject& stream) {
    if (callback == nullptr || flags != 0) return cudaErrorInvalidValue;
    if (const cudaError_t error = check_not_capturing(stream); error != cudaSuccess) return error;
    device.engine().submit(stream.stream, HostCall{[&device, handle, callback, data](bool) {
                             callback(handle, device.sticky_error(), data);
                           }});
    return cudaSuccess;
  });
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  constexpr unsigned kKnown = cudaEventBlockingSync | cudaEventDisableTiming | cudaEventInterprocess;
  return call([&](Device& device) {
    if (event == nullptr || (flags & ~kKnown) != 0) return cudaErrorInvalidValue;
    if ((flags & cudaEventInterprocess) != 0) return device.unsupported("events between processes");
    *event = device.create_event(flags);
    return cudaSuccess;
  });
}

cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, cudaEventDefault); }

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return call([&](Device& device) {
    return device.destroy_event(event) ? cudaSuccess : cudaErrorInvalidResourceHandle;
  });
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t handle, unsigned flags) {
  return with_stream(handle, [&](Device& device, StreamObject& stream) {
    if (flags > cudaEventRecordExternal) return cudaErrorInvalidValue;
    return record_event(device, stream, event, flags == cudaEventRecordExternal);
  });
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return cudaEventRecordWithFlags(event, stream, cudaEventRecordDefault);
}

cudaError_t cudaEventSynchronize(cudaEvent_t handle) {
  return with_event(handle, [](Device& device, EventObject& event) {
    if (event.captured) return cudaErrorCapturedEvent;
    device.engine().wait(event.point);
    return device.sticky_error();
  });
}

cudaError_t cudaEventQuery(cudaEvent_t handle) {
  return with_event(handle, [](Device& device, EventObject& event) {
    if (event.captured) return cudaErrorCapturedEvent;
    return device.engine().reached(event.point) ? device.sticky_error() : cudaErrorNotReady;
  });
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start_handle, cudaEvent_t end_handle) {
  return with_event(start_handle, [&](Device& device, EventObject& start) {
    const auto end = device.event(end_handle);
    if (milliseconds == nullptr) return cudaErrorInvalidValue;
    if (!end || !start.stamp || !end->stamp || ((start.flags | end->flags) & cudaEventDisableTiming) != 0) {
      return cudaErrorInvalidResourceHandle;
    }
    if (start.captured || end->captured) return cudaErrorCapturedEvent;
    if (!device.engine().reached(start.point) || !device.engine().reached(end->point)) return cudaErrorNotReady;
    *milliseconds = *end->stamp >= *start.stamp ? milliseconds_of(device.chip(), *end->stamp - *start.stamp)
                                                : -milliseconds_of(device.chip(), *start.stamp - *end->stamp);
    return cudaSuccess;
  });
}
