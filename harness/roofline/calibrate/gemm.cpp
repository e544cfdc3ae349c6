// SPDX-License-Identifier: Apache-2.0
#include "harness/roofline/calibrate/gemm.h"

#include <cublasLt.h>

#include <algorithm>
#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "harness/roofline/calibrate/cuda_check.h"
#include "harness/roofline/calibrate/operands.h"
#include "harness/roofline/calibrate/stopwatch.h"

namespace pkb::roofline {
namespace {

using roofline::check;
void check(cublasStatus_t status, const char* action) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw EnvironmentError(
      {.where = "cuBLASLt", .fault = std::string(action) + ": " + cublasLtGetStatusString(status), .remedy = ""});
}

struct Format {
  const char* name;
  Operand operand;
  cudaDataType_t in, out;
  cublasComputeType_t compute;
  cudaDataType_t scalar;
  int extent;  // m, n and k
};
constexpr Format kFormats[] = {
    {"bf16", Operand::bf16, CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F, CUDA_R_32F, 8192},
    {"fp16", Operand::fp16, CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F, CUDA_R_32F, 8192},
    {"fp8", Operand::fp8, CUDA_R_8F_E4M3, CUDA_R_16BF, CUBLAS_COMPUTE_32F, CUDA_R_32F, 8192},
    {"tf32", Operand::fp32, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32, CUDA_R_32F, 8192},
    {"fp32", Operand::fp32, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, CUDA_R_32F, 4096},
    {"fp64", Operand::fp64, CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F, CUDA_R_64F, 4096},
};

constexpr std::size_t kWorkspace = 64 << 20;

struct Free {
  void operator()(void* memory) const { cudaFree(memory); }
};
using DeviceMemory = std::unique_ptr<void, Free>;

DeviceMemory allocate(std::size_t bytes) {
  void* memory = nullptr;
  check(cudaMalloc(&memory, bytes), "cudaMalloc");
  return DeviceMemory(memory);
}

/// d = a' b in column-major order: the layout that every format has.
class Product {
 public:
  Product(cublasLtHandle_t handle, const Format& format)
      : x_handle(handle),
        x_format(format),
        x_a(operand()),
        x_b(operand()),
        x_d(allocate(elements() * sizeof(double))),
        x_workspace(allocate(kWorkspace)) {
    check(cublasLtMatmulDescCreate(&x_operation, format.compute, format.scalar), "cublasLtMatmulDescCreate");
    const cublasOperation_t transposed = CUBLAS_OP_T;
    check(cublasLtMatmulDescSetAttribute(x_operation, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof transposed),
          "cublasLtMatmulDescSetAttribute");
    for (auto [layout, type] : {std::pair{&x_in, format.in}, std::pair{&x_out, format.out}})
      check(cublasLtMatrixLayoutCreate(layout, type, extent(), extent(), format.extent), "cublasLtMatrixLayoutCreate");
  }
  ~Product() {
    cublasLtMatrixLayoutDestroy(x_in);
    cublasLtMatrixLayoutDestroy(x_out);
    cublasLtMatmulDescDestroy(x_operation);
  }
  Product(const Product&) = delete;
  Product& operator=(const Product&) = delete;

  /// Nothing when the library has no algorithm for the format here.
  std::optional<Spread> best_time(const Stopwatch& time) const {
    std::optional<Spread> best;
    cublasLtMatmulAlgo_t fastest{};
    for (const cublasLtMatmulHeuristicResult_t& each : algorithms()) {
      const Spread spread = time([&](cudaStream_t stream) { multiply(each.algo, stream); }, 3);
      if (best && best->median <= spread.median) continue;
      best = spread;
      fastest = each.algo;
    }
    if (best) best = time([&](cudaStream_t stream) { multiply(fastest, stream); }, 31);
    return best;
  }

 private:
  std::uint64_t extent() const { return static_cast<std::uint64_t>(x_format.extent); }
  std::size_t elements() const { return extent() * extent(); }
  DeviceMemory operand() const {
    DeviceMemory memory = allocate(elements() * sizeof(double));
    check(fill_operand(memory.get(), x_format.operand, elements()), "filling an operand");
    check(cudaDeviceSynchronize(), "filling an operand");
    return memory;
  }

  std::vector<cublasLtMatmulHeuristicResult_t> algorithms() const {
    cublasLtMatmulPreference_t preference{};
    check(cublasLtMatmulPreferenceCreate(&preference), "cublasLtMatmulPreferenceCreate");
    check(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &kWorkspace,
                                               sizeof kWorkspace),
          "cublasLtMatmulPreferenceSetAttribute");
    std::array<cublasLtMatmulHeuristicResult_t, 6> found{};
    int count = 0;
    const cublasStatus_t status =
        cublasLtMatmulAlgoGetHeuristic(x_handle, x_operation, x_in, x_in, x_out, x_out, preference,
                                       static_cast<int>(found.size()), found.data(), &count);
    check(cublasLtMatmulPreferenceDestroy(preference), "cublasLtMatmulPreferenceDestroy");
    if (status == CUBLAS_STATUS_NOT_SUPPORTED) count = 0;
    else check(status, "cublasLtMatmulAlgoGetHeuristic");
    return {found.begin(), found.begin() + count};
  }

  void multiply(const cublasLtMatmulAlgo_t& algorithm, cudaStream_t stream) const {
    const float one = 1, zero = 0;
    const double wide_one = 1, wide_zero = 0;
    const bool wide = x_format.scalar == CUDA_R_64F;
    const void* const alpha = wide ? static_cast<const void*>(&wide_one) : &one;
    const void* const beta = wide ? static_cast<const void*>(&wide_zero) : &zero;
    check(cublasLtMatmul(x_handle, x_operation, alpha, x_a.get(), x_in, x_b.get(), x_in, beta, x_d.get(), x_out,
                         x_d.get(), x_out, &algorithm, x_workspace.get(), kWorkspace, stream),
          "cublasLtMatmul");
  }

  cublasLtHandle_t x_handle;
  const Format& x_format;
  DeviceMemory x_a, x_b, x_d, x_workspace;
  cublasLtMatmulDesc_t x_operation{};
  cublasLtMatrixLayout_t x_in{}, x_out{};
};

}  // namespace

nlohmann::json measure_gemm(int gpu) {
  const Stopwatch time(gpu);
  cublasLtHandle_t handle{};
  check(cublasLtCreate(&handle), "cublasLtCreate");
  nlohmann::json measured = nlohmann::json::object();
  for (const Format& format : kFormats) {
    const std::optional<Spread> seconds = Product(handle, format).best_time(time);
    if (!seconds) continue;
    const double operations = 2.0 * format.extent * format.extent * format.extent;
    measured[format.name] = to_json(map(*seconds, [&](double s) { return operations / s * 1e-12; }));
    measured[format.name]["extent"] = format.extent;
  }
  check(cublasLtDestroy(handle), "cublasLtDestroy");
  return measured;
}

}  // namespace pkb::roofline
