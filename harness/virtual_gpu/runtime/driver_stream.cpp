// SPDX-License-Identifier: Apache-2.0
// The driver's streams: values that streams write to memory and wait for there.
#include "harness/virtual_gpu/runtime/driver.h"
#include "harness/virtual_gpu/runtime/value_kernel.h"

using namespace pkb::virtual_gpu;

namespace {

template <class Value>
CUresult write(CUstream stream, CUdeviceptr address, Value value, unsigned flags) {
  return driver_call([&](Device& device) {
    if ((flags & ~CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER) != 0) return CUDA_ERROR_INVALID_VALUE;
    return driver_code(write_value(device, stream, {.address = address, .value = value, .bytes = sizeof(Value)}));
  });
}

template <class Value>
CUresult wait(CUstream stream, CUdeviceptr address, Value value, unsigned flags) {
  return driver_call([&](Device& device) {
    const unsigned condition = flags & ~CU_STREAM_WAIT_VALUE_FLUSH;
    if (condition > CU_STREAM_WAIT_VALUE_NOR) return CUDA_ERROR_INVALID_VALUE;
    return driver_code(wait_for_value(device, stream, {.address = address, .value = value, .bytes = sizeof(Value)},
                                      static_cast<CUstreamWaitValue_flags>(condition)));
  });
}

}  // namespace

CUresult cuStreamWriteValue32(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned flags) {
  return write(stream, address, value, flags);
}
CUresult cuStreamWriteValue64(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned flags) {
  return write(stream, address, value, flags);
}
CUresult cuStreamWaitValue32(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned flags) {
  return wait(stream, address, value, flags);
}
CUresult cuStreamWaitValue64(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned flags) {
  return wait(stream, address, value, flags);
}

CUresult cuStreamBatchMemOp(CUstream stream, unsigned count, CUstreamBatchMemOpParams* all, unsigned flags) {
  if (flags != 0 || (count > 0 && all == nullptr)) return CUDA_ERROR_INVALID_VALUE;
  for (unsigned i = 0; i < count; ++i) {
    const CUstreamBatchMemOpParams& one = all[i];
    CUresult result = CUDA_ERROR_INVALID_VALUE;
    switch (static_cast<int>(one.operation)) {
      case CU_STREAM_MEM_OP_WAIT_VALUE_32:
        result = wait(stream, one.waitValue.address, one.waitValue.value, one.waitValue.flags);
        break;
      case CU_STREAM_MEM_OP_WAIT_VALUE_64:
        result = wait(stream, one.waitValue.address, one.waitValue.value64, one.waitValue.flags);
        break;
      case CU_STREAM_MEM_OP_WRITE_VALUE_32:
        result = write(stream, one.writeValue.address, one.writeValue.value, one.writeValue.flags);
        break;
      case CU_STREAM_MEM_OP_WRITE_VALUE_64:
        result = write(stream, one.writeValue.address, one.writeValue.value64, one.writeValue.flags);
        break;
      case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES:
      case CU_STREAM_MEM_OP_BARRIER: result = CUDA_SUCCESS; break;  // a stream's operations are in order here
      default: break;
    }
    if (result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}

CUresult cuStreamSynchronize(CUstream stream) { return by_runtime(cudaStreamSynchronize, stream); }
CUresult cuStreamQuery(CUstream stream) { return by_runtime(cudaStreamQuery, stream); }
CUresult cuEventRecord(CUevent event, CUstream stream) {
  return by_runtime(static_cast<cudaError_t (*)(cudaEvent_t, cudaStream_t)>(cudaEventRecord), event, stream);
}
CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags) {
  return by_runtime(static_cast<cudaError_t (*)(cudaStream_t, cudaEvent_t, unsigned)>(cudaStreamWaitEvent), stream,
                    event, flags);
}
