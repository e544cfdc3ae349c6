// SPDX-License-Identifier: Apache-2.0
#include "harness/problem/formula.h"

#include <fmt/format.h>
#include <muParser.h>

#include <cmath>

namespace pkb::problem {
namespace {

double floor_of(double x) { return std::floor(x); }
double ceil_of(double x) { return std::ceil(x); }
double mod_of(double a, double m) { return a - m * std::floor(a / m); }

mu::Parser parser_of(const std::string& formula) {
  mu::Parser parser;
  parser.ClearConst();  // muParser's own _pi and _e: a formula counts bytes and operations
  parser.DefineFun("floor", floor_of);
  parser.DefineFun("ceil", ceil_of);
  parser.DefineFun("mod", mod_of);
  parser.SetExpr(formula);
  return parser;
}

FormulaError syntax_error(const std::string& formula, const mu::Parser::exception_type& error) {
  std::string message = error.GetMsg();
  while (!message.empty() && (message.back() == '.' || message.back() == '\n')) message.pop_back();
  return FormulaError(fmt::format("\"{}\" is not a formula: {}", formula, message));
}

}  // namespace

std::vector<std::string> names_in(const std::string& formula) {
  try {
    std::vector<std::string> names;
    mu::Parser parser = parser_of(formula);
    for (const auto& [name, value] : parser.GetUsedVar()) names.push_back(name);
    return names;
  } catch (const mu::Parser::exception_type& error) {
    throw syntax_error(formula, error);
  }
}

double evaluate(const std::string& formula, const Symbols& symbols) {
  for (const std::string& name : names_in(formula))
    if (!symbols.contains(name))
      throw FormulaError(fmt::format("\"{}\" needs {}, which has no value", formula, name));
  try {
    mu::Parser parser = parser_of(formula);
    // Constants, because muParser lets a formula assign to a variable.
    for (const auto& [name, value] : symbols) parser.DefineConst(name, value);
    int count = 0;
    const double value = parser.Eval(count)[0];
    if (count != 1) throw FormulaError(fmt::format("\"{}\" is {} formulas", formula, count));
    if (!std::isfinite(value))
      throw FormulaError(fmt::format("\"{}\" is {}, not a finite number", formula, value));
    return value;
  } catch (const mu::Parser::exception_type& error) {
    throw syntax_error(formula, error);
  }
}

std::int64_t evaluate_integer(const std::string& formula, const Symbols& symbols) {
  const double value = evaluate(formula, symbols);
  if (std::abs(value) >= kIntegerLimit)
    throw FormulaError(fmt::format("\"{}\" is {}, not below 2^53", formula, value));
  if (value != std::floor(value))
    throw FormulaError(fmt::format("\"{}\" is {}, not an integer", formula, value));
  return static_cast<std::int64_t>(value);
}

}  // namespace pkb::problem
