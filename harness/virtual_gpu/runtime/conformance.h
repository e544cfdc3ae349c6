// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>
#include <stdexcept>
#include <vector>

/// What the conformance tests share. They use only the CUDA runtime, virtual or real.
namespace pkb::virtual_gpu::conformance {

inline void* symbol(const char* name) {
  static void* const library = dlopen(PKB_CONFORMANCE_KERNELS, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw std::runtime_error(dlerror());
  return dlsym(library, name);
}
/// A function of the loaded library, typed by its declaration.
#define KERNELS(name) reinterpret_cast<decltype(&name)>(symbol(#name))

#define ASSERT_CUDA(call) ASSERT_EQ(call, cudaSuccess)
#define EXPECT_CUDA(call) EXPECT_EQ(call, cudaSuccess)

template <class T>
class DeviceArray {
 public:
  explicit DeviceArray(std::size_t count) : x_count(count) {
    if (cudaMalloc(reinterpret_cast<void**>(&x_data), count * sizeof(T)) != cudaSuccess)
      throw std::bad_alloc();
    cudaMemset(x_data, 0, count * sizeof(T));
  }
  explicit DeviceArray(const std::vector<T>& values) : DeviceArray(values.size()) {
    cudaMemcpy(x_data, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice);
  }
  ~DeviceArray() { cudaFree(x_data); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  T* get() const { return x_data; }
  std::vector<T> values() const {
    std::vector<T> result(x_count);
    EXPECT_CUDA(cudaMemcpy(result.data(), x_data, x_count * sizeof(T), cudaMemcpyDeviceToHost));
    return result;
  }

 private:
  T* x_data = nullptr;
  std::size_t x_count;
};

struct Stream {
  explicit Stream(unsigned flags = cudaStreamNonBlocking) { cudaStreamCreateWithFlags(&handle, flags); }
  ~Stream() { cudaStreamDestroy(handle); }
  cudaStream_t handle = nullptr;
};

class Cuda : public testing::Test {
 protected:
  // By default the driver loads a kernel at its first launch, which waits for the kernels that run: one of
  // those that spins until the other is launched would spin forever.
  static void SetUpTestSuite() { setenv("CUDA_MODULE_LOADING", "EAGER", 1); }

  void SetUp() override {
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) GTEST_SKIP() << "no GPU";
    cudaGetLastError();  // of the case before
  }
};

/// A fault ends the context of its process, so each case runs in a process of its own.
template <class Body>
void in_own_process(Body body) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        body();
        std::_Exit(testing::Test::HasFailure() ? 1 : 0);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace pkb::virtual_gpu::conformance
