// SPDX-License-Identifier: Apache-2.0
#include "reference/delta_rule.h"

#include "reference/loop.h"

namespace pkb::ref {
namespace {

/// One column of one head's state, through the whole sequence: columns do not depend on each other.
template <class F>
struct Column {
  F *out, *states;
  const F *q, *k, *v, *decay, *beta;
  std::int64_t length, heads, keys, values, decays;

  PKB_HD void operator()(std::int64_t index) const {
    const std::int64_t column = index % values, head = index / values % heads, batch = index / values / heads;
    F* const state =
        states + (batch * heads + head) * keys * values + column;  // neighbours' rows lie side by side
    for (std::int64_t i = 0; i < keys; ++i) state[i * values] = 0;
    for (std::int64_t t = 0; t < length; ++t) {
      const std::int64_t row = (batch * length + t) * heads + head;
      const F *const key = k + row * keys, *const query = q + row * keys,
                     *const factor = decay + row * decays;
      F known = 0, seen = 0;
      for (std::int64_t i = 0; i < keys; ++i) {
        const F kept = state[i * values] * factor[decays == 1 ? 0 : i];
        state[i * values] = kept;
        known += key[i] * kept;
      }
      const F change = (v[row * values + column] - known) * beta[row];
      for (std::int64_t i = 0; i < keys; ++i) {
        const F now = state[i * values] + key[i] * change;
        state[i * values] = now;
        seen += query[i] * now;
      }
      out[row * values + column] = seen;
    }
  }
};

template <class F>
void run(Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& decay,
         const Tensor& beta) {
  const std::int64_t batch = q.size(0), length = q.size(1), heads = q.size(2), keys = q.size(3),
                     values = v.size(3);
  const Tensor states = Tensor::empty({batch, heads, keys, values}, q.dtype(), q.place());
  loop(q.place(), batch * heads * values,
       Column<F>{out.as<F>(), states.as<F>(), q.as<const F>(), k.as<const F>(), v.as<const F>(),
                 decay.as<const F>(), beta.as<const F>(), length, heads, keys, values, decay.size(3)});
}

}  // namespace

Tensor gated_delta_rule(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& decay,
                        const Tensor& beta) {
  require(q.dim() == 4 && k.shape() == q.shape() && v.dim() == 4 && decay.dim() == 4 &&
              (decay.size(3) == 1 || decay.size(3) == q.size(3)),
          "gated_delta_rule: q {}, k {}, v {}, decay {}", q.shape(), k.shape(), v.shape(), decay.shape());
  const Shape rows(q.shape().begin(), q.shape().begin() + 3);
  const auto has_rows = [&](const Tensor& t) {
    return Shape(t.shape().begin(), t.shape().begin() + 3) == rows;
  };
  require(has_rows(v) && has_rows(decay) && beta.shape() == rows,
          "gated_delta_rule: q {}, v {}, decay {}, beta {}", q.shape(), v.shape(), decay.shape(),
          beta.shape());
  for (const Tensor* each : {&q, &k, &v, &decay, &beta})
    require<DTypeError>(each->dtype() == q.dtype() && (q.dtype() == DType::f32 || q.dtype() == DType::f64),
                        "gated_delta_rule: {} and {}, where fp32 or fp64 throughout is wanted", q.dtype(),
                        each->dtype());
  Tensor out = v.empty_like();
  const auto run_as = q.dtype() == DType::f32 ? run<float> : run<double>;
  run_as(out, q.contiguous(), k.contiguous(), v.contiguous(), decay.contiguous(), beta.contiguous());
  return out;
}

}  // namespace pkb::ref
