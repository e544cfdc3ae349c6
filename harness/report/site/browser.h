// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/process/child.h"
#include "harness/process/file_descriptor.h"

namespace pkb::report {

/// A headless Chromium, driven by its DevTools protocol over a pair of pipes: no port, no network.
class Browser {
 public:
  /// Where it is installed; empty when it is not.
  static std::filesystem::path find();

  /// `profile` is a folder of its own. @throws EnvironmentError
  Browser(const std::filesystem::path& program, const std::filesystem::path& profile);
  ~Browser();

  /// Opens a page and waits until it is loaded and its scripts have come to rest.
  void open(const std::string& address);
  /// The value of a JavaScript expression, awaited where it is a promise. @throws std::runtime_error when it throws
  nlohmann::json eval(const std::string& expression);
  /// Waits until `expression` is true. False when that takes more than ten seconds.
  bool wait_for(const std::string& expression);
  void press(const std::string& key, int code);
  void resize(int width, int height);
  void prefer(const std::string& color_scheme);
  nlohmann::json call(const std::string& method, nlohmann::json parameters = nlohmann::json::object());

  /// Since the last time: uncaught exceptions, console errors, what the content policy refused, dialogs, and every
  /// request but for files.
  std::vector<std::string> complaints();

 private:
  nlohmann::json read();
  void take(const nlohmann::json& event);

  FileDescriptor x_to, x_from;
  process::Child x_child;
  std::string x_session, x_buffer;
  std::vector<std::string> x_complaints;
  int x_calls = 0;
  bool x_loaded = false;
};

}  // namespace pkb::report
