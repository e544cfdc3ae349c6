// SPDX-License-Identifier: Apache-2.0
#include "harness/model/source_scan.h"

#include <cctype>
#include <utility>

namespace pkb::model {

void SourceScan::feed(std::string_view text) {
  for (const char c : text) {
    switch (x_state) {
      case State::code:
        step_code(c);
        break;
      case State::line_comment:
        x_comments += c;
        if (c == '\n') {
          x_state = State::code;
          x_code += c;
        }
        break;
      case State::block_comment:
        x_comments += c;
        if (c == '/' && x_previous == '*') {
          x_state = State::code;
          x_comments += '\n';
          x_code += ' ';
          x_previous = 0;
          continue;
        }
        break;
      case State::string:
      case State::character:
        if (std::exchange(x_escaped, !x_escaped && c == '\\')) break;
        // A literal that its line does not close is an apostrophe somewhere else, in #error for example.
        if (c == '\n' || c == (x_state == State::string ? '"' : '\'')) {
          x_state = State::code;
          x_escaped = false;
          x_code += c;
        }
        break;
      case State::raw_string:
        if (x_raw_opening) {
          if (c == '(') {
            x_raw_opening = false;
            x_delimiter = ")" + x_delimiter + "\"";
            x_tail.clear();
          } else {
            x_delimiter += c;
          }
          break;
        }
        x_tail += c;
        if (x_tail.size() > x_delimiter.size()) x_tail.erase(0, 1);
        if (x_tail == x_delimiter) {
          x_state = State::code;
          x_code += '"';
        }
        break;
    }
    x_previous = c;
  }
}

void SourceScan::step_code(char c) {
  if (c == '/' && x_previous == '/') {
    x_state = State::line_comment;
    x_code.pop_back();
  } else if (c == '*' && x_previous == '/') {
    x_state = State::block_comment;
    x_code.pop_back();
    x_previous = 0;
  } else if (c == '"') {
    const bool raw = x_previous == 'R';
    x_state = raw ? State::raw_string : State::string;
    x_raw_opening = raw;
    x_delimiter.clear();
    x_code += c;
  } else if (c == '\'' && std::isalnum(static_cast<unsigned char>(x_previous)) == 0) {  // else it separates digits
    x_state = State::character;
    x_code += c;
  } else {
    x_braces += c == '{' ? 1 : c == '}' ? -1 : 0;
    x_code += c;
  }
}

}  // namespace pkb::model
