// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "harness/problem/description.h"
#include "harness/problem/formula.h"
#include "harness/problem/problem.h"

namespace pkb::problem {
namespace {

constexpr int kMostRanks = 1024;

/// What data are made of where the other messages say who sends what to whom: the first floating input's.
DType data_dtype(const std::vector<Tensor>& inputs) {
  const auto found = std::ranges::find_if(inputs, [](const Tensor& each) { return info(each.dtype).floating; });
  return found == inputs.end() ? DType::f32 : found->dtype;
}

/// Resolves one variant of one size; every failure names `x_field`.
class Resolver {
 public:
  Resolver(const Description& description, std::string field, int ranks, DType dtype)
      : x_description(description), x_field(std::move(field)), x_ranks(ranks), x_dtype(dtype) {}

  Instance resolve(const SizeDescription& size, int variant, const Assignments& overrides) const {
    Instance instance;
    instance.id = x_description.id;
    instance.name = x_description.name;
    instance.folder = x_description.folder.filename();
    instance.size = size.name;
    instance.variant = variant;
    instance.ranks = x_ranks;
    instance.dtype = x_dtype;
    instance.symbols = symbols(size, overrides);
    for (const Parameter& parameter : x_description.parameters)
      instance.parameter_names.push_back(parameter.name);
    require_constraints(instance.symbols);
    instance.groups = groups(instance.symbols);
    instance.tensors_of = tensors(instance.symbols);
    if (const std::string& dtype = x_description.sabotage; dtype != "all")
      instance.sabotage_only = dtype == "T" ? data_dtype(instance.tensors_of[0].inputs) : dtype_from(dtype);
    instance.harmless = x_description.harmless;
    for (const CheckDescription& each : x_description.checks) {
      instance.checks.push_back(each.check);
      instance.checks.back().exact_on_integers = value(each.exact_on_integers, instance.symbols) != 0;
    }
    return instance;
  }

 private:
  InputError error(const std::string& fault, const std::string& remedy = "") const {
    return x_description.file.error(
        x_field, fmt::format("with {} rank{}, {}", x_ranks, x_ranks == 1 ? "" : "s", fault), remedy);
  }

  double value(const std::string& formula, const Symbols& known) const {
    try {
      return evaluate(formula, known);
    } catch (const FormulaError& fault) {
      throw error(fault.what());
    }
  }

  std::int64_t integer(const std::string& what, const std::string& formula, const Symbols& known) const {
    try {
      return evaluate_integer(formula, known);
    } catch (const FormulaError& fault) {
      throw error(fmt::format("{}: {}", what, fault.what()), "correct the formula or the size");
    }
  }

  /// Values may be formulas of one another, in any order.
  Symbols symbols(const SizeDescription& size, const Assignments& overrides) const {
    Symbols known = {{std::string(kRanks), x_ranks},
                     {std::string(kBytes), static_cast<double>(size_of(x_dtype))}};
    std::vector<const Parameter*> open;
    for (const Parameter& parameter : x_description.parameters) open.push_back(&parameter);
    const auto formula_of = [&](const Parameter& parameter) -> const std::string& {
      if (const auto found = overrides.find(parameter.name); found != overrides.end()) return found->second;
      if (const auto found = size.values.find(parameter.name); found != size.values.end())
        return found->second;
      return parameter.value;
    };
    const auto settle = [&](const Parameter* parameter) {
      const std::string& formula = formula_of(*parameter);
      for (const std::string& name : names_in(formula))
        if (!known.contains(name)) return false;
      known[parameter->name] = parameter->real
                                   ? value(formula, known)
                                   : static_cast<double>(integer(parameter->name, formula, known));
      return true;
    };
    while (!open.empty())
      if (std::erase_if(open, settle) == 0)
        throw error(fmt::format("{} = \"{}\" depends on itself", open[0]->name, formula_of(*open[0])),
                    "give it a number");
    return known;
  }

  void require_constraints(const Symbols& known) const {
    for (const Constraint& constraint : x_description.constraints)
      if (value(constraint.require, known) == 0)
        throw error(constraint.message,
                    fmt::format("choose ranks and size such that {}", constraint.require));
  }

  std::vector<Group> groups(const Symbols& known) const {
    std::vector<Group> all(1, {.name = "world", .ranks_of = {{}}});
    for (int rank = 0; rank < x_ranks; ++rank) all[0].ranks_of[0].push_back(rank);
    for (const GroupDescription& each : x_description.groups) {
      const std::int64_t size = integer("size of group " + each.name, each.size, known);
      const std::int64_t stride = integer("stride of group " + each.name, each.stride, known);
      if (size < 1 || stride < 1 || size > x_ranks || stride > x_ranks || x_ranks % (size * stride) != 0)
        throw error(fmt::format("group {} of size {} and stride {} does not divide the ranks", each.name,
                                size, stride),
                    "choose ranks that are a multiple of size * stride");
      Group group{.name = each.name, .ranks_of = {}};
      for (std::int64_t base = 0; base < x_ranks; base += size * stride)
        for (std::int64_t first = base; first < base + stride; ++first) {
          std::vector<int>& ranks = group.ranks_of.emplace_back();
          for (std::int64_t i = 0; i < size; ++i) ranks.push_back(static_cast<int>(first + i * stride));
        }
      all.push_back(std::move(group));
    }
    return all;
  }

  Tensor tensor(const TensorDescription& described, const Symbols& known) const {
    Tensor tensor{.name = described.name,
                  .dtype = described.dtype.value_or(x_dtype),
                  .shape = {},
                  .largest_shape = {},
                  .replicated = described.replicated,
                  .in_out = described.in_out,
                  .extent = described.extent,
                  .values = described.values};
    double bytes = static_cast<double>(size_of(tensor.dtype));
    for (const std::string& extent : described.shape) {
      tensor.shape.push_back(integer("shape of " + described.name, extent, known));
      if (tensor.shape.back() < 0)
        throw error(
            fmt::format("shape of {}: \"{}\" is {}, below 0", described.name, extent, tensor.shape.back()),
            "correct the formula or the size");
      bytes *= static_cast<double>(tensor.shape.back());
    }
    if (bytes >= kIntegerLimit)
      throw error(fmt::format("{} has {} bytes, not below 2^53", described.name, bytes));
    return tensor;
  }

  std::vector<Instance::Tensors> tensors(Symbols known) const {
    std::vector<Instance::Tensors> of(static_cast<std::size_t>(x_ranks));
    for (int rank = 0; rank < x_ranks; ++rank) {
      known[std::string(kRank)] = rank;
      Instance::Tensors& here = of[static_cast<std::size_t>(rank)];
      for (const TensorDescription& each : x_description.inputs) here.inputs.push_back(tensor(each, known));
      for (const TensorDescription& each : x_description.outputs) here.outputs.push_back(tensor(each, known));
    }
    set_largest(of, &Instance::Tensors::inputs);
    set_largest(of, &Instance::Tensors::outputs);
    return of;
  }

  static void set_largest(std::vector<Instance::Tensors>& of, std::vector<Tensor> Instance::Tensors::*list) {
    const auto count = [](const Shape& shape) {
      double elements = 1;
      for (const std::int64_t extent : shape) elements *= static_cast<double>(extent);
      return elements;
    };
    for (std::size_t i = 0; i < (of[0].*list).size(); ++i) {
      Shape largest = (of[0].*list)[i].shape;
      for (const Instance::Tensors& each : of)
        if (count((each.*list)[i].shape) > count(largest)) largest = (each.*list)[i].shape;
      for (Instance::Tensors& each : of) (each.*list)[i].largest_shape = largest;
    }
  }

  const Description& x_description;
  std::string x_field;
  int x_ranks;
  DType x_dtype;
};

const SizeDescription& size_named(const Description& description, std::string_view name) {
  std::vector<std::string> names;
  for (const SizeDescription& size : description.sizes) {
    if (size.name == name) return size;
    names.push_back(size.name);
  }
  throw InputError({description.folder.filename().string(), fmt::format("there is no size \"{}\"", name),
                    fmt::format("choose one of {}", fmt::join(names, ", "))});
}

}  // namespace

std::vector<int> Problem::ranks(std::string_view size) const {
  return size_named(*x_description, size).ranks;
}

std::vector<Instance> Problem::instances(const Choice& choice) const {
  const SizeDescription& size = size_named(*x_description, choice.size);
  const int ranks = choice.ranks == 0 ? size.ranks.front() : choice.ranks;
  if (ranks < 1 || ranks > kMostRanks)
    throw InputError(
        {"ranks", fmt::format("{} is out of range", ranks), fmt::format("give 1 to {}", kMostRanks)});

  std::vector<Instance> all;
  const std::string field = "sizes." + size.name;
  all.push_back(Resolver(*x_description, field, ranks, choice.dtype).resolve(size, 0, {}));
  for (const Assignments& variant : size.variants) {
    const int number = static_cast<int>(all.size());
    const Resolver resolver(*x_description, fmt::format("{}.variants[{}]", field, number - 1), ranks,
                            choice.dtype);
    try {
      all.push_back(resolver.resolve(size, number, variant));
    } catch (const InputError&) {
      // A branch that takes several ranks, an idle one for example, is none for a number of ranks that the size is not
      // meant for.
      if (std::ranges::find(size.ranks, ranks) != size.ranks.end()) throw;
    }
  }
  return all;
}

Cost Problem::cost(const Instance& instance) const {
  const auto value = [&](const char* name, const std::string& formula) {
    try {
      return evaluate(formula, instance.symbols);
    } catch (const FormulaError& fault) {
      throw x_description->file.error(fmt::format("cost.{}", name), fault.what());
    }
  };
  return {.flops = value("flops", x_description->flops),
          .hbm_bytes = value("hbm", x_description->hbm),
          .sent_bytes = value("sent", x_description->sent),
          .received_bytes = value("received", x_description->received)};
}

void Problem::check_sizes() const {
  for (const SizeDescription& size : x_description->sizes)
    for (const int ranks : size.ranks)
      for (const DType dtype : {DType::bf16, DType::f16, DType::f32})
        for (const Instance& instance : instances({.size = size.name, .ranks = ranks, .dtype = dtype}))
          cost(instance);
}

}  // namespace pkb::problem
