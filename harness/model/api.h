// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "harness/model/completion.h"

namespace pkb::model {

/// What one reply says, piece by piece or whole. Unknown members are ignored, members of the wrong type too.
class ReplyReader {
 public:
  virtual ~ReplyReader() = default;
  /// One event of a stream. False when it is not JSON.
  bool feed_event(std::string_view type, std::string_view data);
  /// A reply that is no stream. False when it is not JSON.
  bool feed_whole(std::string_view body);
  /// Whether the stream has said that it is over.
  bool is_over() const { return x_over; }
  const Completion& completion() const { return x_completion; }

 protected:
  virtual void on_event(std::string_view type, const nlohmann::json& event) = 0;
  virtual void on_whole(const nlohmann::json& reply) = 0;
  void finish(std::string_view word);

  Completion x_completion;
  bool x_over = false;
};

/// How one family of servers is spoken to.
class Api {
 public:
  virtual ~Api() = default;
  virtual std::string_view name() const = 0;
  /// `endpoint` is the base that the server's documentation names, with or without a '/' at its end, or the whole address.
  virtual std::string url(std::string_view endpoint, const Prompt& prompt) const = 0;
  /// "name: value" lines; `key` may be empty.
  virtual std::vector<std::string> headers(const std::string& key) const = 0;
  virtual nlohmann::json body(const Prompt& prompt) const = 0;
  virtual std::unique_ptr<ReplyReader> reader() const = 0;
  /// The environment variable that usually holds the key.
  virtual std::string_view key_variable() const = 0;
};

/// "openai" (chat completions and all that is compatible), "openai-responses", "anthropic" (messages), "gemini"
/// (generateContent). @throws InputError that lists them
const Api& find_api(std::string_view name);

/// The variables that hold keys, of all of them.
std::vector<std::string_view> key_variables();

/// An endpoint as it may be told and stored: without a password and without its query, where keys are too.
std::string public_endpoint(std::string_view endpoint);

/// The server's own words in the body of an error; the beginning of the body when it has no such member.
std::string error_message(std::string_view body);

/// What to leave out or rename when a server refuses `prompt` with these words: models that reason refuse `temperature` and
/// want `max_completion_tokens`. False when the words name nothing that can be changed.
bool adapt(nlohmann::json& body, std::string_view refusal);

}  // namespace pkb::model
