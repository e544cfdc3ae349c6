// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/lazy_answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "harness/check/number.h"

namespace pkb::judge {
namespace {

std::int64_t count_of(const problem::Tensor& tensor) {
  std::int64_t count = 1;
  for (const std::int64_t extent : tensor.shape) count *= extent;
  return count;
}

std::vector<std::byte> bytes_for(const problem::Tensor& tensor) {
  return std::vector<std::byte>(static_cast<std::size_t>(count_of(tensor)) * size_of(tensor.dtype));
}

std::vector<std::byte> constant(const problem::Tensor& tensor, double value) {
  return count_of(tensor) == 0 ? std::vector<std::byte>()
                               : ref::Tensor::full(tensor.shape, value, tensor.dtype).bytes();
}

double mean_of(const ref::Tensor& tensor) {
  double sum = 0;
  std::int64_t count = 0;
  for (const double value : tensor.values())
    if (std::isfinite(value)) {
      sum += value;
      ++count;
    }
  const double mean = count == 0 ? 0 : sum / static_cast<double>(count);
  return info(tensor.dtype()).floating ? mean : std::round(mean);
}

/// The input's values over and over, in the output's dtype.
std::vector<std::byte> echo(const problem::Tensor& output, const ref::Tensor& input) {
  std::vector<std::byte> out = bytes_for(output);
  const std::vector<std::byte> in = input.to(output.dtype).bytes();
  for (std::size_t at = 0; at < out.size() && !in.empty(); at += in.size())
    std::copy_n(in.begin(), std::min(in.size(), out.size() - at),
                out.begin() + static_cast<std::ptrdiff_t>(at));
  return out;
}

double with_bits(double value, int bits) {
  if (value == 0 || !std::isfinite(value)) return value;
  const int exponent = std::ilogb(value) - (bits - 1);
  return std::ldexp(std::nearbyint(std::ldexp(value, -exponent)), exponent);
}

}  // namespace

HostTensors to_host(const std::vector<problem::Tensor>& list, const ref::Tensors& tensors) {
  HostTensors all;
  for (const problem::Tensor& each : list) {
    if (!tensors.contains(each.name)) continue;
    all[each.name] = tensors[each.name].bytes();
    all[each.name].resize(bytes_for(each).size());
  }
  return all;
}

HostTensors right_answer(const Oracle& oracle, const Expected& expected) {
  HostTensors right = to_host(oracle.output_tensors(), expected.baseline);
  right.merge(to_host(oracle.input_tensors(), expected.baseline));
  return right;
}

std::vector<LazyAnswer> made_up(const Oracle& oracle, const ref::Tensors& inputs, const Expected& expected,
                                const HostTensors& previous) {
  HostTensors right = right_answer(oracle, expected);
  right.merge(to_host(oracle.input_tensors(), inputs));
  std::vector<problem::Tensor> judged = oracle.output_tensors();
  std::ranges::copy_if(oracle.input_tensors(), std::back_inserter(judged), &problem::Tensor::in_out);
  std::vector<LazyAnswer> all;
  for (const problem::Tensor& output : judged) {
    const auto add = [&](std::string_view what, std::vector<std::byte> bytes) {
      all.push_back({.name = fmt::format("{} in {}", what, output.name), .outputs = right});
      all.back().outputs[output.name] = std::move(bytes);
    };
    add("zeros", constant(output, 0));
    add("ones", constant(output, 1));
    add("mean", constant(output, mean_of(expected.baseline[output.name])));
    for (const auto& [name, input] : inputs) add("echo of " + name, echo(output, input));
    if (const auto found = previous.find(output.name); found != previous.end())
      add("previous trial", found->second);
  }
  return all;
}

ref::Tensors coarser(const ref::Tensors& inputs, DType run_dtype, bool& changed) {
  const int bits = run_dtype == DType::f32 ? check::format_of(DType::f16).precision
                                           : check::format_of(DType::e4m3).precision;
  changed = false;
  ref::Tensors all;
  for (const auto& [name, tensor] : inputs) {
    if (tensor.dtype() != run_dtype) {
      all.set(name, tensor);
      continue;
    }
    std::vector<double> values = tensor.values();
    for (double& value : values) {
      const double rounded = with_bits(value, bits);
      changed = changed || (std::isfinite(value) && rounded != value);
      value = rounded;
    }
    all.set(name, ref::Tensor::from_values(values, tensor.shape(), tensor.dtype(), tensor.place()));
  }
  return all;
}

}  // namespace pkb::judge
