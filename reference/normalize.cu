// SPDX-License-Identifier: Apache-2.0
#include "reference/normalize.h"

#include <cmath>
#include <limits>

#include "reference/extrema.h"
#include "reference/rows.h"

namespace pkb::ref {
namespace {

struct Plus {
  template <class F>
  PKB_HD F operator()(F a, F b) const {
    return a + b;
  }
};

template <class T>
struct Rows {
  const T* in;
  T* out;
  std::int64_t count;
  PKB_HD Compute<T> at(std::int64_t row, std::int64_t i) const { return load(in[row * count + i]); }
};

enum class Exponential : std::uint8_t { softmax, log_softmax, logsumexp };

template <class T>
struct SoftmaxRow {
  Rows<T> rows;
  Exponential kind;

  template <class Row>
  PKB_HD void operator()(const Row& row, std::int64_t r) const {
    using F = Compute<T>;
    const F most = row.reduce(rows.count, Maximum::identity<F>(), Maximum{}, [&](std::int64_t i) { return rows.at(r, i); });
    // All -inf: their logsumexp is -inf, not -inf - -inf.
    const F shift = kind == Exponential::logsumexp && most == -std::numeric_limits<F>::infinity() ? F(0) : most;
    const F total =
        row.reduce(rows.count, F(0), Plus{}, [&](std::int64_t i) { return std::exp(rows.at(r, i) - shift); });
    const F log_total = std::log(total);
    if (kind == Exponential::logsumexp) {
      if (row.first()) rows.out[r] = store<T>(shift + log_total);
      return;
    }
    row.each(rows.count, [&](std::int64_t i) {
      const F shifted = rows.at(r, i) - shift;
      rows.out[r * rows.count + i] =
          store<T>(kind == Exponential::softmax ? std::exp(shifted) / total : shifted - log_total);
    });
  }
};

template <class T>
struct NormRow {
  Rows<T> rows;
  const T *weight, *bias;  // null: none
  Compute<T> eps;
  bool centred;

  template <class Row>
  PKB_HD void operator()(const Row& row, std::int64_t r) const {
    using F = Compute<T>;
    const F count = static_cast<F>(rows.count);
    F mean = 0;
    if (centred) mean = row.reduce(rows.count, F(0), Plus{}, [&](std::int64_t i) { return rows.at(r, i); }) / count;
    const F squares = row.reduce(rows.count, F(0), Plus{}, [&](std::int64_t i) {
      const F x = rows.at(r, i) - mean;
      return x * x;
    });
    const F scale = F(1) / std::sqrt(squares / count + eps);
    row.each(rows.count, [&](std::int64_t i) {
      F y = (rows.at(r, i) - mean) * scale;
      if (weight) y *= load(weight[i]);
      if (bias) y += load(bias[i]);
      rows.out[r * rows.count + i] = store<T>(y);
    });
  }
};

Tensor exponential(Exponential kind, const char* name, const Tensor& a, int dimension) {
  require(a.dim() > 0, "{}: a scalar has no dimension", name);
  const Tensor in = a.transpose(dimension, -1).contiguous();
  const std::int64_t count = in.size(-1);
  const bool reduces = kind == Exponential::logsumexp;
  Shape shape = in.shape();
  if (reduces) shape.back() = 1;
  Tensor out = Tensor::empty(shape, a.dtype(), a.place());
  if (out.numel() > 0)
    visit_floating(a.dtype(), name, [&](auto type) {
      using T = typename decltype(type)::type;
      for_each_row(a.place(), numel(Shape(shape.begin(), shape.end() - 1)), count,
                   SoftmaxRow<T>{{in.as<const T>(), out.as<T>(), count}, kind});
    });
  out = out.transpose(dimension, -1);
  return reduces ? out.squeeze(dimension) : out;
}

Tensor norm(const char* name, bool centred, const Tensor& a, const Tensor& weight, const Tensor& bias, double eps) {
  require(a.dim() > 0, "{}: a scalar has no dimension", name);
  const std::int64_t count = a.size(-1);
  for (const Tensor* each : {&weight, &bias}) {
    if (each->numel() == 0) continue;
    require(each->shape() == Shape{count} && each->is_contiguous(), "{}: rows of {} with a factor or term of {}", name,
            a.shape(), each->shape());
    require<DTypeError>(each->dtype() == a.dtype(), "{}: {} with {}", name, a.dtype(), each->dtype());
  }
  const Tensor in = a.contiguous();
  Tensor out = in.empty_like();
  if (out.numel() == 0) return out;
  visit_floating(a.dtype(), name, [&](auto type) {
    using T = typename decltype(type)::type;
    const auto items = [](const Tensor& t) { return t.numel() > 0 ? t.as<const T>() : nullptr; };
    for_each_row(a.place(), a.numel() / count, count,
                 NormRow<T>{{in.as<const T>(), out.as<T>(), count},
                            items(weight),
                            items(bias),
                            static_cast<Compute<T>>(eps),
                            centred});
  });
  return out;
}

}  // namespace

Tensor softmax(const Tensor& a, int dimension) {
  return exponential(Exponential::softmax, "softmax", a, dimension);
}
Tensor log_softmax(const Tensor& a, int dimension) {
  return exponential(Exponential::log_softmax, "log_softmax", a, dimension);
}
Tensor logsumexp(const Tensor& a, int dimension) {
  return exponential(Exponential::logsumexp, "logsumexp", a, dimension);
}
Tensor rms_norm(const Tensor& a, const Tensor& weight, double eps) {
  return norm("rms_norm", false, a, weight, {}, eps);
}
Tensor layer_norm(const Tensor& a, const Tensor& weight, const Tensor& bias, double eps) {
  return norm("layer_norm", true, a, weight, bias, eps);
}

}  // namespace pkb::ref
