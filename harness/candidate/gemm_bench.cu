// SPDX-License-Identifier: Apache-2.0
// The product of <pkb/gemm.cuh> against cuBLAS on one GPU: the same values, and the time of each. Prints a
// JSON object per size.
#include <cublas_v2.h>

#include <pkb/gemm.cuh>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

using pkb::T;
namespace gemm = pkb::gemm;

constexpr int kRepeats = 20;

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "gemm_bench: %s: %s\n", what, cudaGetErrorString(cudaGetLastError()));
  std::exit(1);
}

__global__ void fill(T* to, std::int64_t count, unsigned seed) {
  for (std::int64_t i = blockIdx.x * std::int64_t{blockDim.x} + threadIdx.x; i < count;
       i += std::int64_t{gridDim.x} * blockDim.x) {
    unsigned x = static_cast<unsigned>(i) * 2654435761u + seed;
    x = (x ^ x >> 16) * 2246822519u;
    to[i] = static_cast<T>(static_cast<float>(x >> 16) / 32768.0f - 1);
  }
}

// How many elements differ by more than the rounding of fp32 sums to T in another order.
__global__ void compare(const T* got, const T* expected, std::int64_t count, float bound,
                        unsigned long long* bad) {
  for (std::int64_t i = blockIdx.x * std::int64_t{blockDim.x} + threadIdx.x; i < count;
       i += std::int64_t{gridDim.x} * blockDim.x) {
    const float a = static_cast<float>(got[i]), b = static_cast<float>(expected[i]);
    if (!(fabsf(a - b) <= bound + fabsf(b) / 128)) atomicAdd(bad, 1ull);
  }
}

template <int kStages>
__global__ void __launch_bounds__(gemm::kThreads, 1)
    product(const __grid_constant__ gemm::Problem<T> problem, T* c) {
  gemm::multiply<kStages>(problem, pkb::this_block(), [&](const gemm::HalfTile& half) {
    half.each([&](int row, int column, float x, float y) {
      gemm::put(c, problem.m, problem.n, row, column, x, y);
    });
  });
}

/// The median time of one call, in microseconds.
template <class Call>
double time_of(Call&& call) {
  cudaEvent_t begin, end;
  cudaEventCreate(&begin), cudaEventCreate(&end);
  std::vector<float> times(kRepeats);
  for (int i = 0; i < 3; ++i) call();
  for (float& each : times) {
    cudaEventRecord(begin);
    call();
    cudaEventRecord(end);
    cudaEventSynchronize(end);
    cudaEventElapsedTime(&each, begin, end);
  }
  std::nth_element(times.begin(), times.begin() + kRepeats / 2, times.end());
  return 1000.0 * times[kRepeats / 2];
}

template <int kStages>
double time_of_ours(const gemm::Problem<T>& problem, T* c) {
  gemm::allow_shared(product<kStages>, gemm::shared_bytes(kStages));
  return time_of([&] {
    product<kStages>
        <<<gemm::blocks_for(problem.tiles()), gemm::kThreads, gemm::shared_bytes(kStages)>>>(problem, c);
  });
}

void measure(cublasHandle_t blas, int m, int n, int k) {
  T *a, *b, *c, *expected;
  unsigned long long* bad;
  for (T** each : {&a, &b, &c, &expected}) {
    const std::int64_t count = each == &a   ? std::int64_t{m} * k
                               : each == &b ? std::int64_t{k} * n
                                            : std::int64_t{m} * n;
    require(cudaMalloc(each, count * sizeof(T)) == cudaSuccess, "no memory");
    fill<<<1024, 256>>>(*each, count, each == &a ? 1 : each == &b ? 2 : 3);
  }
  require(cudaMalloc(&bad, sizeof *bad) == cudaSuccess, "no memory");
  cudaMemset(bad, 0, sizeof *bad);
  const gemm::Problem<T> problem(a, b, m, n, k);
  const float one = 1, zero = 0;
  const double cublas = time_of([&] {
    cublasGemmEx(blas, CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &one, b, CUDA_R_16BF, n, a, CUDA_R_16BF, k, &zero,
                 expected, CUDA_R_16BF, n, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
  });
  const double four = time_of_ours<4>(problem, c);
  compare<<<1024, 256>>>(c, expected, std::int64_t{m} * n, 1e-2f, bad);
  const double three = time_of_ours<3>(problem, c);
  compare<<<1024, 256>>>(c, expected, std::int64_t{m} * n, 1e-2f, bad);
  unsigned long long wrong = 0;
  require(cudaMemcpy(&wrong, bad, sizeof wrong, cudaMemcpyDeviceToHost) == cudaSuccess, "the product failed");
  const double flops = 2e-6 * m * n * k;
  std::printf(
      "{\"m\": %d, \"n\": %d, \"k\": %d, \"wrong\": %llu, \"cublas_us\": %.1f, \"four_stages_us\": %.1f, "
      "\"three_stages_us\": %.1f, \"cublas_tflops\": %.0f, \"four_stages_tflops\": %.0f, \"of_cublas\": "
      "%.3f}\n",
      m, n, k, wrong, cublas, four, three, flops / cublas, flops / four, cublas / four);
  for (void* each : {static_cast<void*>(a), static_cast<void*>(b), static_cast<void*>(c),
                     static_cast<void*>(expected), static_cast<void*>(bad)})
    cudaFree(each);
}

}  // namespace

int main() {
  cublasHandle_t blas;
  require(cublasCreate(&blas) == CUBLAS_STATUS_SUCCESS, "no cuBLAS");
  for (const auto& [m, n, k] :
       {std::array{8192, 8192, 8192}, std::array{8192, 8192, 3584}, std::array{1024, 1024, 512},
        std::array{4096, 4096, 1024}, std::array{509, 503, 515}, std::array{64, 8192, 3584}})
    measure(blas, m, n, k);
  cublasDestroy(blas);
}
