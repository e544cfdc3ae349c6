// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>

namespace pkb {

/// Where something went wrong, what it is and what to do about it; printed as one line.
struct Report {
  std::string where;   ///< file, field or command line part, for example "problems/013_gemm_allreduce/problem.json: sizes.tiny"
  std::string fault;   ///< for example "no value for K, which inputs.A_local needs"
  std::string remedy;  ///< for example "add \"K\""; may be empty
};

/// "where: fault; remedy", without the parts that are empty.
inline std::string to_string(const Report& report) {
  std::string text = report.where.empty() ? report.fault : report.where + ": " + report.fault;
  return report.remedy.empty() ? text : text + "; " + report.remedy;
}

/// The user's input is wrong: exit code 2.
class InputError : public std::runtime_error {
 public:
  explicit InputError(const Report& report) : std::runtime_error(to_string(report)) {}
};

/// The machine cannot do what was asked (no compiler, full disk, killed process): exit code 3.
class EnvironmentError : public std::runtime_error {
 public:
  explicit EnvironmentError(const Report& report) : std::runtime_error(to_string(report)) {}
};

}  // namespace pkb
