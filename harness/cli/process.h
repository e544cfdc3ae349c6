// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

/// Child processes for tests of whole programs.
namespace pkb::cli {

struct Command {
  std::vector<std::string> words = {};  ///< the program and its arguments
  std::filesystem::path folder = ".";
  std::map<std::string, std::string> environment = {};  ///< added to ours
};

/// A running child in a process group of its own, with every descriptor above 2 closed; killed when it goes.
class Process {
 public:
  explicit Process(const Command& command);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const { return x_pid; }
  /// The exit code, 128 + n after signal n. Kills it and throws std::runtime_error after `limit`.
  int wait(std::chrono::seconds limit = std::chrono::seconds(120));
  std::string output() const;  ///< standard output so far
  std::string errors() const;  ///< standard error so far

 private:
  pid_t x_pid = -1;
  std::filesystem::path x_output, x_errors;
};

struct Finished {
  int exit = 0;
  std::string output, errors;
};
Finished run(const Command& command);

/// Living processes below `pid` (not itself), from /proc.
std::vector<pid_t> descendants(pid_t pid);
bool alive(pid_t pid);

/// A folder of its own for a test, removed at the end.
class TestFolder {
 public:
  TestFolder();
  ~TestFolder();
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  std::filesystem::path path() const { return x_path; }
  std::vector<std::filesystem::path> files() const;

 private:
  std::filesystem::path x_path;
};

}  // namespace pkb::cli
