// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <iosfwd>
#include <string>
#include <vector>

/// Candidates with one planted fault, each beside forms that differ in one thing and are right.
namespace pkb::virtual_gpu::faults {

struct Expectation {
  std::vector<std::string> verdicts;  ///< one of these; `correct` means that nothing is said at all
  /// Regular expressions, case ignored, that all match one and the same diagnosis. `@name` stands for the
  /// line of the source whose comment ends in `@name`.
  std::vector<std::string> says;
  std::string missing = {};  ///< why the virtual GPU does not find the fault yet; empty when it does
};

/// One form of a source, run on so many ranks.
struct Case {
  std::string name;              ///< of the fault, the form and the number of ranks
  std::filesystem::path source;  ///< the .cu file; its forms are selected by a macro
  std::string form;              ///< the macro
  int problem = 0, ranks = 0;
  std::vector<std::string> options;  ///< further words for `pkb eval`
  Expectation expected;
};
void PrintTo(const Case& each, std::ostream* out);  // for GoogleTest

/// The cases of a manifest FOLDER.json, whose sources lie in FOLDER/. @throws std::runtime_error that names
/// the case and what is wrong with it.
std::vector<Case> read_manifest(const std::filesystem::path& manifest);

/// The candidate of a case: the form is defined in the first line, what the source includes by name from the
/// folder above is pasted, and lines keep their numbers.
std::string candidate_of(const Case& each);

/// Why the result of an evaluation (the printed JSON) is not what is expected; empty when it is.
std::string objection(const Case& each, const std::string& result);

}  // namespace pkb::virtual_gpu::faults
