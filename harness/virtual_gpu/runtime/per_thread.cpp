// SPDX-License-Identifier: Apache-2.0
// The names that code compiled with --default-stream per-thread calls: the same functions, whose stream 0 is the
// calling thread's own. `_ptds` is for those without a stream among their arguments, `_ptsz` for the others.
#include <cstddef>

#include "harness/virtual_gpu/runtime/call.h"

using namespace pkb::virtual_gpu;

#define PKB_PER_THREAD(name, parameters, arguments) \
  cudaError_t name##_ptsz parameters { return name arguments; }

// Those that wait for the copy they make themselves.
#define PKB_PER_THREAD_WAITING(name, parameters, arguments)                             \
  cudaError_t name##_ptds parameters {                                                  \
    const cudaError_t error = name##Async arguments;                                    \
    return error != cudaSuccess ? error : cudaStreamSynchronize(cudaStreamPerThread);   \
  }

extern "C" {

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, std::size_t shared,
                               cudaStream_t stream);

PKB_PER_THREAD_WAITING(cudaMemcpy, (void* to, const void* from, std::size_t count, cudaMemcpyKind kind),
                       (to, from, count, kind, cudaStreamPerThread))
PKB_PER_THREAD_WAITING(cudaMemcpy2D,
                       (void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
                        std::size_t height, cudaMemcpyKind kind),
                       (to, to_pitch, from, from_pitch, width, height, kind, cudaStreamPerThread))
PKB_PER_THREAD_WAITING(cudaMemcpyToSymbol,
                       (const void* symbol, const void* from, std::size_t count, std::size_t offset,
                        cudaMemcpyKind kind),
                       (symbol, from, count, offset, kind, cudaStreamPerThread))
PKB_PER_THREAD_WAITING(cudaMemcpyFromSymbol,
                       (void* to, const void* symbol, std::size_t count, std::size_t offset, cudaMemcpyKind kind),
                       (to, symbol, count, offset, kind, cudaStreamPerThread))
PKB_PER_THREAD_WAITING(cudaMemset, (void* to, int value, std::size_t count),
                       (to, value, count, cudaStreamPerThread))
PKB_PER_THREAD_WAITING(cudaMemset2D,
                       (void* to, std::size_t pitch, int value, std::size_t width, std::size_t height),
                       (to, pitch, value, width, height, cudaStreamPerThread))

PKB_PER_THREAD_WAITING(cudaMemcpy3D, (const cudaMemcpy3DParms* parameters), (parameters, cudaStreamPerThread))
PKB_PER_THREAD_WAITING(cudaMemcpy3DPeer, (const cudaMemcpy3DPeerParms* parameters), (parameters, cudaStreamPerThread))
PKB_PER_THREAD_WAITING(cudaMemset3D, (cudaPitchedPtr to, int value, cudaExtent extent),
                       (to, value, extent, cudaStreamPerThread))

PKB_PER_THREAD(cudaMemcpy3DAsync, (const cudaMemcpy3DParms* parameters, cudaStream_t stream),
               (parameters, per_thread(stream)))
PKB_PER_THREAD(cudaMemcpy3DPeerAsync, (const cudaMemcpy3DPeerParms* parameters, cudaStream_t stream),
               (parameters, per_thread(stream)))
PKB_PER_THREAD(cudaMemset3DAsync, (cudaPitchedPtr to, int value, cudaExtent extent, cudaStream_t stream),
               (to, value, extent, per_thread(stream)))
PKB_PER_THREAD(cudaMemcpyBatchAsync,
               (void* const* to, const void* const* from, const std::size_t* bytes, std::size_t count,
                cudaMemcpyAttributes* attributes, std::size_t* starts, std::size_t attribute_count,
                cudaStream_t stream),
               (to, from, bytes, count, attributes, starts, attribute_count, per_thread(stream)))
PKB_PER_THREAD(cudaMemcpyAsync,
               (void* to, const void* from, std::size_t count, cudaMemcpyKind kind, cudaStream_t stream),
               (to, from, count, kind, per_thread(stream)))
PKB_PER_THREAD(cudaMemcpy2DAsync,
               (void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
                std::size_t height, cudaMemcpyKind kind, cudaStream_t stream),
               (to, to_pitch, from, from_pitch, width, height, kind, per_thread(stream)))
PKB_PER_THREAD(cudaMemcpyToSymbolAsync,
               (const void* symbol, const void* from, std::size_t count, std::size_t offset, cudaMemcpyKind kind,
                cudaStream_t stream),
               (symbol, from, count, offset, kind, per_thread(stream)))
PKB_PER_THREAD(cudaMemcpyFromSymbolAsync,
               (void* to, const void* symbol, std::size_t count, std::size_t offset, cudaMemcpyKind kind,
                cudaStream_t stream),
               (to, symbol, count, offset, kind, per_thread(stream)))
PKB_PER_THREAD(cudaMemsetAsync, (void* to, int value, std::size_t count, cudaStream_t stream),
               (to, value, count, per_thread(stream)))
PKB_PER_THREAD(cudaMemset2DAsync,
               (void* to, std::size_t pitch, int value, std::size_t width, std::size_t height, cudaStream_t stream),
               (to, pitch, value, width, height, per_thread(stream)))
PKB_PER_THREAD(cudaMallocAsync, (void** pointer, std::size_t bytes, cudaStream_t stream),
               (pointer, bytes, per_thread(stream)))
PKB_PER_THREAD(cudaMallocFromPoolAsync, (void** pointer, std::size_t bytes, cudaMemPool_t pool, cudaStream_t stream),
               (pointer, bytes, pool, per_thread(stream)))
PKB_PER_THREAD(cudaFreeAsync, (void* pointer, cudaStream_t stream), (pointer, per_thread(stream)))
PKB_PER_THREAD(cudaMemPrefetchAsync,
               (const void* pointer, std::size_t bytes, cudaMemLocation location, unsigned flags,
                cudaStream_t stream),
               (pointer, bytes, location, flags, per_thread(stream)))

PKB_PER_THREAD(cudaLaunchKernel,
               (const void* function, dim3 grid, dim3 block, void** arguments, std::size_t shared,
                cudaStream_t stream),
               (function, grid, block, arguments, shared, per_thread(stream)))
PKB_PER_THREAD(cudaLaunchCooperativeKernel,
               (const void* function, dim3 grid, dim3 block, void** arguments, std::size_t shared,
                cudaStream_t stream),
               (function, grid, block, arguments, shared, per_thread(stream)))
PKB_PER_THREAD(cudaLaunchHostFunc, (cudaStream_t stream, cudaHostFn_t function, void* data),
               (per_thread(stream), function, data))

cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                                    std::size_t shared, cudaStream_t stream) {
  return __cudaLaunchKernel(kernel, grid, block, arguments, shared, per_thread(stream));
}

cudaError_t cudaLaunchKernelExC_ptsz(const cudaLaunchConfig_t* config, const void* function, void** arguments) {
  if (config == nullptr) return cudaLaunchKernelExC(config, function, arguments);
  cudaLaunchConfig_t own = *config;
  own.stream = per_thread(own.stream);
  return cudaLaunchKernelExC(&own, function, arguments);
}

PKB_PER_THREAD(cudaStreamSynchronize, (cudaStream_t stream), (per_thread(stream)))
PKB_PER_THREAD(cudaStreamQuery, (cudaStream_t stream), (per_thread(stream)))
PKB_PER_THREAD(cudaStreamWaitEvent, (cudaStream_t stream, cudaEvent_t event, unsigned flags),
               (per_thread(stream), event, flags))
PKB_PER_THREAD(cudaStreamGetFlags, (cudaStream_t stream, unsigned* flags), (per_thread(stream), flags))
PKB_PER_THREAD(cudaStreamGetPriority, (cudaStream_t stream, int* priority), (per_thread(stream), priority))
PKB_PER_THREAD(cudaStreamGetId, (cudaStream_t stream, unsigned long long* id), (per_thread(stream), id))
PKB_PER_THREAD(cudaStreamGetDevice, (cudaStream_t stream, int* index), (per_thread(stream), index))
PKB_PER_THREAD(cudaStreamSetAttribute,
               (cudaStream_t stream, cudaStreamAttrID attribute, const cudaStreamAttrValue* value),
               (per_thread(stream), attribute, value))
PKB_PER_THREAD(cudaStreamGetAttribute,
               (cudaStream_t stream, cudaStreamAttrID attribute, cudaStreamAttrValue* value),
               (per_thread(stream), attribute, value))
PKB_PER_THREAD(cudaStreamCopyAttributes, (cudaStream_t to, cudaStream_t from), (per_thread(to), per_thread(from)))
PKB_PER_THREAD(cudaStreamIsCapturing, (cudaStream_t stream, cudaStreamCaptureStatus* status),
               (per_thread(stream), status))
PKB_PER_THREAD(cudaStreamGetCaptureInfo,
               (cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id, cudaGraph_t* graph,
                const cudaGraphNode_t** nodes, const cudaGraphEdgeData** edges, std::size_t* count),
               (per_thread(stream), status, id, graph, nodes, edges, count))
PKB_PER_THREAD(cudaStreamBeginCapture, (cudaStream_t stream, cudaStreamCaptureMode mode), (per_thread(stream), mode))
PKB_PER_THREAD(cudaStreamBeginCaptureToGraph,
               (cudaStream_t stream, cudaGraph_t graph, const cudaGraphNode_t* nodes, const cudaGraphEdgeData* edges,
                std::size_t count, cudaStreamCaptureMode mode),
               (per_thread(stream), graph, nodes, edges, count, mode))
PKB_PER_THREAD(cudaStreamEndCapture, (cudaStream_t stream, cudaGraph_t* graph), (per_thread(stream), graph))
PKB_PER_THREAD(cudaStreamUpdateCaptureDependencies,
               (cudaStream_t stream, cudaGraphNode_t* nodes, const cudaGraphEdgeData* edges, std::size_t count,
                unsigned flags),
               (per_thread(stream), nodes, edges, count, flags))
PKB_PER_THREAD(cudaGraphLaunch, (cudaGraphExec_t exec, cudaStream_t stream), (exec, per_thread(stream)))
PKB_PER_THREAD(cudaGraphUpload, (cudaGraphExec_t exec, cudaStream_t stream), (exec, per_thread(stream)))
PKB_PER_THREAD(cudaGraphInstantiateWithParams,
               (cudaGraphExec_t* exec, cudaGraph_t graph, cudaGraphInstantiateParams* parameters),
               (exec, graph, parameters))
PKB_PER_THREAD(cudaStreamAddCallback,
               (cudaStream_t stream, cudaStreamCallback_t callback, void* data, unsigned flags),
               (per_thread(stream), callback, data, flags))
PKB_PER_THREAD(cudaEventRecord, (cudaEvent_t event, cudaStream_t stream), (event, per_thread(stream)))
PKB_PER_THREAD(cudaEventRecordWithFlags, (cudaEvent_t event, cudaStream_t stream, unsigned flags),
               (event, per_thread(stream), flags))
PKB_PER_THREAD(cudaGetDriverEntryPointByVersion,
               (const char* symbol, void** function, unsigned version, unsigned long long flags,
                cudaDriverEntryPointQueryResult* status),
               (symbol, function, version, flags, status))

cudaError_t cudaGetDriverEntryPoint_ptsz(const char* symbol, void** function, unsigned long long flags,
                                         cudaDriverEntryPointQueryResult* status) {
  return cudaGetDriverEntryPointByVersion(symbol, function, CUDART_VERSION, flags, status);
}

}  // extern "C"
