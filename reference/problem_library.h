// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string_view>

#include "reference/problem.h"

namespace pkb::ref {

/// The compiled folder of one problem, `problems/NNN_name.so` of the build. Once loaded it stays, since
/// exceptions and functors from it may outlive this.
class ProblemLibrary {
 public:
  /// `folder` is the problem's folder name, such as "013_gemm_allreduce"; `libraries` is where the build puts
  /// them.
  /// @throws std::runtime_error that says what is missing and how to get it.
  explicit ProblemLibrary(std::string_view folder, const std::filesystem::path& libraries = default_folder());

  /// `problems` beside the folder of the running program, as in the build tree.
  static std::filesystem::path default_folder();

  Tensors reference(Context& ctx, const Tensors& in) const { return x_entry->reference(ctx, in); }
  bool has_error_bound() const { return x_entry->error_bound != nullptr; }
  bool has_make_inputs() const { return x_entry->make_inputs != nullptr; }
  void make_inputs(Context& ctx, const InputRequest& request, Tensors& in) const {
    x_entry->make_inputs(ctx, request, in);
  }
  bool has_check_outputs() const { return x_entry->check_outputs != nullptr; }
  Tensors check_outputs(Context& ctx, const Judged& judged) const {
    return x_entry->check_outputs(ctx, judged);
  }
  Tensors error_bound(Context& ctx, const Tensors& in) const { return x_entry->error_bound(ctx, in); }

 private:
  const ProblemEntry* x_entry;
};

}  // namespace pkb::ref
