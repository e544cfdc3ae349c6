// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/model/api.h"
#include "harness/model/retry.h"

namespace pkb::model {

/// One request that went out.
struct Exchange {
  nlohmann::json request;  ///< the body; never the key
  long status = 0;         ///< of HTTP; 0 when none came
  std::string raw = {};    ///< the body of the reply as it came
  std::string error = {};  ///< what went wrong, one sentence; empty when nothing did
  Seconds duration{0}, first_byte{0};
  Seconds wait{0};         ///< before the next one, when there is one
};

/// How a prompt ended, after all that was tried.
struct Outcome {
  Completion completion;
  std::string failure;  ///< one sentence; empty when there is a completion
  bool is_final = true; ///< asking again would not help
  std::vector<Exchange> exchanges;
};

struct ClientOptions {
  std::string endpoint;
  const Api* api = nullptr;
  std::string key;
  int concurrency = 8;
  double requests_per_minute = 0;  ///< 0: as fast as they come
  Seconds connect_timeout{30}, idle_timeout{300}, total_timeout{3600};
  Seconds longest_wait{600};       ///< obeyed of what a server asks for
  Seconds patience{24 * 3600.0};   ///< after which a prompt is given up
  int most_failures = 8;           ///< in a row that are no answer of the server at all: broken streams, no connection
  std::uint64_t seed = 0;          ///< of the jitter
};

/// Asks many prompts of one server over one pool of connections. Everything happens within `run`, in one thread.
/// Proxies and certificates are those of curl's variables: HTTPS_PROXY, ALL_PROXY, NO_PROXY; CURL_CA_BUNDLE or
/// SSL_CERT_FILE, SSL_CERT_DIR. Nothing that an Outcome says has the key, whatever the server repeats.
class Client {
 public:
  explicit Client(ClientOptions options);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  /// `done` is called within `run` and may ask more.
  void ask(Prompt prompt, std::function<void(Outcome)> done);
  /// Works until nothing is left, or `until` is true, which is looked at several times a second; what is under way then is
  /// broken off and its `done` never called.
  void run(const std::function<bool()>& until = [] { return false; });

  /// What is being done, for who watches.
  struct State {
    int waiting = 0, running = 0, paused = 0;  ///< paused: until the server is to be asked again
  };
  State state() const;

 private:
  struct Transfer;
  class Engine;
  std::unique_ptr<Engine> x_engine;
};

}  // namespace pkb::model
