// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "harness/problem/description.h"
#include "harness/problem/problem.h"

namespace pkb::problem {
namespace {

std::string tensor_member(const TensorDescription& tensor, std::string_view role) {
  return fmt::format("  Tensor {};  ///< {}, {}, ({}){}: {}\n", tensor.name, role,
                     tensor.dtype ? name_of(*tensor.dtype) : "T", fmt::join(tensor.shape, ", "),
                     tensor.replicated ? ", the same on every rank" : "",
                     tensor.extent.empty() ? tensor.doc
                                           : fmt::format("{}; the first `{}` rows count", tensor.doc, tensor.extent));
}

std::string scalar_member(const Parameter& parameter) {
  return fmt::format("  {} {} = 0;  ///< {}\n", parameter.real ? "double" : "std::int64_t", parameter.name,
                     parameter.doc);
}

/// Designated initialisers of Args, in the order of its members.
std::string initialisers(const Description& d) {
  std::vector<std::string> lines;
  for (const auto* list : {&d.inputs, &d.outputs})
    for (const TensorDescription& tensor : *list)
      lines.push_back(fmt::format(".{} = tensors[{}]", tensor.name, lines.size()));
  for (std::size_t i = 0; i < d.parameters.size(); ++i) {
    const Parameter& parameter = d.parameters[i];
    lines.push_back(parameter.real
                        ? fmt::format(".{} = parameters[{}]", parameter.name, i)
                        : fmt::format(".{} = static_cast<std::int64_t>(parameters[{}])", parameter.name, i));
  }
  return fmt::format("{}", fmt::join(lines, ",\n          "));
}

// The functions of a candidate are weak: one that it does not define is a null pointer in its library. The
// glue is weak too, so that several sources of a candidate may include the header.
constexpr const char* kHeader = R"(// SPDX-License-Identifier: Apache-2.0
// Written by pkb-describe from problems/{folder}/problem.json; changes here are lost.
#pragma once

#include <pkb/candidate.h>

#if defined(PKB_PROBLEM) && PKB_PROBLEM != {id}
#error "<pkb/{name}.h> belongs to problem {id}; this candidate is judged on another one, whose header it must include"
#endif

namespace pkb {{

/// {title}.
/// W is the number of ranks, T the run dtype.
struct Args {{
{members}}};

}}  // namespace pkb

/// Optional, not timed: allocate symmetric memory here. Every rank calls it once.
[[gnu::weak]] void setup(pkb::Context& ctx, const pkb::Args& args);
/// Enqueues the work of one iteration on ctx.stream().
[[gnu::weak]] void run(pkb::Context& ctx, const pkb::Args& args);
/// Optional: the last call.
[[gnu::weak]] void teardown(pkb::Context& ctx);

// What the worker calls: tensors are the inputs, then the outputs; parameters are the scalars of Args.
namespace pkb::glue {{

inline Args args_of([[maybe_unused]] const Tensor* tensors, [[maybe_unused]] const double* parameters) {{
  return {{{initialisers}}};
}}

}}  // namespace pkb::glue

PKB_GLUE int pkb_candidate_abi() {{ return pkb::kAbi; }}
PKB_GLUE int pkb_candidate_problem() {{ return {id}; }}
PKB_GLUE int pkb_candidate_has_run() {{ return run != nullptr; }}
PKB_GLUE void pkb_candidate_setup(pkb::Context* ctx, const pkb::Tensor* tensors, const double* parameters) {{
  if (setup != nullptr) setup(*ctx, pkb::glue::args_of(tensors, parameters));
}}
PKB_GLUE void pkb_candidate_run(pkb::Context* ctx, const pkb::Tensor* tensors, const double* parameters) {{
  run(*ctx, pkb::glue::args_of(tensors, parameters));
}}
PKB_GLUE void pkb_candidate_teardown(pkb::Context* ctx) {{
  if (teardown != nullptr) teardown(*ctx);
}}
)";

}  // namespace

std::string Problem::candidate_header() const {
  const Description& d = *x_description;
  std::string members;
  for (const TensorDescription& tensor : d.inputs)
    members += tensor_member(tensor, tensor.in_out ? "in and out" : "in");
  for (const TensorDescription& tensor : d.outputs) members += tensor_member(tensor, "out");
  for (const Parameter& parameter : d.parameters) members += scalar_member(parameter);
  return fmt::format(kHeader, fmt::arg("folder", d.folder.filename().string()), fmt::arg("id", d.id),
                     fmt::arg("name", d.name), fmt::arg("title", d.title), fmt::arg("members", members),
                     fmt::arg("initialisers", initialisers(d)));
}

}  // namespace pkb::problem
