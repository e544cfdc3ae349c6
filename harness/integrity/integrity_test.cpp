// SPDX-License-Identifier: Apache-2.0
// Hostile candidates: each gets the verdict it deserves, reaches nothing, and leaves the machine as it was.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fstream>

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

class Meets : public testing::TestWithParam<Attack> {};

TEST_P(Meets, TheAttack) {
  const Attack& attack = GetParam();
  const TestFolder folder;
  const Machine machine;
  const auto source = join(attack.name, folder);
  const Evaluated hostile = evaluate(source, {.ranks = attack.ranks}, machine);
  EXPECT_THAT(hostile.verdict, MatchesRegex(attack.verdict)) << hostile.diagnoses << hostile.worker_output;
  EXPECT_EQ(hostile.exit, hostile.verdict == "correct" ? 0 : 1);
  EXPECT_THAT(hostile.diagnoses, ContainsRegex(attack.text));
  EXPECT_THAT(hostile.worker_output, Not(HasSubstr("REACHED")));
  if (read(source).find("\n  tried(") != std::string::npos) {
    EXPECT_THAT(hostile.worker_output, HasSubstr("tried to "));
  }
  EXPECT_THAT(machine.leftovers(), IsEmpty());
  const Evaluated good = evaluate(good_candidate(), {.trials = 1}, machine);
  EXPECT_EQ(good.verdict, "correct") << good.diagnoses;
}

INSTANTIATE_TEST_SUITE_P(Candidates, Meets, testing::ValuesIn(attacks().begin(), attacks().end()),
                         [](const auto& test) { return name_of(test.param); });

/// A file of our own for each kind of thing that a candidate must not read.
class Secrets {
 public:
  Secrets() {
    std::filesystem::create_directory(x_folder);
    for (const char* name : {"key", "result.json", "candidate.cu", "prompt.md"}) std::ofstream(x_folder / name) << "x";
  }
  ~Secrets() { std::filesystem::remove_all(x_folder); }

 private:
  const std::filesystem::path x_folder = "/tmp/pkb-integrity-secrets";  // where the candidate looks
};

// The same candidates without a sandbox get through: what hides things is the sandbox, not a fault of the attack.
TEST(WithoutASandbox, FilesAreReached) {
  const Secrets secrets;
  const TestFolder folder;
  const Machine machine;
  const auto source = join("reads_files", folder);
  EXPECT_THAT(evaluate(source, {.sandbox = "none"}, machine).worker_output,
              testing::AllOf(HasSubstr("REACHED /key"), HasSubstr("REACHED /result.json")));
  EXPECT_THAT(evaluate(source, {}, machine).worker_output, Not(HasSubstr("REACHED")));
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
    if (::bind(x_socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 || ::listen(x_socket, 4) != 0)
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
  const TestFolder folder;
  const Machine machine;
  const auto source = join("connects", folder);
  evaluate(source, {}, machine);
  EXPECT_FALSE(listener.was_called());
  evaluate(source, {.sandbox = "none"}, machine);
  EXPECT_TRUE(listener.was_called());
}

}  // namespace
}  // namespace pkb::integrity
