// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace pkb::report {

/// JSON, written as it is told. Reports hold hundreds of megabytes of it: a tree of values first would cost
/// several times what the text does.
///
///     json.open('{').key("name").add("a").key("times").open('[').add(1.5).add(2).close(']').close('}');
class JsonText {
 public:
  enum class Letters : std::uint8_t {
    utf8,
    ascii,  ///< all others as \uXXXX
  };
  explicit JsonText(Letters letters = Letters::utf8) : x_letters(letters) {}

  JsonText& open(char bracket);
  JsonText& close(char bracket);
  JsonText& key(std::string_view name);

  /// Bytes that are no UTF-8 become U+FFFD.
  JsonText& add(std::string_view text);
  /// Infinities and NaN become null.
  JsonText& add(double value);
  JsonText& add(std::nullptr_t) { return add_raw("null"); }
  /// A template, so that no pointer is taken for true.
  template <std::integral T>
  JsonText& add(T value) {
    if constexpr (std::same_as<T, bool>) return add_raw(value ? "true" : "false");
    return add_integer(static_cast<std::int64_t>(value));
  }
  /// With five significant digits.
  JsonText& add_rounded(double value);
  /// JSON that others have written.
  JsonText& add_raw(std::string_view json);

  /// Between values, for who looks at the text.
  JsonText& end_line() {
    x_text += '\n';
    return *this;
  }

  const std::string& text() const { return x_text; }
  std::string take() { return std::exchange(x_text, {}); }

 private:
  JsonText& add_integer(std::int64_t value);
  void separate();
  void append_quoted(std::string_view text);
  void append_escaped(char32_t character);

  Letters x_letters;
  bool x_follows = false;  ///< the next value needs a comma
  std::string x_text;
};

}  // namespace pkb::report
