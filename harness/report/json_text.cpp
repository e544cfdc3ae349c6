// SPDX-License-Identifier: Apache-2.0
#include "harness/report/json_text.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>

#include "harness/process/utf8.h"

namespace pkb::report {
namespace {

bool stands_for_itself(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x20 && byte < 0x7f && c != '"' && c != '\\';
}

/// Of a well-formed sequence of `length` bytes.
char32_t decoded(std::string_view text, std::size_t length) {
  if (length == 1) return static_cast<unsigned char>(text[0]);
  char32_t character = static_cast<unsigned char>(text[0]) & (0x7fu >> length);
  for (std::size_t i = 1; i < length; ++i)
    character = character << 6 | (static_cast<unsigned char>(text[i]) & 0x3fu);
  return character;
}

constexpr char32_t kReplacement = 0xfffd;

}  // namespace

void JsonText::separate() {
  if (std::exchange(x_follows, true)) x_text += ',';
}

JsonText& JsonText::open(char bracket) {
  separate();
  x_text += bracket;
  x_follows = false;
  return *this;
}

JsonText& JsonText::close(char bracket) {
  x_text += bracket;
  x_follows = true;
  return *this;
}

JsonText& JsonText::key(std::string_view name) {
  separate();
  append_quoted(name);
  x_text += ':';
  x_follows = false;
  return *this;
}

JsonText& JsonText::add(std::string_view text) {
  separate();
  append_quoted(text);
  return *this;
}

JsonText& JsonText::add(double value) {
  if (!std::isfinite(value)) return add(nullptr);
  separate();
  fmt::format_to(std::back_inserter(x_text), "{}", value);
  return *this;
}

JsonText& JsonText::add_rounded(double value) {
  if (!std::isfinite(value)) return add(nullptr);
  separate();
  fmt::format_to(std::back_inserter(x_text), "{:.5g}", value);
  return *this;
}

JsonText& JsonText::add_integer(std::int64_t value) {
  const fmt::format_int digits(value);
  return add_raw({digits.data(), digits.size()});
}

JsonText& JsonText::add_raw(std::string_view json) {
  separate();
  x_text += json;
  return *this;
}

void JsonText::append_quoted(std::string_view text) {
  x_text += '"';
  while (!text.empty()) {
    std::size_t plain = 0;
    while (plain < text.size() && stands_for_itself(text[plain])) ++plain;
    x_text += text.substr(0, plain);
    text.remove_prefix(plain);
    if (text.empty()) break;
    const std::size_t length = process::utf8_length(text);
    if (length > 1 && x_letters == Letters::utf8)
      x_text += text.substr(0, length);
    else
      append_escaped(length == 0 ? kReplacement : decoded(text, length));
    text.remove_prefix(length == 0 ? 1 : length);
  }
  x_text += '"';
}

void JsonText::append_escaped(char32_t character) {
  const auto unit = [this](std::uint32_t value) {
    fmt::format_to(std::back_inserter(x_text), "\\u{:04x}", value);
  };
  if (character == '\n') {
    x_text += "\\n";
  } else if (character == '"' || character == '\\') {
    x_text += '\\';
    x_text += static_cast<char>(character);
  } else if (character >= 0x10000) {
    unit(0xd800 + ((character - 0x10000) >> 10));
    unit(0xdc00 + ((character - 0x10000) & 0x3ff));
  } else {
    unit(character);
  }
}

}  // namespace pkb::report
