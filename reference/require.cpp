// SPDX-License-Identifier: Apache-2.0
#include "reference/require.h"

#include <fmt/format.h>

namespace pkb::ref {

Shown::Shown(const Shape& shape) : x_text(fmt::format("({})", fmt::join(shape, ", "))) {}
Shown::Shown(double number) : x_text(fmt::format("{}", number)) {}

std::string show(std::string_view format, std::initializer_list<Shown> arguments) {
  std::string text;
  for (const Shown& argument : arguments) {
    const std::size_t hole = format.find("{}");
    text += format.substr(0, hole);
    if (hole == std::string_view::npos) return text;
    text += argument.text();
    format.remove_prefix(hole + 2);
  }
  return text += format;
}

}  // namespace pkb::ref
