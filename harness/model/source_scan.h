// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace pkb::model {

/// Follows C++ source text far enough to know what is code and what is comment or literal.
class SourceScan {
 public:
  void feed(std::string_view text);

  /// Within a block comment or raw string, whose text may look like anything.
  bool inside_text() const { return x_state == State::block_comment || x_state == State::raw_string; }
  /// At the end of the source: nothing is left open.
  bool is_closed() const { return !inside_text() && x_braces == 0; }
  /// The source without comments and the contents of literals.
  const std::string& code() const { return x_code; }
  /// The comments, one to a line.
  const std::string& comments() const { return x_comments; }

 private:
  enum class State { code, line_comment, block_comment, string, character, raw_string };
  void step_code(char c);

  State x_state = State::code;
  int x_braces = 0;
  char x_previous = 0;
  bool x_escaped = false;
  std::string x_code, x_comments, x_tail, x_delimiter;
  bool x_raw_opening = false;
};

}  // namespace pkb::model
