// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ostream>
#include <span>
#include <string>

namespace pkb::integrity {

/// A hostile candidate and what it meets on virtual GPUs.
struct Attack {
  const char* name;       ///< of its file in candidates/
  const char* verdict;    ///< a regular expression
  const char* text = "";  ///< one that some diagnosis contains
  int ranks = 2;
  bool slow = false;  ///< waits for the deadline of a setup, which no option makes short
};
inline void PrintTo(const Attack& attack, std::ostream* to) { *to << attack.name; }
inline std::string name_of(const Attack& attack) {
  return std::string(attack.name).append("_").append(std::to_string(attack.ranks));
}

std::span<const Attack> attacks();

}  // namespace pkb::integrity
