// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "reference/dtype.h"

namespace pkb::ref {

using Shape = std::vector<std::int64_t>;

/// Operands whose shapes do not fit together.
class ShapeError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// An element type that an operator does not take.
class DTypeError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// An argument of an error message, already text: a shape as (2, 3), a dtype by its name, a number or a
/// string.
class Shown {
 public:
  Shown(const Shape& shape);
  Shown(DType dtype) : x_text(name_of(dtype)) {}
  Shown(std::string_view text) : x_text(text) {}
  Shown(const std::string& text) : x_text(text) {}
  Shown(const char* text) : x_text(text) {}
  Shown(std::integral auto number) : x_text(std::to_string(number)) {}
  Shown(double number);
  const std::string& text() const { return x_text; }

 private:
  std::string x_text;
};

/// `format` with each {} replaced by the next argument.
std::string show(std::string_view format, std::initializer_list<Shown> arguments);

/// Throws `Error` with show(format, arguments...) unless `condition` holds; messages cost nothing until then.
template <class Error = ShapeError, class... Arguments>
void require(bool condition, std::string_view format, const Arguments&... arguments) {
  if (!condition) [[unlikely]]
    throw Error(show(format, {Shown(arguments)...}));
}

}  // namespace pkb::ref
