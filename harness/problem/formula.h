// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "harness/problem/problem.h"

/// Formulas of problem.json, evaluated by muParser: + - * / ^, comparisons, && and ||, c ? a : b,
/// min, max, abs, sqrt, log2, and of ours floor, ceil, mod(a, m) with the sign of m. Everything is a double.
namespace pkb::problem {

/// What is wrong with a formula; the caller knows where it stands.
class FormulaError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The symbols that `formula` mentions, each once. @throws FormulaError when it is not a formula.
std::vector<std::string> names_in(const std::string& formula);

/// @throws FormulaError for a syntax error, an unknown symbol or a result that is not finite.
double evaluate(const std::string& formula, const Symbols& symbols);

/// As above, for results that count something: an integer of magnitude below 2^53, where a double tells
/// neighbours apart. @throws FormulaError
std::int64_t evaluate_integer(const std::string& formula, const Symbols& symbols);

inline constexpr double kIntegerLimit = 0x1p53;

}  // namespace pkb::problem
