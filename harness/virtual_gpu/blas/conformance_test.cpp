// SPDX-License-Identifier: Apache-2.0
// What cuBLAS does with small matrices of small integers, where every order of summation gives the same. Built
// twice: on the virtual GPU and, where there is one, on a real one.
#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "harness/virtual_gpu/runtime/conformance.h"

namespace {

using namespace pkb::virtual_gpu::conformance;

#define ASSERT_BLAS(call) ASSERT_EQ(call, CUBLAS_STATUS_SUCCESS)
#define EXPECT_BLAS(call) EXPECT_EQ(call, CUBLAS_STATUS_SUCCESS)

constexpr int kM = 5, kN = 7, kK = 9;

template <class T>
std::vector<T> small_integers(std::size_t count, int seed) {
  std::vector<T> values;
  for (std::size_t i = 0; i < count; ++i) {
    values.push_back(static_cast<T>(static_cast<float>(static_cast<int>(i * 7 + static_cast<std::size_t>(seed) * 5) % 11 - 5)));
  }
  return values;
}

/// Column-major: alpha a b + beta c, where a and b are given transposed or not.
template <class T>
std::vector<float> product(const std::vector<T>& a, bool a_turned, const std::vector<T>& b, bool b_turned, float alpha,
                           float beta, const std::vector<float>& c) {
  std::vector<float> result(kM * kN);
  for (int i = 0; i < kM; ++i) {
    for (int j = 0; j < kN; ++j) {
      float sum = 0;
      for (int p = 0; p < kK; ++p) {
        sum += static_cast<float>(a[a_turned ? p + i * kK : i + p * kM]) *
               static_cast<float>(b[b_turned ? j + p * kN : p + j * kK]);
      }
      result[i + j * kM] = alpha * sum + beta * c[i + j * kM];
    }
  }
  return result;
}

template <class T>
std::vector<float> as_floats(const std::vector<T>& values) {
  std::vector<float> floats;
  for (const T value : values) floats.push_back(static_cast<float>(value));
  return floats;
}

class Blas : public Cuda {
 protected:
  void SetUp() override {
    Cuda::SetUp();
    if (!IsSkipped()) {
      ASSERT_BLAS(cublasCreate(&handle));
    }
  }
  void TearDown() override {
    if (handle != nullptr) {
      EXPECT_BLAS(cublasDestroy(handle));
    }
  }
  cublasHandle_t handle = nullptr;
};

TEST_F(Blas, SinglePrecision) {
  const auto a = small_integers<float>(kM * kK, 1), b = small_integers<float>(kK * kN, 2);
  const auto c = small_integers<float>(kM * kN, 3);
  const DeviceArray<float> a_device(a), b_device(b), c_device(c);
  const float alpha = 2, beta = -1;
  ASSERT_BLAS(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, kM, kN, kK, &alpha, a_device.get(), kM, b_device.get(), kK,
                          &beta, c_device.get(), kM));
  EXPECT_EQ(c_device.values(), product(a, false, b, false, alpha, beta, c));
}

TEST_F(Blas, TransposedDoublePrecision) {
  const auto a = small_integers<double>(kM * kK, 1), b = small_integers<double>(kK * kN, 2);
  const DeviceArray<double> a_device(a), b_device(b), c_device(kM * kN);
  const double alpha = 3, beta = 0;
  ASSERT_BLAS(cublasDgemm(handle, CUBLAS_OP_T, CUBLAS_OP_T, kM, kN, kK, &alpha, a_device.get(), kK, b_device.get(), kN,
                          &beta, c_device.get(), kM));
  EXPECT_EQ(as_floats(c_device.values()), product(a, true, b, true, 3, 0, std::vector<float>(kM * kN)));
}

template <class T>
void check_gemm_ex(cublasHandle_t handle, cudaDataType type) {
  const auto a = small_integers<T>(kM * kK, 4), b = small_integers<T>(kK * kN, 5);
  const DeviceArray<T> a_device(a), b_device(b), narrow(kM * kN);
  const DeviceArray<float> wide(kM * kN);
  const float alpha = 1, beta = 0;
  ASSERT_BLAS(cublasGemmEx(handle, CUBLAS_OP_T, CUBLAS_OP_N, kM, kN, kK, &alpha, a_device.get(), type, kK,
                           b_device.get(), type, kK, &beta, wide.get(), CUDA_R_32F, kM, CUBLAS_COMPUTE_32F,
                           CUBLAS_GEMM_DEFAULT));
  ASSERT_BLAS(cublasGemmEx(handle, CUBLAS_OP_T, CUBLAS_OP_N, kM, kN, kK, &alpha, a_device.get(), type, kK,
                           b_device.get(), type, kK, &beta, narrow.get(), type, kM, CUBLAS_COMPUTE_32F,
                           CUBLAS_GEMM_DEFAULT));
  const auto expected = product(a, true, b, false, 1, 0, std::vector<float>(kM * kN));
  EXPECT_EQ(wide.values(), expected);
  EXPECT_EQ(as_floats(narrow.values()), expected);
}

TEST_F(Blas, Bf16) { check_gemm_ex<__nv_bfloat16>(handle, CUDA_R_16BF); }
TEST_F(Blas, F16) { check_gemm_ex<__half>(handle, CUDA_R_16F); }

TEST_F(Blas, NarrowResultsAreRoundedOnce) {
  // 1 + 2^-9 lies halfway between two bf16 numbers, of which 1 is even; a little more rounds up.
  const std::vector<__nv_bfloat16> a{1.0f, 0.001953125f, 0.0000152587890625f}, b(3, 1.0f);
  const DeviceArray<__nv_bfloat16> a_device(a), b_device(b), c(1);
  const float alpha = 1, beta = 0;
  for (const int k : {2, 3}) {
    ASSERT_BLAS(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, k, &alpha, a_device.get(), CUDA_R_16BF, 1,
                             b_device.get(), CUDA_R_16BF, 3, &beta, c.get(), CUDA_R_16BF, 1, CUBLAS_COMPUTE_32F,
                             CUBLAS_GEMM_DEFAULT));
    // bf16 keeps 8 bits: its step above 1 is 2^-7, so both sums are nearer to 1.
    EXPECT_EQ(static_cast<float>(c.values()[0]), 1);
  }
  const std::vector<__nv_bfloat16> larger{1.0f, 0.00390625f, 0.0000152587890625f};
  const DeviceArray<__nv_bfloat16> larger_device(larger);
  for (const int k : {2, 3}) {
    ASSERT_BLAS(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, k, &alpha, larger_device.get(), CUDA_R_16BF, 1,
                             b_device.get(), CUDA_R_16BF, 3, &beta, c.get(), CUDA_R_16BF, 1, CUBLAS_COMPUTE_32F,
                             CUBLAS_GEMM_DEFAULT));
    EXPECT_EQ(static_cast<float>(c.values()[0]), k == 2 ? 1 : 1.0078125f);  // halfway, and just above
  }
}

TEST_F(Blas, BatchesByStrideAndByPointer) {
  constexpr int kBatches = 3;
  const auto a = small_integers<float>(kBatches * kM * kK, 6), b = small_integers<float>(kBatches * kK * kN, 7);
  const DeviceArray<float> a_device(a), b_device(b), by_stride(kBatches * kM * kN), by_pointer(kBatches * kM * kN);
  const float alpha = 1, beta = 0;
  ASSERT_BLAS(cublasSgemmStridedBatched(handle, CUBLAS_OP_N, CUBLAS_OP_N, kM, kN, kK, &alpha, a_device.get(), kM,
                                        kM * kK, b_device.get(), kK, kK * kN, &beta, by_stride.get(), kM, kM * kN,
                                        kBatches));
  std::vector<const void*> a_each, b_each;
  std::vector<void*> c_each;
  std::vector<float> expected;
  for (int i = 0; i < kBatches; ++i) {
    a_each.push_back(a_device.get() + i * kM * kK);
    b_each.push_back(b_device.get() + i * kK * kN);
    c_each.push_back(by_pointer.get() + i * kM * kN);
    const std::vector<float> a_one(a.begin() + i * kM * kK, a.begin() + (i + 1) * kM * kK);
    const std::vector<float> b_one(b.begin() + i * kK * kN, b.begin() + (i + 1) * kK * kN);
    const auto one = product(a_one, false, b_one, false, 1, 0, std::vector<float>(kM * kN));
    expected.insert(expected.end(), one.begin(), one.end());
  }
  const DeviceArray<const void*> a_list(a_each), b_list(b_each);
  const DeviceArray<void*> c_list(c_each);
  ASSERT_BLAS(cublasGemmBatchedEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, kM, kN, kK, &alpha, a_list.get(), CUDA_R_32F, kM,
                                  b_list.get(), CUDA_R_32F, kK, &beta, c_list.get(), CUDA_R_32F, kM, kBatches,
                                  CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
  EXPECT_EQ(by_stride.values(), expected);
  EXPECT_EQ(by_pointer.values(), expected);
}

TEST_F(Blas, TakesScalarsFromTheDevice) {
  const auto a = small_integers<float>(kM * kK, 1), b = small_integers<float>(kK * kN, 2);
  const DeviceArray<float> a_device(a), b_device(b), c_device(kM * kN), scalars(std::vector<float>{4, 0});
  ASSERT_BLAS(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE));
  ASSERT_BLAS(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, kM, kN, kK, scalars.get(), a_device.get(), kM,
                          b_device.get(), kK, scalars.get() + 1, c_device.get(), kM));
  EXPECT_EQ(c_device.values(), product(a, false, b, false, 4, 0, std::vector<float>(kM * kN)));
}

TEST_F(Blas, RunsInItsStream) {
  const Stream stream;
  const auto a = small_integers<float>(kM * kK, 1), b = small_integers<float>(kK * kN, 2);
  const DeviceArray<float> a_device(kM * kK), b_device(b), c_device(kM * kN);
  ASSERT_BLAS(cublasSetStream(handle, stream.handle));
  const float alpha = 1, beta = 0;
  ASSERT_CUDA(cudaDeviceSynchronize());
  ASSERT_CUDA(cudaMemcpyAsync(a_device.get(), a.data(), a.size() * sizeof(float), cudaMemcpyHostToDevice, stream.handle));
  ASSERT_BLAS(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, kM, kN, kK, &alpha, a_device.get(), kM, b_device.get(), kK,
                          &beta, c_device.get(), kM));
  ASSERT_CUDA(cudaStreamSynchronize(stream.handle));
  EXPECT_EQ(c_device.values(), product(a, false, b, false, 1, 0, std::vector<float>(kM * kN)));
}

TEST_F(Blas, RefusesWhatMakesNoSense) {
  const DeviceArray<float> a(64);
  const float alpha = 1, beta = 0;
  EXPECT_EQ(cublasSgemm(nullptr, CUBLAS_OP_N, CUBLAS_OP_N, 4, 4, 4, &alpha, a.get(), 4, a.get(), 4, &beta, a.get(), 4),
            CUBLAS_STATUS_NOT_INITIALIZED);
  EXPECT_EQ(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 4, 4, 4, &alpha, a.get(), 3, a.get(), 4, &beta, a.get(), 4),
            CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, -1, 4, 4, &alpha, a.get(), 4, a.get(), 4, &beta, a.get(), 4),
            CUBLAS_STATUS_INVALID_VALUE);
}

TEST_F(Blas, Vectors) {
  const std::vector<float> x{1, -2, 3, 4}, y{10, 20, 30, 40};
  const DeviceArray<float> x_device(x), y_device(y), matrix(std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8});
  const float two = 2, zero = 0, one = 1;
  float result = 0;
  ASSERT_BLAS(cublasSdot(handle, 4, x_device.get(), 1, y_device.get(), 1, &result));
  EXPECT_EQ(result, 10 - 40 + 90 + 160);
  ASSERT_BLAS(cublasSnrm2(handle, 2, x_device.get() + 2, 1, &result));
  EXPECT_EQ(result, 5);
  ASSERT_BLAS(cublasSaxpy(handle, 2, &two, x_device.get(), 2, y_device.get(), 2));
  EXPECT_EQ(y_device.values(), (std::vector<float>{12, 20, 36, 40}));
  ASSERT_BLAS(cublasSscal(handle, 4, &two, x_device.get(), 1));
  EXPECT_EQ(x_device.values(), (std::vector<float>{2, -4, 6, 8}));
  // The matrix is 2 x 4 by columns.
  ASSERT_BLAS(cublasSgemv(handle, CUBLAS_OP_N, 2, 4, &one, matrix.get(), 2, x_device.get(), 1, &zero, y_device.get(), 1));
  const auto product_got = y_device.values();
  EXPECT_EQ(product_got[0], 1 * 2 - 3 * 4 + 5 * 6 + 7 * 8);
  EXPECT_EQ(product_got[1], 2 * 2 - 4 * 4 + 6 * 6 + 8 * 8);
}

/// What a cublasLtMatmul takes, made for matrices a (kM x kK), b (kK x kN) and d (kM x kN).
class Matmul {
 public:
  Matmul(cudaDataType type, cublasLtOrder_t order) {
    EXPECT_BLAS(cublasLtCreate(&handle));
    EXPECT_BLAS(cublasLtMatmulDescCreate(&description, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    a = layout(type, order, kM, kK);
    b = layout(type, order, kK, kN);
    d = layout(type, order, kM, kN);
  }
  ~Matmul() {
    for (const cublasLtMatrixLayout_t each : {a, b, d}) EXPECT_BLAS(cublasLtMatrixLayoutDestroy(each));
    EXPECT_BLAS(cublasLtMatmulDescDestroy(description));
    EXPECT_BLAS(cublasLtDestroy(handle));
  }
  Matmul(const Matmul&) = delete;
  Matmul& operator=(const Matmul&) = delete;

  template <class Value>
  void set(cublasLtMatmulDescAttributes_t attribute, const Value& value) {
    EXPECT_BLAS(cublasLtMatmulDescSetAttribute(description, attribute, &value, sizeof(value)));
  }

  void run(const void* a_data, const void* b_data, void* d_data) {
    cublasLtMatmulPreference_t preference = nullptr;
    ASSERT_BLAS(cublasLtMatmulPreferenceCreate(&preference));
    const std::size_t workspace = 0;
    ASSERT_BLAS(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace,
                                                     sizeof(workspace)));
    cublasLtMatmulHeuristicResult_t heuristic;
    int found = 0;
    ASSERT_BLAS(cublasLtMatmulAlgoGetHeuristic(handle, description, a, b, d, d, preference, 1, &heuristic, &found));
    ASSERT_EQ(found, 1);
    const float alpha = 1, beta = 0;
    ASSERT_BLAS(cublasLtMatmul(handle, description, &alpha, a_data, a, b_data, b, &beta, d_data, d, d_data, d,
                               &heuristic.algo, nullptr, 0, nullptr));
    ASSERT_BLAS(cublasLtMatmulPreferenceDestroy(preference));
  }

 private:
  static cublasLtMatrixLayout_t layout(cudaDataType type, cublasLtOrder_t order, std::uint64_t rows,
                                       std::uint64_t columns) {
    cublasLtMatrixLayout_t made = nullptr;
    const bool by_columns = order == CUBLASLT_ORDER_COL;
    EXPECT_BLAS(cublasLtMatrixLayoutCreate(&made, type, rows, columns,
                                           static_cast<std::int64_t>(by_columns ? rows : columns)));
    const std::int32_t value = order;
    EXPECT_BLAS(cublasLtMatrixLayoutSetAttribute(made, CUBLASLT_MATRIX_LAYOUT_ORDER, &value, sizeof(value)));
    return made;
  }

  cublasLtHandle_t handle = nullptr;
  cublasLtMatmulDesc_t description = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, d = nullptr;
};

template <class T>
std::vector<T> by_rows(const std::vector<T>& columns, int rows) {
  const int count = static_cast<int>(columns.size()) / rows;
  std::vector<T> turned;
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < count; ++j) turned.push_back(columns[i + j * rows]);
  }
  return turned;
}

TEST_F(Blas, MatmulByColumnsAndByRows) {
  const auto a = small_integers<float>(kM * kK, 1), b = small_integers<float>(kK * kN, 2);
  const auto expected = product(a, false, b, false, 1, 0, std::vector<float>(kM * kN));
  const DeviceArray<float> a_columns(a), b_columns(b), d_columns(kM * kN);
  Matmul(CUDA_R_32F, CUBLASLT_ORDER_COL).run(a_columns.get(), b_columns.get(), d_columns.get());
  EXPECT_EQ(d_columns.values(), expected);
  const DeviceArray<float> a_rows(by_rows(a, kM)), b_rows(by_rows(b, kK)), d_rows(kM * kN);
  Matmul(CUDA_R_32F, CUBLASLT_ORDER_ROW).run(a_rows.get(), b_rows.get(), d_rows.get());
  EXPECT_EQ(d_rows.values(), by_rows(expected, kM));
}

TEST_F(Blas, MatmulWithEpilogues) {
  const auto a = small_integers<float>(kM * kK, 1), b = small_integers<float>(kK * kN, 2);
  const std::vector<float> bias{1, 2, 3, 4, 5};
  const DeviceArray<float> a_device(a), b_device(b), bias_device(bias), d(kM * kN);
  auto sums = product(a, false, b, false, 1, 0, std::vector<float>(kM * kN));
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += bias[i % kM];
  Matmul matmul(CUDA_R_32F, CUBLASLT_ORDER_COL);
  matmul.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias_device.get());
  matmul.set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_RELU_BIAS);
  matmul.run(a_device.get(), b_device.get(), d.get());
  auto expected = sums;
  for (float& value : expected) value = value > 0 ? value : 0;
  EXPECT_EQ(d.values(), expected);
  matmul.set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_GELU_BIAS);
  matmul.run(a_device.get(), b_device.get(), d.get());
  const auto got = d.values();
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double x = sums[i];
    EXPECT_NEAR(got[i], 0.5 * x * (1 + std::tanh(0.7978845608 * (x + 0.044715 * x * x * x))), 1e-3) << x;
  }
}

}  // namespace
