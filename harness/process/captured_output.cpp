// SPDX-License-Identifier: Apache-2.0
#include "harness/process/captured_output.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "harness/process/utf8.h"

namespace pkb::process {
namespace {

std::string printable(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  while (!bytes.empty()) {
    const std::size_t length = utf8_length(bytes);
    const bool control =
        length == 1 && static_cast<unsigned char>(bytes[0]) < 0x20 && bytes[0] != '\n' && bytes[0] != '\t';
    if (length == 0 || control)
      text += '?';
    else
      text += bytes.substr(0, length);
    bytes.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return text;
}

}  // namespace

void CapturedOutput::append(std::string_view bytes) {
  const std::size_t to_head = std::min(bytes.size(), x_limit / 2 - std::min(x_limit / 2, x_head.size()));
  x_head += bytes.substr(0, to_head);
  x_tail += bytes.substr(to_head);
  // Trimmed at twice its size, so that a flood in small pieces costs linear time.
  const std::size_t keep = x_limit - x_limit / 2;
  if (x_tail.size() > 2 * keep) {
    x_omitted += x_tail.size() - keep;
    x_tail.erase(0, x_tail.size() - keep);
  }
}

bool CapturedOutput::drain(int fd) {
  char buffer[16384];
  // A bounded number of reads: a process that floods must not keep its reader from anything else.
  for (int reads = 0; reads < 16; ++reads) {
    const ssize_t count = ::read(fd, buffer, sizeof buffer);
    if (count == 0) return false;
    if (count < 0) return errno == EAGAIN || errno == EINTR;
    append({buffer, static_cast<std::size_t>(count)});
  }
  return true;
}

std::string CapturedOutput::text() const {
  const std::size_t keep = x_limit - x_limit / 2;
  const std::size_t extra = x_tail.size() > keep ? x_tail.size() - keep : 0;
  if (x_omitted + extra == 0) return printable(x_head + x_tail);
  return fmt::format("{}\n[{} bytes left out]\n{}", printable(x_head), x_omitted + extra,
                     printable(std::string_view(x_tail).substr(extra)));
}

std::string CapturedOutput::last_lines(std::size_t count) const {
  std::string all = text();
  while (!all.empty() && all.back() == '\n') all.pop_back();
  std::size_t start = all.size();
  for (std::size_t i = 0; i < count && start != std::string::npos && start > 0; ++i)
    start = all.rfind('\n', start - 1);
  return start == std::string::npos ? all : all.substr(start == 0 ? 0 : start + 1);
}

}  // namespace pkb::process
