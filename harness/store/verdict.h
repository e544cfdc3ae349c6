// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>
#include <vector>

namespace pkb {

/// In order of precedence: where several apply, the first is the verdict.
enum class Verdict : std::uint8_t {
  no_code,
  compile_error,
  load_error,
  unsupported,  ///< the virtual GPU lacks a feature; not the candidate's fault
  disqualified,
  crash,
  deadlock,
  timeout,
  wrong_result,
  memory_fault,
  race,
  nondeterministic,
  correct,
};

inline constexpr std::string_view kVerdictNames[] = {
    "no_code", "compile_error", "load_error",   "unsupported", "disqualified",     "crash",   "deadlock",
    "timeout", "wrong_result",  "memory_fault", "race",        "nondeterministic", "correct",
};

constexpr std::string_view name_of(Verdict verdict) {
  return kVerdictNames[static_cast<std::size_t>(verdict)];
}
constexpr std::optional<Verdict> verdict_from(std::string_view name) {
  for (std::size_t i = 0; i < std::size(kVerdictNames); ++i)
    if (kVerdictNames[i] == name) return static_cast<Verdict>(i);
  return std::nullopt;
}

/// One thing found wrong, by a check, the virtual GPU or the judge.
struct Diagnosis {
  Verdict verdict = Verdict::wrong_result;  ///< what this finding alone would make of the evaluation
  int rank = -1;
  int trial = -1;
  std::string text;  ///< one English sentence

  // Of outputs that are wrong; see harness/diagnosis.
  std::string output{}, what{}, category{}, explanation{};
  std::int64_t elements = 0, wrong = 0, explained = 0, first = -1;
  std::vector<double> got_by_rank{}, golden_by_rank{};  ///< at `first`
};

}  // namespace pkb
