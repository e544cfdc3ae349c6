// SPDX-License-Identifier: Apache-2.0
// Functions of the driver that are reached through the runtime, pools and copies of boxes, on any CUDA device.
#include <cuda.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "harness/virtual_gpu/runtime/conformance.h"
#include "harness/virtual_gpu/runtime/conformance_kernels.h"

namespace {

using namespace pkb::virtual_gpu::conformance;

using Driver = Cuda;
using Boxes = Cuda;
using Pools = Cuda;

// Since CUDA 13 some names mean functions with other parameters than those that cuda.h declares by them.
constexpr unsigned kVersion = 12000;

template <class Function>
Function* driver(const char* name, unsigned version = kVersion) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult status;
  EXPECT_CUDA(cudaGetDriverEntryPointByVersion(name, &found, version, cudaEnableDefault, &status));
  EXPECT_EQ(status, cudaDriverEntryPointSuccess) << name;
  return reinterpret_cast<Function*>(found);
}
/// By the name in cuda.h, which may be a macro for the newest version.
#define DRIVER(name) driver<decltype(name)>(#name)
#define ASSERT_DRIVER(call) ASSERT_EQ(call, CUDA_SUCCESS)
#define EXPECT_DRIVER(call) EXPECT_EQ(call, CUDA_SUCCESS)

CUdeviceptr address_of(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

TEST_F(Driver, MapsMemoryToAddresses) {
  ASSERT_CUDA(cudaFree(nullptr));
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0};
  properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  std::size_t unit = 0;
  ASSERT_DRIVER(DRIVER(cuMemGetAllocationGranularity)(&unit, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  ASSERT_GT(unit, 0u);
  CUmemGenericAllocationHandle handle = 0;
  EXPECT_EQ(DRIVER(cuMemCreate)(&handle, unit + 1, &properties, 0), CUDA_ERROR_INVALID_VALUE);
  ASSERT_DRIVER(DRIVER(cuMemCreate)(&handle, unit, &properties, 0));

  // The same memory at two places, one of them through a descriptor.
  CUdeviceptr addresses = 0;
  ASSERT_DRIVER(DRIVER(cuMemAddressReserve)(&addresses, 2 * unit, 0, 0, 0));
  ASSERT_DRIVER(DRIVER(cuMemMap)(addresses, unit, 0, handle, 0));
  int file = -1;
  ASSERT_DRIVER(DRIVER(cuMemExportToShareableHandle)(&file, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  CUmemGenericAllocationHandle imported = 0;
  ASSERT_DRIVER(DRIVER(cuMemImportFromShareableHandle)(
      &imported, reinterpret_cast<void*>(static_cast<std::intptr_t>(file)), CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
  close(file);
  ASSERT_DRIVER(DRIVER(cuMemMap)(addresses + unit, unit, 0, imported, 0));
  ASSERT_DRIVER(DRIVER(cuMemRelease)(handle));
  ASSERT_DRIVER(DRIVER(cuMemRelease)(imported));
  CUmemAccessDesc access{};
  access.location = properties.location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  ASSERT_DRIVER(DRIVER(cuMemSetAccess)(addresses, 2 * unit, &access, 1));

  auto* const words = reinterpret_cast<unsigned*>(addresses);
  KERNELS(fill_slowly)(words, 17, 1000, nullptr);
  std::vector<unsigned> got(1000);
  ASSERT_CUDA(cudaMemcpy(got.data(), words + unit / 4, 4000, cudaMemcpyDeviceToHost));
  EXPECT_EQ(got, std::vector<unsigned>(1000, 17));
  cudaPointerAttributes attributes;
  ASSERT_CUDA(cudaPointerGetAttributes(&attributes, words));
  EXPECT_EQ(attributes.type, cudaMemoryTypeDevice);

  EXPECT_EQ(DRIVER(cuMemAddressFree)(addresses, 2 * unit), CUDA_ERROR_INVALID_VALUE);  // still mapped
  ASSERT_DRIVER(DRIVER(cuMemUnmap)(addresses, 2 * unit));
  ASSERT_DRIVER(DRIVER(cuMemAddressFree)(addresses, 2 * unit));
}

TEST_F(Driver, StreamsWriteValuesAndWaitForThem) {
  const DeviceArray<unsigned> flags(2), seen(1);
  const Stream waits, writes;
  ASSERT_CUDA(cudaDeviceSynchronize());
  const CUdeviceptr flag = address_of(flags.get());
  ASSERT_DRIVER(DRIVER(cuStreamWaitValue32)(waits.handle, flag, 5, CU_STREAM_WAIT_VALUE_GEQ));
  ASSERT_DRIVER(DRIVER(cuStreamWriteValue32)(waits.handle, flag + 4, 8, 0));
  EXPECT_EQ(cudaStreamQuery(waits.handle), cudaErrorNotReady);
  ASSERT_DRIVER(DRIVER(cuStreamWriteValue32)(writes.handle, flag, 6, 0));
  ASSERT_CUDA(cudaStreamSynchronize(waits.handle));
  EXPECT_EQ(flags.values(), (std::vector<unsigned>{6, 8}));
  ASSERT_DRIVER(DRIVER(cuStreamWaitValue32)(waits.handle, flag, 6, CU_STREAM_WAIT_VALUE_EQ));
  ASSERT_DRIVER(DRIVER(cuStreamWaitValue32)(waits.handle, flag, 2, CU_STREAM_WAIT_VALUE_AND));
  ASSERT_DRIVER(DRIVER(cuStreamWaitValue32)(waits.handle, flag, 1, CU_STREAM_WAIT_VALUE_NOR));
  ASSERT_DRIVER(DRIVER(cuStreamWriteValue64)(waits.handle, flag, 0x100000002, 0));
  ASSERT_DRIVER(DRIVER(cuStreamWaitValue64)(waits.handle, flag, 0x100000002, CU_STREAM_WAIT_VALUE_EQ));
  ASSERT_CUDA(cudaStreamSynchronize(waits.handle));
  EXPECT_EQ(flags.values(), (std::vector<unsigned>{2, 1}));
}

TEST_F(Driver, LaunchesKernels) {
  const DeviceArray<float> data(std::vector<float>(32, 2));
  cudaFunction_t function = nullptr;
  ASSERT_CUDA(cudaGetFuncBySymbol(&function, KERNELS(scale_function)()));
  float* pointer = data.get();
  float factor = 3, offset = 1;
  int count = 32;
  std::array<void*, 4> arguments{&pointer, &factor, &offset, &count};
  ASSERT_DRIVER(DRIVER(cuLaunchKernel)(function, 1, 1, 1, 32, 1, 1, 0, nullptr, arguments.data(), nullptr));
  EXPECT_EQ(data.values(), std::vector<float>(32, 7));
  EXPECT_EQ(DRIVER(cuLaunchKernel)(function, 1, 1, 1, 2048, 1, 1, 0, nullptr, arguments.data(), nullptr),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_CUDA(cudaGetLastError());  // the driver's errors are its own
  int value = 0;
  ASSERT_DRIVER(DRIVER(cuFuncGetAttribute)(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function));
  EXPECT_EQ(value, 1024);
  ASSERT_DRIVER(DRIVER(cuOccupancyMaxActiveBlocksPerMultiprocessor)(&value, function, 1024, 0));
  EXPECT_EQ(value, 2);
}

TEST_F(Driver, KnowsItselfAndPointers) {
  ASSERT_CUDA(cudaFree(nullptr));
  CUcontext context = nullptr;
  ASSERT_DRIVER(DRIVER(cuCtxGetCurrent)(&context));
  EXPECT_NE(context, nullptr);
  CUdevice device = -1;
  ASSERT_DRIVER(DRIVER(cuCtxGetDevice)(&device));
  EXPECT_EQ(device, 0);
  device = -1;
  ASSERT_DRIVER(driver<decltype(cuCtxGetDevice_v2)>("cuCtxGetDevice", 13000)(&device, context));
  EXPECT_EQ(device, 0);
  ASSERT_DRIVER(driver<decltype(cuCtxSynchronize_v2)>("cuCtxSynchronize", 13000)(context));
  const char* text = nullptr;
  ASSERT_DRIVER(DRIVER(cuGetErrorName)(CUDA_ERROR_INVALID_VALUE, &text));
  EXPECT_STREQ(text, "CUDA_ERROR_INVALID_VALUE");
  ASSERT_DRIVER(DRIVER(cuGetErrorString)(CUDA_ERROR_INVALID_VALUE, &text));
  EXPECT_STREQ(text, "invalid argument");
  const DeviceArray<unsigned> array(100);
  CUdeviceptr start = 0;
  ASSERT_DRIVER(DRIVER(cuPointerGetAttribute)(&start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, address_of(array.get() + 7)));
  EXPECT_EQ(start, address_of(array.get()));
  unsigned type = 0;
  ASSERT_DRIVER(DRIVER(cuPointerGetAttribute)(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address_of(array.get())));
  EXPECT_EQ(type, unsigned{CU_MEMORYTYPE_DEVICE});
  ASSERT_DRIVER(DRIVER(cuMemsetD32Async)(address_of(array.get()), 9, 100, nullptr));
  EXPECT_EQ(array.values(), std::vector<unsigned>(100, 9));
}

TEST_F(Boxes, AreCopiedAndFilled) {
  // 3 slices of 4 rows of 5 bytes on the host; a pitched box on the device.
  std::vector<unsigned char> in(3 * 4 * 5), out(in.size());
  std::iota(in.begin(), in.end(), 0);
  cudaPitchedPtr device{};
  ASSERT_CUDA(cudaMalloc3D(&device, {.width = 5, .height = 4, .depth = 3}));
  EXPECT_GE(device.pitch, 5u);
  cudaMemcpy3DParms up{};
  up.srcPtr = {.ptr = in.data(), .pitch = 5, .xsize = 5, .ysize = 4};
  up.dstPtr = device;
  up.extent = {.width = 5, .height = 4, .depth = 3};
  up.kind = cudaMemcpyHostToDevice;
  ASSERT_CUDA(cudaMemcpy3D(&up));
  cudaMemcpy3DParms down{};
  down.srcPtr = device;
  down.srcPos = {.x = 1, .y = 2, .z = 1};
  down.dstPtr = {.ptr = out.data(), .pitch = 5, .xsize = 5, .ysize = 4};
  down.extent = {.width = 3, .height = 2, .depth = 2};
  down.kind = cudaMemcpyDeviceToHost;
  ASSERT_CUDA(cudaMemcpy3D(&down));
  for (int z = 0; z < 2; ++z) {
    for (int y = 0; y < 2; ++y) {
      for (int x = 0; x < 3; ++x) EXPECT_EQ(out[(z * 4 + y) * 5 + x], ((z + 1) * 4 + y + 2) * 5 + x + 1);
    }
  }
  ASSERT_CUDA(cudaMemset3D(device, 0xEE, {.width = 2, .height = 1, .depth = 3}));
  down.srcPos = {};
  down.extent = {.width = 5, .height = 4, .depth = 3};
  ASSERT_CUDA(cudaMemcpy3D(&down));
  for (std::size_t i = 0; i < out.size(); ++i) EXPECT_EQ(out[i], i % 20 < 2 ? 0xEE : in[i]) << i;
  ASSERT_CUDA(cudaFree(device.ptr));
}

TEST_F(Pools, GiveMemoryInStreamOrder) {
  const Stream stream;
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location = {.type = cudaMemLocationTypeDevice, .id = 0};
  cudaMemPool_t pool = nullptr, known = nullptr;
  ASSERT_CUDA(cudaMemPoolCreate(&pool, &properties));
  std::uint64_t threshold = 1 << 20;
  ASSERT_CUDA(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
  threshold = 0;
  ASSERT_CUDA(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
  EXPECT_EQ(threshold, 1u << 20);
  ASSERT_CUDA(cudaDeviceSetMemPool(0, pool));
  ASSERT_CUDA(cudaDeviceGetMemPool(&known, 0));
  EXPECT_EQ(known, pool);
  unsigned* memory = nullptr;
  unsigned* pinned = nullptr;
  ASSERT_CUDA(cudaMallocHost(reinterpret_cast<void**>(&pinned), 400));
  ASSERT_CUDA(cudaMallocFromPoolAsync(reinterpret_cast<void**>(&memory), 400, pool, stream.handle));
  KERNELS(fill_slowly)(memory, 3, 100, stream.handle);
  ASSERT_CUDA(cudaMemcpyAsync(pinned, memory, 400, cudaMemcpyDeviceToHost, stream.handle));
  ASSERT_CUDA(cudaFreeAsync(memory, stream.handle));
  ASSERT_CUDA(cudaStreamSynchronize(stream.handle));
  EXPECT_EQ(pinned[99], 3u);
  ASSERT_CUDA(cudaFreeHost(pinned));
  cudaMemPool_t original = nullptr;
  ASSERT_CUDA(cudaDeviceGetDefaultMemPool(&original, 0));
  ASSERT_CUDA(cudaDeviceSetMemPool(0, original));
  ASSERT_CUDA(cudaMemPoolDestroy(pool));
  cudaGetLastError();
}

}  // namespace
