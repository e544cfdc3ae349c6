// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace pkb::model {

/// One server-sent event.
struct ServerEvent {
  std::string type;  ///< empty when the stream names none
  std::string data;  ///< lines joined by '\n'
};

/// Reads a text/event-stream as it arrives, cut anywhere (WHATWG HTML, 9.2.6 "Interpreting an event stream"). Other than
/// there, an event that the end of the stream cuts off before its empty line counts: servers forget that line.
class EventStream {
 public:
  explicit EventStream(std::function<void(const ServerEvent&)> receive) : x_receive(std::move(receive)) {}

  void feed(std::string_view bytes);
  void finish();

 private:
  void take_line();
  void dispatch();

  std::function<void(const ServerEvent&)> x_receive;
  std::string x_line;
  ServerEvent x_event;
  bool x_has_data = false;
  bool x_after_return = false;  ///< a '\n' that follows belongs to the '\r' before it
  bool x_first_line = true;
};

}  // namespace pkb::model
