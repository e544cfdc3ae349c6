// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/judge_candidate.h"

#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <cstring>

#include "harness/error/error.h"
#include "harness/process/child.h"
#include "harness/process/executable.h"
#include "harness/process/file_descriptor.h"

extern char** environ;  // NOLINT: POSIX names it so

namespace pkb::cli {
namespace {

constexpr auto kPatience = std::chrono::seconds(5);
constexpr std::size_t kLongestResult = 64 << 20;

/// All that we have but what authenticates us somewhere.
std::vector<std::string> environment_without_keys() {
  std::vector<std::string> kept;
  for (char** each = environ; *each != nullptr; ++each)
    if (const std::string_view variable(*each); variable.substr(0, variable.find('=')).find("_API_KEY") == std::string_view::npos)
      kept.emplace_back(variable);
  return kept;
}

}  // namespace

nlohmann::json judge_candidate(const std::vector<std::string>& arguments, const std::atomic<bool>& stop) {
  process::Command command{.arguments = {(process::own_folder() / "pkb").string(), "eval"},
                           .environment = environment_without_keys()};
  command.arguments.insert(command.arguments.end(), arguments.begin(), arguments.end());
  command.arguments.emplace_back("--json");
  const auto [read_end, write_end] = process::open_pipe();
  const FileDescriptor output(read_end);
  FileDescriptor theirs(write_end);
  command.descriptors = {-1, theirs.get(), -1};
  process::Child child(command);
  theirs.reset();
  std::string text;
  char buffer[65536];
  for (bool open = true; open && text.size() < kLongestResult;) {
    if (stop) {
      child.end(kPatience);
      throw EnvironmentError({.where = "evaluation", .fault = "stopped", .remedy = {}});
    }
    pollfd waiting{.fd = output.get(), .events = POLLIN, .revents = 0};
    if (::poll(&waiting, 1, 100) <= 0) continue;
    const ssize_t got = ::read(output.get(), buffer, sizeof buffer);
    if (got > 0) text.append(buffer, static_cast<std::size_t>(got));
    open = got > 0 || (got < 0 && errno == EAGAIN);
  }
  child.wait(kPatience);
  nlohmann::json result = nlohmann::json::parse(text, nullptr, false);
  if (!result.is_object() || !result.contains("verdict"))
    throw EnvironmentError({.where = "pkb eval " + arguments.front(),
                            .fault = result.is_object() && result.contains("error") ? result.at("error").dump() : "gave no result",
                            .remedy = "run it by hand to see why"});
  return result;
}

}  // namespace pkb::cli
