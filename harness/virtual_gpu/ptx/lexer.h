// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace pkb::virtual_gpu::ptx {

struct Token {
  enum class Kind : std::uint8_t {
    end,
    identifier,  ///< name, register or label
    dotted,      ///< ".reg", ".u32"
    number,      ///< any integer or real literal, unchecked
    string,      ///< the characters between the quotes
    punctuation,
  };
  Kind kind = Kind::end;
  std::string_view text;
  std::uint32_t line = 1;

  // The first two conditions decide nearly always, and a call of memcmp would cost more than they do.
  /// @param what not empty
  bool is(std::string_view what) const {
    return text.size() == what.size() && text[0] == what[0] && (text.size() == 1 || text == what) &&
           kind != Kind::string;
  }
};

/// Cuts PTX text into tokens, one ahead. Tokens point into the text.
class Lexer {
 public:
  explicit Lexer(std::string_view text);

  const Token& peek() const { return x_token; }
  Token next();
  bool accept(std::string_view what);
  /// @throws ParseError naming what was expected
  Token expect(std::string_view what);
  Token expect(Token::Kind kind, std::string_view description);

  /// Takes an identifier with everything attached to it: "ld.global.L2::128B.v4.f32", "%tid.x". A modifier
  /// written apart ("add .s32") stays a token of its own.
  Token next_with_modifiers();
  /// True when the current token is directly followed by ':' that is not part of '::'.
  bool colon_follows() const;
  /// Skips to behind the brace that closes the one just taken. Only for sections, whose text has no nested
  /// braces.
  void skip_section();

  [[noreturn]] void fail(std::string_view fault) const { fail_at(x_token, fault); }
  [[noreturn]] void fail_at(const Token& token, std::string_view fault) const;

 private:
  void skip_blanks();
  void scan();
  void scan_number();
  char at(std::size_t index) const { return index < x_text.size() ? x_text[index] : '\0'; }

  std::string_view x_text;
  std::size_t x_position = 0;  ///< behind x_token
  std::uint32_t x_line = 1;
  Token x_token;
};

}  // namespace pkb::virtual_gpu::ptx
