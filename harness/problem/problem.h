// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reference/dtype.h"

/// A problem's description: `problem.json`, validated against `problems/schema.json` and resolved for one
/// size, number of ranks and run dtype. Throws InputError that names file and field.
namespace pkb::problem {

using Shape = std::vector<std::int64_t>;
/// Sizes and parameters by name, with W (ranks) and b (bytes of the run dtype); shapes also see `rank`.
using Symbols = std::map<std::string, double, std::less<>>;

/// How an input is made: Philox-4x32-10 keyed by (seed, trial, tensor, rank or 0 when replicated), counted by
/// the index.
struct Values {
  enum class Kind : std::uint8_t {
    normal,    ///< N(mean, stddev)
    uniform,   ///< [low, high)
    integers,  ///< low..high inclusive; in floating dtypes a zero has a random sign
    bits,      ///< every bit pattern of the dtype alike: NaN payloads, infinities, subnormals and -0 included
    custom,    ///< made by `inputs` in the problem's folder
  };
  Kind kind = Kind::normal;
  double mean = 0, stddev = 1, low = 0, high = 1;
};

/// One tensor of a problem as one rank sees it.
struct Tensor {
  std::string name;
  DType dtype{};
  Shape shape;          ///< on this rank
  Shape largest_shape;  ///< the largest over ranks: what the symmetric buffer is sized for
  bool replicated = false;
  bool in_out = false;         ///< an input that the candidate may change, compared like an output
  /// An output that says how many leading rows of this one hold results; the others may hold anything. Empty:
  /// all do.
  std::string extent{};
  std::vector<Values> values;  ///< inputs: trial t uses values[t % size]
};

/// How one output is judged.
struct Check {
  enum class Kind : std::uint8_t {
    exact,     ///< all bits
    floating,  ///< within a bound per element, and accurate over all
    rows,      ///< the same rows (slices of the first dimension), all bits, in any order
    custom,    ///< `check_outputs` in the problem's folder says
  };
  std::string output;
  Kind kind = Kind::exact;
  bool model_bound = false;        ///< floating: `error_bound` in the problem's folder gives a bound per element
  double atol = 0, rtol = 0;       ///< floating without a model
  double rms_factor = 1.5;         ///< of the accuracy audit, see harness/check/audit.h
  bool exact_on_integers = false;  ///< when all inputs of a trial are `integers`: equality (-0 equals +0)
};

/// Ranks that work together: `ranks_of[g]` lists the world ranks of group g in group order. Every rank is in
/// exactly one group of each name.
struct Group {
  std::string name;
  std::vector<std::vector<int>> ranks_of;
};

/// A problem at one size variant, number of ranks and dtype: all symbols have numbers, all constraints hold.
struct Instance {
  int id = 0;
  std::string name;    ///< "allreduce"
  std::string folder;  ///< "001_allreduce"
  std::string size;    ///< "tiny"
  int variant = 0;     ///< 0 is the size itself, k its k-th variant
  int ranks = 0;
  DType dtype = DType::bf16;
  Symbols symbols;  ///< sizes, parameters, W and b
  /// The scalars of Args: symbols, then parameters, in problem.json's order.
  std::vector<std::string> parameter_names;
  std::vector<Group> groups;  ///< "world" first
  std::vector<Check> checks;
  /// `pkb audit` spoils messages of this dtype only, as the others say who sends what to whom; none: all.
  std::optional<DType> sabotage_only = {};
  /// Lazy answers that change nothing, or the first words of several -> why. See `pkb audit`.
  std::map<std::string, std::string> harmless;

  /// Inputs then outputs, in problem.json's order, as `rank` sees them. A tensor that a rank does not have
  /// (an output on the root only) has an empty buffer there: its shape's first extent is 0.
  struct Tensors {
    std::vector<Tensor> inputs, outputs;
  };
  std::vector<Tensors> tensors_of;  ///< by rank
};

/// Work a problem cannot avoid, per rank (the busiest), evaluated from the `cost` formulas.
struct Cost {
  double flops = 0, hbm_bytes = 0, sent_bytes = 0, received_bytes = 0;
};

struct Description;

/// One `problem.json`, loaded and validated. Cheap to copy.
class Problem {
 public:
  /// @throws InputError naming the file and the field.
  static Problem load(const std::filesystem::path& folder);

  int id() const;
  const std::string& name() const;
  const std::string& title() const;
  const std::string& family() const;
  const std::string& workload() const;
  const std::string& parallelism() const;
  const std::filesystem::path& folder() const;  ///< absolute
  const std::string& text() const;              ///< problem.json as written
  std::vector<std::string> sizes() const;
  /// Ranks that size `size` is meant for, the default first. @throws InputError when the size does not exist.
  std::vector<int> ranks(std::string_view size) const;

  struct Choice {
    std::string size = "tiny";
    int ranks = 0;  ///< 0: the size's default
    DType dtype = DType::bf16;
  };
  /// The size itself, then each variant. @throws InputError when the size does not exist, when a formula has
  /// no usable value or when a constraint fails (with the constraint's own message).
  std::vector<Instance> instances(const Choice& choice) const;
  Cost cost(const Instance& instance) const;

  /// Resolves every size for each of its numbers of ranks and the run dtypes bf16, fp16 and fp32, as the
  /// build does for each problem. @throws InputError for the first that fails.
  void check_sizes() const;

  /// The header a candidate includes as <pkb/NAME.h>: typed Args and the glue that the worker calls.
  std::string candidate_header() const;

 private:
  explicit Problem(std::shared_ptr<const Description> description);
  std::shared_ptr<const Description> x_description;
};

/// Every problem under `root` (the `problems` folder), by id.
std::vector<Problem> load_all(const std::filesystem::path& root);

/// The problem that `id_or_name` means: "1", "001", "allreduce" or "001_allreduce".
/// @throws InputError with the closest names when there is none.
Problem find(const std::filesystem::path& root, std::string_view id_or_name);

}  // namespace pkb::problem
