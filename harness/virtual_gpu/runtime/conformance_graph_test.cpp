// SPDX-License-Identifier: Apache-2.0
// Graphs, captured and made by hand, on any CUDA device.
#include <array>
#include <vector>

#include "harness/virtual_gpu/runtime/conformance.h"
#include "harness/virtual_gpu/runtime/conformance_kernels.h"

namespace {

using namespace pkb::virtual_gpu::conformance;

using Captures = Cuda;
using Graphs = Cuda;

/// A graph and what was instantiated from it; both are destroyed with it.
struct Instance {
  explicit Instance(cudaGraph_t made) : graph(made) {
    EXPECT_CUDA(cudaGraphInstantiate(&exec, graph, 0));
  }
  ~Instance() {
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
  }
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  void launch(cudaStream_t stream) const { EXPECT_CUDA(cudaGraphLaunch(exec, stream)); }

  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
};

struct Event {
  Event() { cudaEventCreateWithFlags(&handle, cudaEventDisableTiming); }
  ~Event() { cudaEventDestroy(handle); }
  cudaEvent_t handle = nullptr;
};

std::size_t node_count(cudaGraph_t graph) {
  std::size_t count = 0;
  EXPECT_CUDA(cudaGraphGetNodes(graph, nullptr, &count));
  return count;
}

std::size_t edge_count(cudaGraph_t graph) {
  std::size_t count = 0;
  EXPECT_CUDA(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &count));
  return count;
}

cudaGraph_t end_capture(const Stream& stream) {
  cudaGraph_t graph = nullptr;
  EXPECT_CUDA(cudaStreamEndCapture(stream.handle, &graph));
  return graph;
}

TEST_F(Captures, AreReplayedWithTheArgumentsOfTheirTime) {
  constexpr int kCount = 1000;
  const DeviceArray<float> data(std::vector<float>(kCount, 1));
  float* pinned = nullptr;
  ASSERT_CUDA(cudaMallocHost(reinterpret_cast<void**>(&pinned), kCount * sizeof(float)));
  pinned[0] = pinned[kCount - 1] = -1;
  const Stream stream;
  ASSERT_CUDA(cudaStreamBeginCapture(stream.handle, cudaStreamCaptureModeGlobal));
  float factor = 3;
  KERNELS(scale)(data.get(), factor, 1, kCount, stream.handle);
  factor = 100;  // too late
  ASSERT_CUDA(cudaMemcpyAsync(pinned, data.get(), kCount * sizeof(float), cudaMemcpyDeviceToHost, stream.handle));
  const Instance instance(end_capture(stream));
  EXPECT_EQ(node_count(instance.graph), 2u);
  ASSERT_CUDA(cudaDeviceSynchronize());
  EXPECT_EQ(pinned[0], -1);  // so far nothing has run
  EXPECT_EQ(data.values(), std::vector<float>(kCount, 1));
  for (const float expected : {4.f, 13.f, 40.f}) {
    instance.launch(stream.handle);
    ASSERT_CUDA(cudaStreamSynchronize(stream.handle));
    EXPECT_EQ(pinned[0], expected);
    EXPECT_EQ(pinned[kCount - 1], expected);
  }
  EXPECT_CUDA(cudaFreeHost(pinned));
}

TEST_F(Captures, FollowEventsToOtherStreams) {
  constexpr int kCount = 2000;
  const DeviceArray<unsigned> source(kCount), left(kCount), right(kCount), target(kCount);
  const Stream first, second;
  const Event fork, join;
  ASSERT_CUDA(cudaStreamBeginCapture(first.handle, cudaStreamCaptureModeGlobal));
  KERNELS(fill_slowly)(source.get(), 5, kCount, first.handle);
  ASSERT_CUDA(cudaEventRecord(fork.handle, first.handle));
  ASSERT_CUDA(cudaStreamWaitEvent(second.handle, fork.handle, 0));
  cudaStreamCaptureStatus status;
  ASSERT_CUDA(cudaStreamIsCapturing(second.handle, &status));
  EXPECT_EQ(status, cudaStreamCaptureStatusActive);
  KERNELS(copy)(source.get(), left.get(), kCount, first.handle);
  KERNELS(copy)(source.get(), right.get(), kCount, second.handle);
  ASSERT_CUDA(cudaEventRecord(join.handle, second.handle));
  ASSERT_CUDA(cudaStreamWaitEvent(first.handle, join.handle, 0));
  KERNELS(copy)(right.get(), target.get(), kCount, first.handle);
  const Instance instance(end_capture(first));
  ASSERT_CUDA(cudaStreamIsCapturing(second.handle, &status));
  EXPECT_EQ(status, cudaStreamCaptureStatusNone);
  EXPECT_EQ(node_count(instance.graph), 4u);
  EXPECT_EQ(edge_count(instance.graph), 4u);
  ASSERT_CUDA(cudaDeviceSynchronize());  // the arrays are zeroed on another stream
  instance.launch(second.handle);
  ASSERT_CUDA(cudaStreamSynchronize(second.handle));
  EXPECT_EQ(target.values(), std::vector<unsigned>(kCount, 5));
  EXPECT_EQ(left.values(), std::vector<unsigned>(kCount, 5));
}

TEST_F(Captures, BranchesRunSideBySide) {
  const DeviceArray<unsigned> flag(1), seen(1);
  const Stream waits, sets;
  const Event fork, join;
  ASSERT_CUDA(cudaDeviceSynchronize());
  ASSERT_CUDA(cudaStreamBeginCapture(waits.handle, cudaStreamCaptureModeRelaxed));
  ASSERT_CUDA(cudaEventRecord(fork.handle, waits.handle));
  ASSERT_CUDA(cudaStreamWaitEvent(sets.handle, fork.handle, 0));
  KERNELS(wait_for)(flag.get(), 9, seen.get(), waits.handle);
  KERNELS(set_flag)(flag.get(), 9, sets.handle);
  ASSERT_CUDA(cudaEventRecord(join.handle, sets.handle));
  ASSERT_CUDA(cudaStreamWaitEvent(waits.handle, join.handle, 0));
  const Instance instance(end_capture(waits));
  instance.launch(waits.handle);
  ASSERT_CUDA(cudaStreamSynchronize(waits.handle));
  EXPECT_EQ(seen.values()[0], 1u);
}

TEST_F(Captures, MustBeJoined) {
  const DeviceArray<unsigned> flag(1);
  const Stream first, second;
  const Event fork;
  ASSERT_CUDA(cudaStreamBeginCapture(first.handle, cudaStreamCaptureModeGlobal));
  ASSERT_CUDA(cudaEventRecord(fork.handle, first.handle));
  ASSERT_CUDA(cudaStreamWaitEvent(second.handle, fork.handle, 0));
  KERNELS(set_flag)(flag.get(), 1, second.handle);
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(second.handle, &graph), cudaErrorStreamCaptureUnmatched);
  EXPECT_EQ(cudaStreamEndCapture(first.handle, &graph), cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(graph, nullptr);
  cudaGetLastError();
}

TEST_F(Captures, MustHaveEndedWhereTheyBegan) {
  const DeviceArray<unsigned> flag(1);
  const Stream first, second;
  const Event fork;
  ASSERT_CUDA(cudaStreamBeginCapture(first.handle, cudaStreamCaptureModeGlobal));
  ASSERT_CUDA(cudaEventRecord(fork.handle, first.handle));
  ASSERT_CUDA(cudaStreamWaitEvent(second.handle, fork.handle, 0));
  KERNELS(set_flag)(flag.get(), 1, second.handle);
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(first.handle, &graph), cudaErrorStreamCaptureUnjoined);
  EXPECT_EQ(graph, nullptr);
  cudaGetLastError();
}

TEST_F(Captures, CannotContainWaits) {
  const DeviceArray<unsigned> flag(1);
  const Stream stream;
  cudaGraph_t graph = nullptr;
  ASSERT_CUDA(cudaStreamBeginCapture(stream.handle, cudaStreamCaptureModeGlobal));
  EXPECT_EQ(cudaStreamBeginCapture(stream.handle, cudaStreamCaptureModeGlobal), cudaErrorIllegalState);
  KERNELS(set_flag)(flag.get(), 1, stream.handle);
  EXPECT_EQ(cudaStreamSynchronize(stream.handle), cudaErrorStreamCaptureUnsupported);
  cudaStreamCaptureStatus status;
  ASSERT_CUDA(cudaStreamIsCapturing(stream.handle, &status));
  EXPECT_EQ(status, cudaStreamCaptureStatusInvalidated);
  EXPECT_EQ(cudaStreamEndCapture(stream.handle, &graph), cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(graph, nullptr);
  EXPECT_EQ(cudaStreamEndCapture(stream.handle, &graph), cudaErrorIllegalState);
  cudaGetLastError();
}

TEST_F(Captures, ForbidAllocationsUnlessRelaxed) {
  const Stream stream;
  cudaGraph_t graph = nullptr;
  void* memory = nullptr;
  ASSERT_CUDA(cudaStreamBeginCapture(stream.handle, cudaStreamCaptureModeGlobal));
  EXPECT_EQ(cudaMalloc(&memory, 64), cudaErrorStreamCaptureUnsupported);
  EXPECT_EQ(cudaStreamEndCapture(stream.handle, &graph), cudaErrorStreamCaptureInvalidated);

  ASSERT_CUDA(cudaStreamBeginCapture(stream.handle, cudaStreamCaptureModeRelaxed));
  EXPECT_CUDA(cudaMalloc(&memory, 64));
  ASSERT_CUDA(cudaMemsetAsync(memory, 0, 64, stream.handle));
  EXPECT_CUDA(cudaStreamEndCapture(stream.handle, &graph));
  EXPECT_CUDA(cudaGraphDestroy(graph));

  ASSERT_CUDA(cudaStreamBeginCapture(stream.handle, cudaStreamCaptureModeGlobal));
  auto mode = cudaStreamCaptureModeRelaxed;
  ASSERT_CUDA(cudaThreadExchangeStreamCaptureMode(&mode));
  EXPECT_EQ(mode, cudaStreamCaptureModeGlobal);
  EXPECT_CUDA(cudaFree(memory));
  ASSERT_CUDA(cudaThreadExchangeStreamCaptureMode(&mode));
  EXPECT_CUDA(cudaStreamEndCapture(stream.handle, &graph));
  EXPECT_EQ(node_count(graph), 0u);
  EXPECT_CUDA(cudaGraphDestroy(graph));
  cudaGetLastError();
}

TEST_F(Captures, DoNotMixWithOtherWork) {
  const DeviceArray<unsigned> flag(1);
  const Stream captured, other, blocking(cudaStreamDefault);
  const Event outside, inside;
  cudaGraph_t graph = nullptr;
  ASSERT_CUDA(cudaEventRecord(outside.handle, other.handle));
  ASSERT_CUDA(cudaStreamBeginCapture(captured.handle, cudaStreamCaptureModeGlobal));
  EXPECT_EQ(cudaStreamWaitEvent(captured.handle, outside.handle, 0), cudaErrorStreamCaptureIsolation);
  EXPECT_EQ(cudaStreamEndCapture(captured.handle, &graph), cudaErrorStreamCaptureInvalidated);

  ASSERT_CUDA(cudaStreamBeginCapture(captured.handle, cudaStreamCaptureModeGlobal));
  ASSERT_CUDA(cudaStreamBeginCapture(other.handle, cudaStreamCaptureModeGlobal));
  ASSERT_CUDA(cudaEventRecord(inside.handle, captured.handle));
  EXPECT_EQ(cudaStreamWaitEvent(other.handle, inside.handle, 0), cudaErrorStreamCaptureMerge);
  EXPECT_EQ(cudaStreamEndCapture(other.handle, &graph), cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(cudaStreamEndCapture(captured.handle, &graph), cudaErrorStreamCaptureInvalidated);

  ASSERT_CUDA(cudaStreamBeginCapture(blocking.handle, cudaStreamCaptureModeGlobal));
  EXPECT_EQ(cudaMemsetAsync(flag.get(), 0, 4, nullptr), cudaErrorStreamCaptureImplicit);
  EXPECT_EQ(cudaStreamEndCapture(blocking.handle, &graph), cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeGlobal), cudaErrorStreamCaptureUnsupported);
  cudaGetLastError();
}

TEST_F(Captures, TellWhatTheNextNodeComesAfter) {
  const DeviceArray<unsigned> flag(1);
  const Stream stream;
  ASSERT_CUDA(cudaStreamBeginCapture(stream.handle, cudaStreamCaptureModeGlobal));
  KERNELS(set_flag)(flag.get(), 1, stream.handle);
  cudaStreamCaptureStatus status;
  unsigned long long id = 0;
  cudaGraph_t graph = nullptr;
  const cudaGraphNode_t* after = nullptr;
  const cudaGraphEdgeData* edges = nullptr;
  std::size_t count = 0;
  ASSERT_CUDA(cudaStreamGetCaptureInfo(stream.handle, &status, &id, &graph, &after, &edges, &count));
  EXPECT_EQ(status, cudaStreamCaptureStatusActive);
  EXPECT_NE(id, 0u);
  ASSERT_EQ(count, 1u);
  cudaGraphNode_t extra = nullptr;
  ASSERT_CUDA(cudaGraphAddEmptyNode(&extra, graph, after, 1));
  ASSERT_CUDA(cudaStreamUpdateCaptureDependencies(stream.handle, &extra, nullptr, 1, cudaStreamSetCaptureDependencies));
  KERNELS(set_flag)(flag.get(), 2, stream.handle);
  const Instance instance(end_capture(stream));
  EXPECT_EQ(node_count(instance.graph), 3u);
  EXPECT_EQ(edge_count(instance.graph), 2u);
}

/// A kernel node that runs data[i] = data[i] * factor + offset.
class ScaleNode {
 public:
  ScaleNode(float* data, float factor, float offset, int n) : x_data(data), x_factor(factor), x_offset(offset), x_n(n) {}

  cudaKernelNodeParams parameters() {
    return {.func = const_cast<void*>(KERNELS(scale_function)()),
            .gridDim = dim3(1),
            .blockDim = dim3(static_cast<unsigned>(x_n)),
            .sharedMemBytes = 0,
            .kernelParams = x_arguments.data(),
            .extra = nullptr};
  }

 private:
  float* x_data;
  float x_factor, x_offset;
  int x_n;
  std::array<void*, 4> x_arguments{&x_data, &x_factor, &x_offset, &x_n};
};

TEST_F(Graphs, OfEveryKindOfNode) {
  constexpr int kCount = 64;
  const DeviceArray<float> data(kCount);
  const DeviceArray<unsigned> words(kCount);
  std::vector<float> on_host(kCount, 2);
  const Stream stream;
  cudaGraph_t graph = nullptr, child = nullptr;
  ASSERT_CUDA(cudaGraphCreate(&graph, 0));

  cudaGraphNode_t upload = nullptr, kernel = nullptr, fill = nullptr, host = nullptr, join = nullptr, record = nullptr,
                  inner = nullptr, download = nullptr;
  ASSERT_CUDA(cudaGraphAddMemcpyNode1D(&upload, graph, nullptr, 0, data.get(), on_host.data(), kCount * sizeof(float),
                                       cudaMemcpyHostToDevice));
  ScaleNode scale(data.get(), 10, 1, kCount);
  cudaKernelNodeParams kernel_parameters = scale.parameters();
  ASSERT_CUDA(cudaGraphAddKernelNode(&kernel, graph, &upload, 1, &kernel_parameters));
  const cudaMemsetParams fill_parameters{
      .dst = words.get(), .pitch = 0, .value = 0x5678, .elementSize = 2, .width = kCount, .height = 1};
  ASSERT_CUDA(cudaGraphAddMemsetNode(&fill, graph, nullptr, 0, &fill_parameters));
  int calls = 0;
  const cudaHostNodeParams host_parameters{.fn = [](void* count) { ++*static_cast<int*>(count); }, .userData = &calls};
  ASSERT_CUDA(cudaGraphAddHostNode(&host, graph, &fill, 1, &host_parameters));
  const std::array ends{kernel, host};
  ASSERT_CUDA(cudaGraphAddEmptyNode(&join, graph, ends.data(), ends.size()));
  const Event reached;
  ASSERT_CUDA(cudaGraphAddEventRecordNode(&record, graph, &join, 1, reached.handle));
  ASSERT_CUDA(cudaGraphCreate(&child, 0));
  ScaleNode again(data.get(), 1, 0.5, kCount);
  cudaKernelNodeParams again_parameters = again.parameters();
  cudaGraphNode_t child_kernel = nullptr;
  ASSERT_CUDA(cudaGraphAddKernelNode(&child_kernel, child, nullptr, 0, &again_parameters));
  ASSERT_CUDA(cudaGraphAddChildGraphNode(&inner, graph, &record, 1, child));
  ASSERT_CUDA(cudaGraphDestroy(child));  // the node has a copy
  std::vector<float> result(kCount);
  ASSERT_CUDA(cudaGraphAddMemcpyNode1D(&download, graph, &inner, 1, result.data(), data.get(), kCount * sizeof(float),
                                       cudaMemcpyDeviceToHost));

  cudaGraphNodeType type;
  ASSERT_CUDA(cudaGraphNodeGetType(inner, &type));
  EXPECT_EQ(type, cudaGraphNodeTypeGraph);
  std::size_t count = 0;
  ASSERT_CUDA(cudaGraphGetRootNodes(graph, nullptr, &count));
  EXPECT_EQ(count, 2u);
  ASSERT_CUDA(cudaGraphNodeGetDependencies(join, nullptr, nullptr, &count));
  EXPECT_EQ(count, 2u);
  std::array<cudaGraphNode_t, 4> behind{};
  count = behind.size();
  ASSERT_CUDA(cudaGraphNodeGetDependentNodes(record, behind.data(), nullptr, &count));
  EXPECT_EQ(count, 1u);
  EXPECT_EQ(behind[0], inner);

  const Instance instance(graph);
  ASSERT_CUDA(cudaDeviceSynchronize());  // the arrays are zeroed on another stream
  instance.launch(stream.handle);
  ASSERT_CUDA(cudaStreamSynchronize(stream.handle));
  EXPECT_EQ(result, std::vector<float>(kCount, 21.5));
  const auto halves = words.values();
  EXPECT_EQ(halves[0], 0x56785678u);
  EXPECT_EQ(halves[kCount / 2 - 1], 0x56785678u);
  EXPECT_EQ(halves[kCount / 2], 0u);
  EXPECT_EQ(calls, 1);
  EXPECT_CUDA(cudaEventQuery(reached.handle));
}

TEST_F(Graphs, TakeNewParameters) {
  constexpr int kCount = 32;
  const DeviceArray<float> data(std::vector<float>(kCount, 1)), other(std::vector<float>(kCount, 1));
  const Stream stream;
  cudaGraph_t graph = nullptr;
  ASSERT_CUDA(cudaGraphCreate(&graph, 0));
  ScaleNode scale(data.get(), 2, 0, kCount);
  cudaKernelNodeParams parameters = scale.parameters();
  cudaGraphNode_t node = nullptr;
  ASSERT_CUDA(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &parameters));
  const Instance instance(graph);

  cudaKernelNodeParams told{};
  ASSERT_CUDA(cudaGraphKernelNodeGetParams(node, &told));
  EXPECT_EQ(told.func, parameters.func);
  EXPECT_EQ(told.blockDim.x, 32u);
  EXPECT_EQ(*static_cast<float*>(told.kernelParams[1]), 2);

  ScaleNode changed(other.get(), 3, 4, kCount);
  cudaKernelNodeParams new_parameters = changed.parameters();
  ASSERT_CUDA(cudaGraphExecKernelNodeSetParams(instance.exec, node, &new_parameters));
  instance.launch(stream.handle);
  ASSERT_CUDA(cudaStreamSynchronize(stream.handle));
  EXPECT_EQ(data.values()[0], 1);
  EXPECT_EQ(other.values()[31], 7);

  ASSERT_CUDA(cudaGraphNodeSetEnabled(instance.exec, node, 0));
  instance.launch(stream.handle);
  ASSERT_CUDA(cudaStreamSynchronize(stream.handle));
  EXPECT_EQ(other.values()[31], 7);
  unsigned enabled = 7;
  ASSERT_CUDA(cudaGraphNodeGetEnabled(instance.exec, node, &enabled));
  EXPECT_EQ(enabled, 0u);
}

TEST_F(Graphs, TakeOverAnotherOfTheSameShape) {
  const DeviceArray<float> data(std::vector<float>(32, 1));
  const Stream stream;
  const auto capture = [&](float factor, bool twice) {
    EXPECT_CUDA(cudaStreamBeginCapture(stream.handle, cudaStreamCaptureModeGlobal));
    KERNELS(scale)(data.get(), factor, 0, 32, stream.handle);
    if (twice) KERNELS(scale)(data.get(), factor, 0, 32, stream.handle);
    return end_capture(stream);
  };
  const Instance instance(capture(2, false));
  const cudaGraph_t same = capture(5, false), longer = capture(5, true);
  cudaGraphExecUpdateResultInfo result{};
  EXPECT_EQ(cudaGraphExecUpdate(instance.exec, longer, &result), cudaErrorGraphExecUpdateFailure);
  EXPECT_EQ(result.result, cudaGraphExecUpdateErrorTopologyChanged);
  cudaGetLastError();
  ASSERT_CUDA(cudaGraphExecUpdate(instance.exec, same, &result));
  EXPECT_EQ(result.result, cudaGraphExecUpdateSuccess);
  instance.launch(stream.handle);
  ASSERT_CUDA(cudaStreamSynchronize(stream.handle));
  EXPECT_EQ(data.values()[0], 5);
  EXPECT_CUDA(cudaGraphDestroy(same));
  EXPECT_CUDA(cudaGraphDestroy(longer));
}

TEST_F(Graphs, CannotBeLaunchedIntoACapture) {
  const DeviceArray<float> data(std::vector<float>(32, 1));
  const Stream stream;
  ASSERT_CUDA(cudaStreamBeginCapture(stream.handle, cudaStreamCaptureModeGlobal));
  KERNELS(scale)(data.get(), 2, 0, 32, stream.handle);
  const Instance inner(end_capture(stream));
  ASSERT_CUDA(cudaStreamBeginCapture(stream.handle, cudaStreamCaptureModeGlobal));
  EXPECT_EQ(cudaGraphLaunch(inner.exec, stream.handle), cudaErrorStreamCaptureUnsupported);
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(stream.handle, &graph), cudaErrorStreamCaptureInvalidated);
  cudaGetLastError();
}

TEST_F(Graphs, RefuseWhatMakesNoSense) {
  const DeviceArray<float> data(32);
  cudaGraph_t graph = nullptr, elsewhere = nullptr;
  ASSERT_CUDA(cudaGraphCreate(&graph, 0));
  ASSERT_CUDA(cudaGraphCreate(&elsewhere, 0));
  cudaGraphNode_t a = nullptr, b = nullptr, c = nullptr;
  ASSERT_CUDA(cudaGraphAddEmptyNode(&a, graph, nullptr, 0));
  ASSERT_CUDA(cudaGraphAddEmptyNode(&b, graph, &a, 1));
  EXPECT_EQ(cudaGraphAddEmptyNode(&c, elsewhere, &a, 1), cudaErrorInvalidValue);
  cudaMemsetParams fill{
      .dst = data.get(), .pitch = 0, .value = 0, .elementSize = 3, .width = 32, .height = 1};
  EXPECT_EQ(cudaGraphAddMemsetNode(&c, graph, nullptr, 0, &fill), cudaErrorInvalidValue);
  ScaleNode scale(data.get(), 1, 0, 32);
  cudaKernelNodeParams kernel = scale.parameters();
  kernel.blockDim.x = 2048;
  EXPECT_NE(cudaGraphAddKernelNode(&c, graph, nullptr, 0, &kernel), cudaSuccess);
  EXPECT_EQ(node_count(graph), 2u);
  ASSERT_CUDA(cudaGraphRemoveDependencies(graph, &a, &b, nullptr, 1));
  EXPECT_EQ(edge_count(graph), 0u);
  ASSERT_CUDA(cudaGraphDestroyNode(b));
  EXPECT_EQ(node_count(graph), 1u);
  EXPECT_CUDA(cudaGraphDestroy(graph));
  EXPECT_CUDA(cudaGraphDestroy(elsewhere));
  cudaGetLastError();
}

TEST_F(Graphs, CanBeCloned) {
  const DeviceArray<float> data(std::vector<float>(32, 1));
  cudaGraph_t graph = nullptr, clone = nullptr;
  ASSERT_CUDA(cudaGraphCreate(&graph, 0));
  ScaleNode scale(data.get(), 6, 0, 32);
  cudaKernelNodeParams parameters = scale.parameters();
  cudaGraphNode_t node = nullptr, twin = nullptr;
  ASSERT_CUDA(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &parameters));
  ASSERT_CUDA(cudaGraphClone(&clone, graph));
  ASSERT_CUDA(cudaGraphNodeFindInClone(&twin, node, clone));
  EXPECT_NE(node, twin);
  ASSERT_CUDA(cudaGraphDestroy(graph));
  const Instance instance(clone);
  instance.launch(nullptr);
  ASSERT_CUDA(cudaDeviceSynchronize());
  EXPECT_EQ(data.values()[7], 6);
}

}  // namespace
