// SPDX-License-Identifier: Apache-2.0
#include "reference/mlp.h"

#include <cmath>
#include <vector>

#include "reference/error_model.h"
#include "reference/ops.h"
#include "reference/pointwise.h"

namespace pkb::ref {
namespace {

Tensor flat_view(const Tensor& t) { return t.reshape({t.numel()}); }

/// Fills with -value and value.
void random_signs(const Tensor& column, double value, const RandomKey& key) {
  Tensor signs = Tensor::empty(column.shape(), DType::f64, column.place());
  random_fill(signs, {.kind = Distribution::Kind::integers, .low = 0, .high = 1}, key);
  Tensor(column).copy_(signs * (2 * value) - value);
}

RandomKey next(RandomKey& key) {
  const RandomKey now = key;
  ++key.tensor;
  return now;
}

}  // namespace

Mlp unflattened(const Tensor& flat, const MlpShape& shape) {
  const auto [in, hidden, out] = shape;
  require(flat.numel() == shape.parameters(), "mlp: {} parameters for {} -> {} -> {}", flat.numel(), in, hidden, out);
  const std::vector<Tensor> parts = flat.split({hidden * in, hidden, out * hidden, out});
  return {parts[0].view({hidden, in}), parts[1], parts[2].view({out, hidden}), parts[3]};
}

Tensor flattened(const Mlp& model) {
  return cat({flat_view(model.w1), flat_view(model.b1), flat_view(model.w2), flat_view(model.b2)});
}

Mlp mse_gradient(const Mlp& model, const Tensor& x, const Tensor& y) {
  const Tensor hidden = relu(linear(x, model.w1, model.b1));
  const Tensor output = linear(hidden, model.w2, model.b2);
  // 2 / numel as a scalar of the tensors' dtype.
  const Tensor factor = Tensor::full({}, 2.0 / static_cast<double>(y.numel()), y.dtype(), y.place());
  const Tensor d_output = factor * (output - y);
  const Tensor d_hidden = masked_fill(matmul(d_output, model.w2), le(hidden, 0), 0);
  return {matmul(d_hidden.t(), x), sum(d_hidden, {.dimensions = {0}}), matmul(d_output.t(), hidden), sum(d_output, {.dimensions = {0}})};
}

Tensor mse_gradient_bound(Context& ctx, const Tensor& flat, const MlpShape& shape, std::int64_t batch) {
  const DType dtype = ctx.run_dtype();
  // Five of a term's factors and sums are rounded, each by u / sqrt(3) on average: 1.3 u together, and the largest of a
  // million elements is six times that, and half as much again since a rounded residual is shared by a row of the batch. What is
  // typical differs between the inputs of a layer, a weight's columns.
  const double relative = 12 * unit_roundoff(dtype) + 1e-5, least = 4 * static_cast<double>(batch) * subnormal_step(dtype);
  const auto bound = [&](const Tensor& exact) {
    const ReduceOptions over = exact.dim() == 2 ? ReduceOptions{.dimensions = {0}, .keep = true} : ReduceOptions{};
    return (abs(exact) + sqrt(mean(square(exact), over))) * relative + least;
  };
  const Mlp exact = unflattened(flat, shape);
  return flattened({bound(exact.w1), bound(exact.b1), bound(exact.w2), bound(exact.b2)});
}

void random_mlp(Tensor& flat, const MlpShape& shape, RandomKey key) {
  Mlp model = unflattened(flat, shape);
  random_fill(model.w1, {.stddev = 0.4 / std::sqrt(static_cast<double>(shape.in))}, next(key));
  random_signs(model.w1.narrow(1, 0, 1), 1, next(key));
  random_fill(model.b1, {.stddev = 0.2}, next(key));
  random_fill(model.w2, {.stddev = 1 / std::sqrt(static_cast<double>(shape.hidden))}, next(key));
  random_fill(model.b2, {.stddev = 0.5}, next(key));
}

void random_batch(Tensor& x, Tensor& y, RandomKey key) {
  random_fill(x, {}, next(key));
  random_signs(x.narrow(1, 0, 1), 3, next(key));
  random_fill(y, {.mean = 2.0 * (key.rank % 3)}, next(key));
}

void random_moments(Tensor& exp_avg, Tensor& exp_avg_sq, const MlpShape& shape, std::int64_t batch, RandomKey key) {
  random_fill(exp_avg, {}, next(key));
  random_fill(exp_avg_sq, {.kind = Distribution::Kind::uniform, .low = 0.5, .high = 1.5}, next(key));
  const Mlp first = unflattened(exp_avg, shape), second = unflattened(exp_avg_sq, shape);
  // Rows of a batch agree about the second layer's gradient, not about the first one's.
  const double of_second = 4 / static_cast<double>(shape.out);
  const double of_first = of_second * std::sqrt(static_cast<double>(shape.out) / static_cast<double>(shape.hidden * batch));
  const auto scale = [](const Tensor& mean, const Tensor& variance, double gradient) {
    Tensor(mean).copy_(mean * (0.3 * gradient));
    Tensor(variance).copy_(square(variance * gradient) * 1e-3);
  };
  scale(first.w1, second.w1, of_first);
  scale(first.b1, second.b1, of_first);
  scale(first.w2, second.w2, of_second);
  scale(first.b2, second.b2, of_second);
}

}  // namespace pkb::ref
