// SPDX-License-Identifier: Apache-2.0
// Hostile candidates: each gets the verdict it deserves, reaches nothing, and leaves the machine as it was.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "harness/integrity/attacks.h"
#include "harness/integrity/evaluation.h"

namespace pkb::integrity {
namespace {

using cli::TestFolder;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::MatchesRegex;
using testing::Not;

/// Those that act when they are called, one source for all.
std::vector<std::string> callable() {
  std::vector<std::string> names;
  for (const Attack& each : attacks())
    if (std::ranges::find(names, each.name) == names.end() &&
        trick(each.name).find("[[gnu::") == std::string::npos)
      names.emplace_back(each.name);
  return names;
}

class Meets : public testing::TestWithParam<Attack> {};

TEST_P(Meets, TheAttack) {
  const Attack& attack = GetParam();
  const TestFolder folder;
  const Machine machine;
  const std::vector<std::string> names = callable();
  const auto here = std::ranges::find(names, attack.name);
  const bool alone = here == names.end();
  const auto source = alone ? join(attack.name, folder) : join_all(names, folder);
  const bool waits = std::string_view(attack.verdict).find("timeout") != std::string_view::npos;
  const Settings settings{.ranks = attack.ranks,
                          .timeout = waits ? 1.0 : 20,
                          .choice = alone ? -1 : static_cast<int>(here - names.begin())};
  const Evaluated hostile = evaluate(source, settings, machine);
  EXPECT_THAT(hostile.verdict, MatchesRegex(attack.verdict)) << hostile.diagnoses << hostile.worker_output;
  EXPECT_EQ(hostile.exit, hostile.verdict == "correct" ? 0 : 1);
  EXPECT_THAT(hostile.diagnoses, ContainsRegex(attack.text));
  EXPECT_THAT(hostile.worker_output, Not(HasSubstr("REACHED")));
  if (trick(attack.name).find("\n  tried(") != std::string::npos) {
    EXPECT_THAT(hostile.worker_output, HasSubstr("tried to "));
  }
  EXPECT_THAT(machine.leftovers(), IsEmpty());
}

std::vector<Attack> quick() {
  std::vector<Attack> some;
  std::ranges::copy_if(attacks(), std::back_inserter(some), [](const Attack& each) { return !each.slow; });
  return some;
}

INSTANTIATE_TEST_SUITE_P(Candidates, Meets, testing::ValuesIn(quick()),
                         [](const auto& test) { return name_of(test.param); });

/// A file of our own for each kind of thing that a candidate must not read.
class Secrets {
 public:
  Secrets() {
    std::filesystem::create_directory(x_folder);
    for (const char* name : {"key", "result.json", "candidate.cu", "prompt.md"})
      std::ofstream(x_folder / name) << "x";
  }
  ~Secrets() { std::filesystem::remove_all(x_folder); }

 private:
  const std::filesystem::path x_folder = "/tmp/pkb-integrity-secrets";  // where the candidate looks
};

// The same candidates without a sandbox get through: what hides things is the sandbox, not a fault of the
// attack.
Evaluated evaluated(int choice, const char* sandbox) {
  const TestFolder folder;
  return evaluate(join_all({"reads_files", "connects"}, folder),
                  {.trials = 1, .sandbox = sandbox, .choice = choice}, Machine());
}

TEST(WithoutASandbox, FilesAreReached) {
  const Secrets secrets;
  EXPECT_THAT(evaluated(0, "bubblewrap").worker_output, Not(HasSubstr("REACHED")));
  EXPECT_THAT(evaluated(0, "none").worker_output,
              testing::AllOf(HasSubstr("REACHED /key"), HasSubstr("REACHED /result.json")));
}

/// Whether somebody connects to the port that connects.cu calls.
class Listener {
 public:
  Listener() : x_socket(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) {
    const int on = 1;
    ::setsockopt(x_socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(47613);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::bind(x_socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
        ::listen(x_socket, 4) != 0)
      throw std::runtime_error("port 47613 is taken");
  }
  ~Listener() { ::close(x_socket); }
  bool was_called() const {
    const int caller = ::accept4(x_socket, nullptr, nullptr, SOCK_CLOEXEC);
    if (caller >= 0) ::close(caller);
    return caller >= 0;
  }

 private:
  int x_socket;
};

TEST(WithoutASandbox, AListenerIsReached) {
  const Listener listener;
  evaluated(1, "bubblewrap");
  EXPECT_FALSE(listener.was_called());
  evaluated(1, "none");
  EXPECT_TRUE(listener.was_called());
}

}  // namespace
}  // namespace pkb::integrity
