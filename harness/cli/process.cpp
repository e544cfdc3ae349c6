// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

namespace pkb::cli {
namespace {

std::filesystem::path new_file() {
  std::string name = (std::filesystem::temp_directory_path() / "pkb-test-XXXXXX").string();
  const int descriptor = mkstemp(name.data());
  if (descriptor < 0) throw std::runtime_error("no temporary file: " + name);
  close(descriptor);
  return name;
}

std::string read(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

[[noreturn]] void become(const Command& command, const std::filesystem::path& output,
                         const std::filesystem::path& errors) {
  setpgid(0, 0);
  const int in = open("/dev/null", O_RDONLY);
  const int out = open(output.c_str(), O_WRONLY | O_TRUNC), err = open(errors.c_str(), O_WRONLY | O_TRUNC);
  if (in < 0 || out < 0 || err < 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0) _exit(126);
  close_range(3, ~0u, 0);
  if (chdir(command.folder.c_str()) != 0) _exit(126);
  for (const auto& [name, value] : command.environment) setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> words;
  for (const std::string& word : command.words) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  execvp(words[0], words.data());
  _exit(127);
}

/// The parent of `pid`, 0 when it is gone or a zombie.
pid_t parent_of(pid_t pid) {
  const std::string stat = read(fmt::format("/proc/{}/stat", pid));
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream rest(stat.substr(name_end + 1));
  char state = 0;
  pid_t parent = 0;
  rest >> state >> parent;
  return state == 'Z' || state == 'X' ? 0 : parent;
}

}  // namespace

Process::Process(const Command& command) : x_output(new_file()), x_errors(new_file()) {
  x_pid = fork();
  if (x_pid < 0) throw std::runtime_error("fork failed");
  if (x_pid == 0) become(command, x_output, x_errors);
  setpgid(x_pid, x_pid);  // in both, whoever comes first
}

Process::~Process() {
  if (x_pid > 0) {
    kill(-x_pid, SIGKILL);
    waitpid(x_pid, nullptr, 0);
  }
  std::filesystem::remove(x_output);
  std::filesystem::remove(x_errors);
}

int Process::wait(std::chrono::seconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  int status = 0;
  while (waitpid(x_pid, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > end)
      throw std::runtime_error(
          fmt::format("still running after {} s; standard error so far: {}", limit.count(), errors()));
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  x_pid = -1;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

std::string Process::output() const { return read(x_output); }
std::string Process::errors() const { return read(x_errors); }

Finished run(const Command& command) {
  Process process(command);
  const int exit = process.wait();
  return {exit, process.output(), process.errors()};
}

std::vector<pid_t> descendants(pid_t pid) {
  std::map<pid_t, pid_t> parents;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const auto each = static_cast<pid_t>(std::stol(name));
    if (const pid_t parent = parent_of(each)) parents[each] = parent;
  }
  std::vector<pid_t> below;
  for (const auto& [each, first_parent] : parents) {
    pid_t above = first_parent;
    while (above != pid && parents.contains(above)) above = parents[above];
    if (above == pid) below.push_back(each);
  }
  return below;
}

bool alive(pid_t pid) { return parent_of(pid) != 0; }

TestFolder::TestFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "pkb-test-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder: " + name);
  x_path = name;
}
TestFolder::~TestFolder() { std::filesystem::remove_all(x_path); }

std::vector<std::filesystem::path> TestFolder::files() const {
  std::vector<std::filesystem::path> all;
  for (const auto& entry : std::filesystem::directory_iterator(x_path)) all.push_back(entry.path());
  return all;
}

}  // namespace pkb::cli
