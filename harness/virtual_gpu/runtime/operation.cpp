// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/runtime/operation.h"

#include <utility>

#include "harness/virtual_gpu/runtime/capture.h"

namespace pkb::virtual_gpu {
namespace {

class Performer {
 public:
  Performer(Device& device, const StreamPtr& stream, std::vector<Point> after)
      : x_device(device), x_stream(stream), x_after(std::move(after)) {}

  Enqueued operator()(const Nothing&) { return submit(DeviceWork{}); }
  Enqueued operator()(const KernelCall& call) {
    Launch work = call.work;
    if (const cudaError_t error = complete(x_device, call.request, work); error != cudaSuccess) return {error};
    return submit(std::move(work));
  }
  Enqueued operator()(const Copy& copy) {
    const HostCopy here = on_host(x_device, copy);
    if (here.error != cudaSuccess) return {here.error};
    return submit(DeviceWork{[here] { here.run(); }, "a copy by the host", touching(here.touches(x_device))});
  }
  Enqueued operator()(const Fill& fill) {
    const HostFill here = on_host(x_device, fill);
    if (here.error != cudaSuccess) return {here.error};
    return submit(DeviceWork{[here] { here.run(); }, "a memset by the host", touching(here.touches(x_device))});
  }
  Enqueued operator()(const HostFunction& host) {
    return submit(HostCall{[host](bool failed) {
      if (!failed) host.function(host.data);
    }});
  }
  Enqueued operator()(const EventRecord& record) {
    const auto stamp = std::make_shared<std::uint64_t>();
    Device& device = x_device;
    const Enqueued done = submit(DeviceWork{[&device, stamp] { *stamp = device.engine().work_done(); }});
    record.event->stamp = stamp;
    record.event->point = done.end;
    return done;
  }
  Enqueued operator()(const EventWait& wait) {
    if (wait.event->point.stream) x_after.push_back(wait.event->point);
    return submit(DeviceWork{});
  }
  Enqueued operator()(const LibraryCall& call) {
    const auto touches = touching({});
    return submit(DeviceWork{[call, touches] { *touches = call.run(); }, call.name, touches});
  }
  Enqueued operator()(const ChildGraph&) { return {cudaErrorNotSupported}; }

 private:
  using Touches = std::vector<check::Checker::Touch>;
  static std::shared_ptr<Touches> touching(Touches touches) { return std::make_shared<Touches>(std::move(touches)); }
  Enqueued submit(Work work) {
    return {cudaSuccess, x_device.engine().submit(x_stream, std::move(work), std::move(x_after))};
  }

  Device& x_device;
  const StreamPtr& x_stream;
  std::vector<Point> x_after;
};

}  // namespace

Enqueued perform(Device& device, const StreamPtr& stream, const Operation& operation, std::vector<Point> after) {
  return std::visit(Performer(device, stream, std::move(after)), operation);
}

Enqueued enqueue(Device& device, StreamObject& stream, Operation operation) {
  if (const cudaError_t error = check_capture(device, stream); error != cudaSuccess) return {error};
  if (!stream.capture) return perform(device, stream.stream, operation);
  return {stream.capture->append(stream, std::move(operation))};
}

}  // namespace pkb::virtual_gpu
