// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>

#include "harness/campaign/ledger.h"
#include "harness/model/client.h"

namespace pkb::campaign {

/// Where replies come from. `done` is called within `work`.
class Source {
 public:
  virtual ~Source() = default;
  virtual void ask(const Attempt& which, model::Prompt prompt, std::function<void(model::Outcome)> done) = 0;
  /// Works until nothing is left to answer, or `until` is true, which is looked at several times a second.
  virtual void work(const std::function<bool()>& until) = 0;
  virtual model::Client::State state() const = 0;
};

std::unique_ptr<Source> from_server(model::ClientOptions options);

/// Replies that were recorded: a line for each, {"problem": "001_allreduce", "sample": 0, "attempt": 0, "part": 0,
/// "text": "...", "finish": "stop", "usage": {"input": 1, "output": 2}}. What is not there is a failure. @throws InputError
std::unique_ptr<Source> from_recording(const std::filesystem::path& file);

}  // namespace pkb::campaign
