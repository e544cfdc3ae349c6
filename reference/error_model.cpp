// SPDX-License-Identifier: Apache-2.0
#include "reference/error_model.h"

#include "reference/ops.h"

namespace pkb::ref {
double subnormal_step(DType dtype) {
  switch (dtype) {
    case DType::bf16:
      return 0x1p-133;
    case DType::f16:
      return 0x1p-24;
    case DType::f32:
      return 0x1p-149;
    case DType::f64:
      return 0x1p-1074;
    case DType::e4m3:
      return 0x1p-9;
    case DType::e5m2:
      return 0x1p-16;
    case DType::i8:
    case DType::u8:
    case DType::i32:
    case DType::i64:
      return 0;
  }
  return 0;
}

Tensor product_bound(Context& ctx, const Tensor& exact, const Tensor& magnitudes, std::int64_t terms) {
  return abs(exact) * unit_roundoff(ctx.run_dtype()) + magnitudes * (0x1p-24 * static_cast<double>(terms)) +
         subnormal_step(ctx.run_dtype());
}

Tensor sum_bound(Context& ctx, const Tensor& magnitudes) {
  const double ranks = ctx.world().size();
  return magnitudes * (ranks * unit_roundoff(ctx.run_dtype())) + ranks * subnormal_step(ctx.run_dtype());
}

}  // namespace pkb::ref
