// SPDX-License-Identifier: Apache-2.0
#include "harness/roofline/bound.h"

#include <algorithm>
#include <numeric>

namespace pkb::roofline {
namespace {

constexpr double kClockHeadroom = 1.25;  // the highest so far: 3105 MHz of the RTX 4090, whose figures are for 2520
constexpr double kIncompressible = 0.5;

double bytes_of(const problem::Tensor& tensor) {
  return std::accumulate(tensor.shape.begin(), tensor.shape.end(), static_cast<double>(size_of(tensor.dtype)),
                         [](double product, std::int64_t extent) { return product * static_cast<double>(extent); });
}

/// The most that a rank writes of what is judged.
double written_bytes(const problem::Instance& instance) {
  double most = 0;
  for (const problem::Instance::Tensors& tensors : instance.tensors_of) {
    double bytes = 0;
    for (const problem::Tensor& each : tensors.outputs) bytes += bytes_of(each);
    for (const problem::Tensor& each : tensors.inputs)
      if (each.in_out) bytes += bytes_of(each);
    most = std::max(most, bytes);
  }
  return most;
}

}  // namespace

double Times::longest() const { return std::max({compute, memory, links}); }

Limit Times::limit() const {
  if (compute == longest()) return Limit::compute;
  return memory == longest() ? Limit::memory : Limit::links;
}

Bound bound_of(const problem::Problem& problem, const problem::Instance& instance, const Hardware& hardware) {
  const problem::Cost cost = problem.cost(instance);
  const double crossing = std::max(cost.sent_bytes, cost.received_bytes);
  const double kept = std::min(written_bytes(instance), hardware.l2_bytes);
  const Rates& rates = hardware.rates();
  const Rates& nominal = hardware.nominal;
  return {.cost = cost,
          .roofline = {.compute = cost.flops / rates.peaks.of(instance.dtype),
                       .memory = cost.hbm_bytes / rates.memory,
                       .links = crossing / rates.link},
          .floor = {.compute = cost.flops / (kClockHeadroom * nominal.peaks.fastest()),
                    .memory = std::max(0.0, cost.hbm_bytes - kept) / nominal.memory,
                    .links = kIncompressible * crossing / nominal.link}};
}

}  // namespace pkb::roofline
