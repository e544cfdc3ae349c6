// SPDX-License-Identifier: Apache-2.0
#include "harness/model/event_stream.h"

#include <utility>

namespace pkb::model {

void EventStream::feed(std::string_view bytes) {
  for (const char c : bytes) {
    const bool ends_pair = std::exchange(x_after_return, c == '\r') && c == '\n';
    if (ends_pair) continue;
    if (c == '\n' || c == '\r')
      take_line();
    else
      x_line += c;
  }
}

void EventStream::finish() {
  if (!x_line.empty()) take_line();
  dispatch();
}

void EventStream::take_line() {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  std::string line = std::exchange(x_line, {});
  if (std::exchange(x_first_line, false) && line.starts_with(kByteOrderMark)) line.erase(0, kByteOrderMark.size());
  if (line.empty()) return dispatch();
  const std::size_t colon = line.find(':');
  const std::string_view field = std::string_view(line).substr(0, colon);
  std::string_view value = colon == std::string::npos ? std::string_view() : std::string_view(line).substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (field == "event") {
    x_event.type = value;
  } else if (field == "data") {
    if (std::exchange(x_has_data, true)) x_event.data += '\n';
    x_event.data += value;
  }
}

void EventStream::dispatch() {
  const ServerEvent event = std::exchange(x_event, {});
  if (std::exchange(x_has_data, false)) x_receive(event);
}

}  // namespace pkb::model
