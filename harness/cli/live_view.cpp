// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/live_view.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace pkb::cli {
namespace {

winsize terminal_size() {
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0)
    size = {24, 80, 0, 0};
  return size;
}

}  // namespace

LiveView::LiveView() : x_terminal(::isatty(STDERR_FILENO) == 1) {}

std::size_t LiveView::height() const { return terminal_size().ws_row; }

void LiveView::show(const std::vector<std::string>& lines) {
  if (!x_terminal || lines == x_shown) return;
  clear();
  std::string text;
  const std::size_t width = terminal_size().ws_col;
  for (const std::string& line : lines) text += line.substr(0, width - 1) + "\n";
  fmt::print(stderr, "{}", text);
  x_shown = lines;
}

void LiveView::clear() {
  if (x_terminal && !x_shown.empty()) fmt::print(stderr, "\033[{}A\033[J", x_shown.size());
  x_shown.clear();
}

}  // namespace pkb::cli
