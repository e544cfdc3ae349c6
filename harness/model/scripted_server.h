// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace pkb::model {

/// A server of the tests on 127.0.0.1: every connection gets one reply of a script, byte for byte, right or wrong.
class ScriptedServer {
 public:
  struct Step {
    std::string bytes;
    std::chrono::milliseconds before{0};
    std::size_t piece = 0;                    ///< send in pieces of so many bytes, a millisecond apart; 0: at once
    bool reset = false;                       ///< then break the connection
  };
  using Reply = std::vector<Step>;

  /// The last reply is repeated without end.
  explicit ScriptedServer(std::vector<Reply> script);
  ~ScriptedServer();
  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;

  std::string address() const;               ///< "http://127.0.0.1:PORT/v1"
  std::vector<std::string> requests() const;  ///< head and body of each, in the order in which they came
  int most_at_once() const { return x_most; }

 private:
  void accept_all();
  void serve(int connection);

  std::vector<Reply> x_script;
  int x_listener = -1, x_port = 0;
  std::atomic<bool> x_stop{false};
  std::atomic<int> x_now{0}, x_most{0};
  mutable std::mutex x_mutex;
  std::condition_variable x_stopping;
  std::vector<std::string> x_requests;
  std::vector<std::thread> x_servers;
  std::thread x_thread;
};

/// An HTTP/1.1 reply that ends with its connection.
std::string http(int status, const std::string& body, const std::string& headers = "content-type: application/json\r\n");

}  // namespace pkb::model
