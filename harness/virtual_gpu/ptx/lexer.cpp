// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/ptx/lexer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "harness/virtual_gpu/ptx/module.h"

namespace pkb::virtual_gpu::ptx {
namespace {

enum CharClass : std::uint8_t { kBlank = 1, kStart = 2, kDigit = 4, kWord = 8 };

constexpr std::array<std::uint8_t, 256> kClasses = [] {
  std::array<std::uint8_t, 256> classes{};
  for (unsigned char c : std::string_view(" \t\r\n\f\v")) classes[c] |= kBlank;
  for (int c = 'a'; c <= 'z'; ++c) classes[c] |= kStart | kWord;
  for (int c = 'A'; c <= 'Z'; ++c) classes[c] |= kStart | kWord;
  for (unsigned char c : std::string_view("_$%")) classes[c] |= kStart;
  for (unsigned char c : std::string_view("_$")) classes[c] |= kWord;
  for (int c = '0'; c <= '9'; ++c) classes[c] |= kDigit | kWord;
  return classes;
}();

bool is(char c, CharClass what) { return kClasses[static_cast<unsigned char>(c)] & what; }

constexpr std::size_t kQuoted = 60;  // characters of the offending line that a message shows

}  // namespace

Lexer::Lexer(std::string_view text) : x_text(text) { scan(); }

Token Lexer::next() {
  const Token token = x_token;
  scan();
  return token;
}

bool Lexer::accept(std::string_view what) {
  if (!x_token.is(what)) return false;
  scan();
  return true;
}

Token Lexer::expect(std::string_view what) {
  if (!x_token.is(what)) fail(fmt::format("expected '{}'", what));
  return next();
}

Token Lexer::expect(Token::Kind kind, std::string_view description) {
  if (x_token.kind != kind) fail(fmt::format("expected {}", description));
  return next();
}

Token Lexer::next_with_modifiers() {
  std::size_t end = x_position;
  while (at(end) == '.' && is(at(end + 1), kWord)) {
    ++end;
    while (is(at(end), kWord) || (at(end) == ':' && at(end + 1) == ':')) end += at(end) == ':' ? 2 : 1;
  }
  Token token = x_token;
  token.text = {token.text.data(), token.text.size() + (end - x_position)};
  x_position = end;
  scan();
  return token;
}

bool Lexer::colon_follows() const {
  std::size_t end = x_position;
  while (at(end) == ' ' || at(end) == '\t') ++end;
  return at(end) == ':' && at(end + 1) != ':';
}

void Lexer::skip_section() {
  const std::size_t close = x_text.find('}', x_position - x_token.text.size());
  if (close == std::string_view::npos) fail("section without '}'");
  const std::size_t start = x_position - x_token.text.size();
  x_line = x_token.line + std::uint32_t(std::count(x_text.begin() + start, x_text.begin() + close, '\n'));
  x_position = close + 1;
  scan();
}

void Lexer::fail_at(const Token& token, std::string_view fault) const {
  if (token.kind == Token::Kind::end)
    throw ParseError(fmt::format("PTX line {}: {} at the end of the text", token.line, fault));
  const auto offset = std::size_t(token.text.data() - x_text.data());
  std::size_t begin = offset, end = offset;
  while (begin > 0 && x_text[begin - 1] != '\n' && offset - begin < kQuoted / 2) --begin;
  while (end < x_text.size() && x_text[end] != '\n' && end - begin < kQuoted) ++end;
  while (begin < end && is(x_text[begin], kBlank)) ++begin;
  while (end > begin && is(x_text[end - 1], kBlank)) --end;
  std::string quoted(x_text.substr(begin, end - begin));
  std::replace_if(
      quoted.begin(), quoted.end(), [](unsigned char c) { return c < 0x20 || c > 0x7e; }, ' ');
  throw ParseError(fmt::format("PTX line {}: {} at '{}' in: {}", token.line, fault,
                               quoted.substr(std::min(offset - begin, quoted.size()), token.text.size()),
                               quoted));
}

void Lexer::skip_blanks() {
  for (;;) {
    const char c = at(x_position);
    if (c == '\n') {
      ++x_line;
      ++x_position;
    } else if (is(c, kBlank)) {
      ++x_position;
    } else if ((c == '/' && at(x_position + 1) == '/') || c == '#') {  // '#': left by a preprocessor
      x_position = std::min(x_text.find('\n', x_position), x_text.size());
    } else if (c == '/' && at(x_position + 1) == '*') {
      const std::size_t close = x_text.find("*/", x_position + 2);
      if (close == std::string_view::npos) {
        throw ParseError(fmt::format("PTX line {}: comment without '*/'", x_line));
      }
      x_line += std::uint32_t(std::count(x_text.begin() + x_position, x_text.begin() + close, '\n'));
      x_position = close + 2;
    } else {
      return;
    }
  }
}

void Lexer::scan() {
  skip_blanks();
  const std::size_t begin = x_position;
  x_token.line = x_line;
  if (begin >= x_text.size() || x_text[begin] == '\0') {  // nvcc ends embedded texts with a zero
    x_token.kind = Token::Kind::end;
    x_token.text = {};
    return;
  }
  const char c = x_text[begin];
  std::size_t end = begin + 1;
  if (is(c, kStart) && (c != '%' || is(at(end), kStart))) {  // "%" alone is an operator
    x_token.kind = Token::Kind::identifier;
    while (is(at(end), kWord)) ++end;
  } else if (is(c, kDigit)) {
    x_token.kind = Token::Kind::number;
    scan_number();
    return;
  } else if (c == '.' && is(at(end), kStart)) {
    x_token.kind = Token::Kind::dotted;
    while (is(at(end), kWord) || (at(end) == ':' && at(end + 1) == ':')) end += at(end) == ':' ? 2 : 1;
  } else if (c == '"') {
    x_token.kind = Token::Kind::string;
    end = x_text.find('"', end);
    const std::size_t line_end = std::min(x_text.find('\n', begin), x_text.size());
    if (end > line_end)
      throw ParseError(fmt::format("PTX line {}: string without its closing quote", x_line));
    x_token.text = x_text.substr(begin + 1, end - begin - 1);
    x_position = end + 1;
    return;
  } else {
    x_token.kind = Token::Kind::punctuation;
    static constexpr std::string_view kPairs[] = {"<<", ">>", "<=", ">=", "==", "!=", "&&", "||"};
    const std::string_view two = x_text.substr(begin, 2);
    if (std::find(std::begin(kPairs), std::end(kPairs), two) != std::end(kPairs)) ++end;
  }
  x_token.text = x_text.substr(begin, end - begin);
  x_position = end;
}

// A literal ends before the first character that can belong to none; its value is checked where it is used.
void Lexer::scan_number() {
  const std::size_t begin = x_position;
  std::size_t end = begin;
  const auto prefix = char(at(begin + 1) | 0x20);
  const bool patterned =
      at(begin) == '0' && (prefix == 'x' || prefix == 'f' || prefix == 'd' || prefix == 'b');
  for (;;) {
    const char c = at(end);
    const bool exponent_sign = !patterned && end > begin && (at(end - 1) | 0x20) == 'e' &&
                               (c == '+' || c == '-') && is(at(end + 1), kDigit);
    if (!is(c, kWord) && !exponent_sign && (patterned || c != '.')) break;
    ++end;
  }
  x_token.text = x_text.substr(begin, end - begin);
  x_position = end;
}

}  // namespace pkb::virtual_gpu::ptx
