// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

/// Made-up results for tests of reports, exactly as `pkb run` and `pkb eval` would write them, and all marked
/// with "synthetic": true. Nothing here was measured.
namespace pkb::report {

struct SyntheticExtent {
  int models = 4, problems = 87, samples = 3, repairs = 2;
  /// Put into every free text: names, sources, replies, diagnoses, compiler output, environment.
  std::string poison = {};
};

/// Campaigns of `extent.models` models on one kind of GPU, one sample of each again on virtual GPUs, one
/// model also on other GPUs and on a shared one. `problems` is the folder of the real ones; what it lacks of
/// `extent.problems` gets an invented name.
void write_synthetic_campaigns(const std::filesystem::path& problems, const std::filesystem::path& out,
                               const SyntheticExtent& extent);

/// `count` result files without campaigns.
void write_synthetic_results(const std::filesystem::path& problems, const std::filesystem::path& out,
                             std::size_t count);

}  // namespace pkb::report
