// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace pkb::process {

/// What another process printed, of which the first and the last part are kept: it may print without end.
class CapturedOutput {
 public:
  explicit CapturedOutput(std::size_t limit) : x_limit(limit) {}

  void append(std::string_view bytes);
  /// Reads what descriptor `fd` has now; false when its writers are gone. `fd` must not block.
  bool drain(int fd);
  /// Head and tail with a line between them that says how much is missing. Valid UTF-8: other bytes become
  /// '?'.
  std::string text() const;
  /// The last `count` lines.
  std::string last_lines(std::size_t count) const;

 private:
  std::size_t x_limit;
  std::size_t x_omitted = 0;
  std::string x_head, x_tail;
};

}  // namespace pkb::process
