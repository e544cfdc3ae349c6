// SPDX-License-Identifier: Apache-2.0
// A plain matrix product for candidates of problem 013 whose subject is what surrounds it.
namespace {

struct Shape {
  int m, n, k;
  __host__ __device__ int count() const { return m * n; }
};
inline Shape shape_of(const pkb::Args& args) {
  return {static_cast<int>(args.C.shape[0]), static_cast<int>(args.C.shape[1]),
          static_cast<int>(args.A_local.shape[1])};
}

/// Element `at` (row-major) of A_local B_local.
__device__ inline float element_of_product(const T* a, const T* b, Shape shape, int at) {
  const int row = at / shape.n, column = at % shape.n;
  float sum = 0;
  for (int k = 0; k < shape.k; ++k)
    sum += static_cast<float>(a[row * shape.k + k]) * static_cast<float>(b[k * shape.n + column]);
  return sum;
}

}  // namespace
