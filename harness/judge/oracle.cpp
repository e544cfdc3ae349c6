// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/oracle.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "harness/error/error.h"
#include "harness/judge/exported.h"
#include "harness/judge/npy.h"
#include "reference/random.h"
#include "reference/zeroed_memory.h"

namespace pkb::judge {
namespace {

ref::ContextOptions options_for(const launch::Job& job, const problem::Instance& instance) {
  ref::ContextOptions options{.place = place_of(job.device),
                              .staged = job.device == launch::Device::shared,
                              .run_dtype = job.dtype,
                              .parameters = instance.symbols,
                              .groups = {}};
  for (const problem::Group& group : instance.groups)
    options.groups.push_back({.name = group.name, .ranks_of = group.ranks_of});
  return options;
}

ref::Distribution distribution_of(const problem::Values& values, const std::string& tensor) {
  ref::Distribution distribution{
      .mean = values.mean, .stddev = values.stddev, .low = values.low, .high = values.high};
  switch (values.kind) {
    case problem::Values::Kind::normal:
      distribution.kind = ref::Distribution::Kind::normal;
      break;
    case problem::Values::Kind::uniform:
      distribution.kind = ref::Distribution::Kind::uniform;
      break;
    case problem::Values::Kind::integers:
      distribution.kind = ref::Distribution::Kind::integers;
      break;
    case problem::Values::Kind::bits:
      distribution.kind = ref::Distribution::Kind::bits;
      break;
    case problem::Values::Kind::custom:
      throw std::logic_error("custom values of " + tensor + " have no distribution");
  }
  return distribution;
}

}  // namespace

ref::Place place_of(launch::Device device) {
  return device == launch::Device::virtual_gpu ? ref::Place::host : ref::Place::cuda;
}

int ordinal_of(launch::Device device, int rank) { return device == launch::Device::cuda ? rank : 0; }

Oracle::Oracle(const launch::Job& job, const problem::Instance& instance, const ref::ProblemLibrary& library,
               MPI_Comm comm, int rank)
    : x_job(job),
      x_instance(instance),
      x_library(library),
      x_comm(comm),
      x_rank(rank),
      x_context(comm, options_for(job, instance)) {}

const std::vector<problem::Tensor>& Oracle::input_tensors() const {
  return x_instance.tensors_of.at(static_cast<std::size_t>(x_rank)).inputs;
}
const std::vector<problem::Tensor>& Oracle::output_tensors() const {
  return x_instance.tensors_of.at(static_cast<std::size_t>(x_rank)).outputs;
}

const problem::Values& Oracle::values_of(const problem::Tensor& tensor, int trial) const {
  return tensor.values.at(static_cast<std::size_t>(trial) % tensor.values.size());
}

bool Oracle::are_integers(int trial) const {
  return x_job.import_folder.empty() &&
         std::ranges::all_of(input_tensors(), [&](const problem::Tensor& tensor) {
           return !info(tensor.dtype).floating ||
                  values_of(tensor, trial).kind == problem::Values::Kind::integers;
         });
}

int Oracle::period() const {
  std::size_t period = 1;
  for (const problem::Tensor& tensor : input_tensors())
    period = std::lcm(period, std::max<std::size_t>(tensor.values.size(), 1));
  return static_cast<int>(period);
}

ref::Tensors Oracle::inputs(int trial) {
  ref::Tensors made;
  bool custom = false;
  std::uint16_t number = 0;
  for (const problem::Tensor& tensor : input_tensors()) {
    if (!x_job.import_folder.empty()) {
      const Array array = read_npy(x_job.import_folder / exported_name(x_rank, Role::input, tensor.name),
                                   tensor.dtype, tensor.shape);
      ref::Tensor imported = ref::Tensor::empty(tensor.shape, tensor.dtype, x_context.place());
      imported.copy_from(array.bytes);
      made.set(tensor.name, std::move(imported));
    } else if (values_of(tensor, trial).kind == problem::Values::Kind::custom) {
      made.set(tensor.name, ref::Tensor::zeros(tensor.shape, tensor.dtype, x_context.place()));
      custom = true;
    } else {
      ref::Tensor random = ref::Tensor::empty(tensor.shape, tensor.dtype, x_context.place());
      ref::random_fill(random, distribution_of(values_of(tensor, trial), tensor.name),
                       {.seed = x_job.seed,
                        .trial = static_cast<std::uint32_t>(trial),
                        .tensor = number,
                        .rank = static_cast<std::uint16_t>(tensor.replicated ? 0 : x_rank)});
      made.set(tensor.name, std::move(random));
    }
    ++number;
  }
  // Some rank has a custom input if this one has: kinds do not depend on the rank, so all take part.
  if (custom) {
    if (!x_library.has_make_inputs())
      throw EnvironmentError({.where = x_instance.folder,
                              .fault = "problem.json has custom values, but the folder defines no make_inputs",
                              .remedy = "define make_inputs in the folder"});
    x_library.make_inputs(x_context, {.seed = x_job.seed, .trial = static_cast<std::uint32_t>(trial)}, made);
  }
  return made;
}

Expected Oracle::expect(const ref::Tensors& inputs) {
  Expected expected{.baseline = baseline(inputs), .golden = {}, .bound = {}};
  using Kind = problem::Check::Kind;
  const bool floating = std::ranges::any_of(x_instance.checks, [](const auto& check) {
    return check.kind == Kind::floating || check.kind == Kind::custom;
  });
  if (!floating) return expected;
  ref::Tensors promoted;
  for (const auto& [name, tensor] : inputs)
    promoted.set(name, info(tensor.dtype()).floating ? tensor.to(DType::f64) : tensor);
  expected.golden = x_library.reference(x_context, promoted);
  const bool modelled = std::ranges::any_of(x_instance.checks, &problem::Check::model_bound);
  if (modelled && !x_library.has_error_bound())
    throw EnvironmentError(
        {.where = x_instance.folder,
         .fault = "problem.json asks for an error model, but the folder defines no error_bound",
         .remedy = "define error_bound in reference.cpp"});
  if (modelled) expected.bound = x_library.error_bound(x_context, promoted);
  return expected;
}

ref::Tensor Oracle::tensor(const problem::Tensor& like, const std::vector<std::byte>& bytes) const {
  ref::Tensor made = ref::Tensor::empty(like.shape, like.dtype, x_context.place());
  made.copy_from(bytes);
  return made;
}

ref::Tensors Oracle::judge(const Expected& expected, const HostTensors& before, const HostTensors& now) {
  using Kind = problem::Check::Kind;
  if (std::ranges::none_of(x_instance.checks, [](const auto& check) { return check.kind == Kind::custom; }))
    return {};
  if (!x_library.has_check_outputs())
    throw EnvironmentError({.where = x_instance.folder,
                            .fault = "problem.json has custom checks, but the folder defines no check_outputs",
                            .remedy = "define check_outputs in the folder"});
  ref::Tensors in, got;
  for (const problem::Tensor& each : input_tensors()) {
    in.set(each.name, tensor(each, before.at(each.name)));
    if (each.in_out) got.set(each.name, tensor(each, now.at(each.name)));
  }
  for (const problem::Tensor& each : output_tensors()) got.set(each.name, tensor(each, now.at(each.name)));
  return x_library.check_outputs(
      x_context, {.in = in, .golden = expected.golden, .baseline = expected.baseline, .got = got});
}

Oracle::Sabotaged Oracle::sabotaged(const ref::Tensors& inputs, const ref::Sabotage& fault) {
  ref::ContextOptions options = options_for(x_job, x_instance);
  options.staged = true;  // on cuda a communicator of NCCL for each fault would cost a second
  options.sabotage = fault;
  options.sabotage->only = x_instance.sabotage_only;
  ref::Context context(x_comm, options);
  const ref::ZeroedMemory no_right_answer_by_chance;
  Sabotaged result{.outputs = x_library.reference(context, inputs), .record = context.sabotage_record()};
  int record[] = {result.record.collectives, result.record.acted ? 1 : 0};
  MPI_Allreduce(MPI_IN_PLACE, record, 2, MPI_INT, MPI_MAX, x_comm);
  result.record = {.collectives = record[0], .acted = record[1] != 0};
  return result;
}

}  // namespace pkb::judge
