// SPDX-License-Identifier: Apache-2.0
#include "harness/report/plain.h"

namespace pkb::report {
namespace {

/// Bytes of a character at the start of `text` that is not to be shown: C0, DEL, C1, line separators and the
/// marks, embeddings, overrides and isolates of bidirectional text, in UTF-8.
std::size_t hidden(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  if (byte(0) < 0x20 || byte(0) == 0x7f) return 1;
  if (byte(0) == 0xc2 && byte(1) >= 0x80 && byte(1) < 0xa0) return 2;
  if (byte(0) != 0xe2) return 0;
  if (byte(1) == 0x80 && ((byte(2) >= 0x8b && byte(2) <= 0x8f) || (byte(2) >= 0xa8 && byte(2) <= 0xae)))
    return 3;
  return byte(1) == 0x81 && byte(2) >= 0xa0 && byte(2) <= 0xaf ? 3 : 0;
}

}  // namespace

std::string plain(std::string_view text, std::size_t most) {
  std::string shown;
  while (!text.empty()) {
    if (const std::size_t bytes = hidden(text)) {
      shown += ' ';
      text.remove_prefix(bytes);
    } else {
      shown += text.front();
      text.remove_prefix(1);
    }
    if (shown.size() <= most) continue;
    // Between characters, not within one.
    std::size_t end = most;
    while (end > 0 && (static_cast<unsigned char>(shown[end]) & 0xc0) == 0x80) --end;
    return shown.substr(0, end) + "...";
  }
  return shown;
}

}  // namespace pkb::report
