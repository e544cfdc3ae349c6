// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace pkb::cli {

/// Lines at the bottom of a terminal on standard error that are drawn over again; nothing where that is no terminal.
class LiveView {
 public:
  LiveView();
  ~LiveView() { clear(); }
  LiveView(const LiveView&) = delete;
  LiveView& operator=(const LiveView&) = delete;

  /// Rows of the terminal.
  std::size_t height() const;
  /// Lines longer than the terminal is wide are cut. What was there already is not drawn again.
  void show(const std::vector<std::string>& lines);
  /// Before anything else is printed.
  void clear();

 private:
  bool x_terminal;
  std::vector<std::string> x_shown;
};

}  // namespace pkb::cli
