// SPDX-License-Identifier: Apache-2.0
// Hostile candidates: each gets the verdict it deserves, reaches nothing, and leaves the machine as it was.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "harness/cli/process.h"

namespace pkb::integrity {
namespace {

using namespace std::chrono_literals;
using cli::Finished;
using cli::TestFolder;
using nlohmann::json;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

const std::filesystem::path kFolder = PKB_SOURCE "/harness/integrity";
const std::filesystem::path kSecrets = "/tmp/pkb-integrity-secrets";

std::string read(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// What an evaluation may not leave behind: files in its temporary folder, and processes, which come to us when their
/// parents die.
class Machine {
 public:
  Machine() { ::prctl(PR_SET_CHILD_SUBREAPER, 1); }
  std::filesystem::path temporary() const { return x_temporary.path(); }
  void expect_unharmed() const {
    EXPECT_THAT(x_temporary.files(), testing::IsEmpty());
    for (int i = 0; i < 200 && !cli::descendants(::getpid()).empty(); ++i) std::this_thread::sleep_for(10ms);
    EXPECT_THAT(cli::descendants(::getpid()), testing::IsEmpty());
  }

 private:
  TestFolder x_temporary;
};

struct Evaluated {
  int exit = 0;
  json result;
  std::string verdict, diagnoses, worker_output;
};

Evaluated evaluate(const std::filesystem::path& source, int ranks, const Machine& machine, const char* sandbox) {
  const TestFolder out;
  const Finished done = cli::run({.words = {PKB_EXECUTABLE, "eval", "1", source, "--device", "virtual", "--ranks",
                                            std::to_string(ranks), "--trials", "3", "--seed", "7", "--timeout", "3",
                                            "--sandbox", sandbox, "--out", out.path()},
                                  .environment = {{"XDG_CACHE_HOME", PKB_TEST_CACHE},
                                                  {"TMPDIR", machine.temporary()},
                                                  {"PKB_TEST_KEY", "SECRET"}}});
  if (out.files().size() != 1) throw std::runtime_error("no result: " + done.output + done.errors);
  json result = json::parse(read(out.files().front()));
  std::string diagnoses = result.at("diagnoses").dump(1), output = result.value("worker_output", json()).dump(1);
  return {done.exit, result, result.at("verdict"), diagnoses, output};
}

/// The trick after the honest part that all have.
std::filesystem::path join(const std::string& name, const TestFolder& folder) {
  const std::filesystem::path file = folder.path() / (name + ".cu");
  std::ofstream(file) << read(kFolder / "honest.cuh") << "#line 1\n" << read(kFolder / "candidates" / (name + ".cu"));
  return file;
}

void expect_good_candidate_correct(const Machine& machine) {
  const Evaluated good =
      evaluate(PKB_SOURCE "/problems/001_allreduce/solutions/peer_load.cu", 2, machine, "bubblewrap");
  EXPECT_EQ(good.verdict, "correct") << good.diagnoses;
}

struct Attack {
  const char* name;      // of the file in candidates/
  const char* verdict;   // a regular expression
  const char* text = ""; // one that some diagnosis contains
  int ranks = 2;
};
void PrintTo(const Attack& attack, std::ostream* to) { *to << attack.name; }

class Meets : public testing::TestWithParam<Attack> {};

TEST_P(Meets, TheAttack) {
  const Attack& attack = GetParam();
  const TestFolder folder;
  const Machine machine;
  const auto source = join(attack.name, folder);
  const Evaluated hostile = evaluate(source, attack.ranks, machine, "bubblewrap");
  EXPECT_THAT(hostile.verdict, MatchesRegex(attack.verdict)) << hostile.diagnoses << hostile.worker_output;
  EXPECT_EQ(hostile.exit, hostile.verdict == "correct" ? 0 : 1);
  EXPECT_THAT(hostile.diagnoses, ContainsRegex(attack.text));
  EXPECT_THAT(hostile.worker_output, Not(HasSubstr("REACHED")));
  if (read(source).find("\n  tried(") != std::string::npos) {
    EXPECT_THAT(hostile.worker_output, HasSubstr("tried to "));
  }
  machine.expect_unharmed();
  expect_good_candidate_correct(machine);
}

constexpr const char* kWrong = "wrong_result";
INSTANTIATE_TEST_SUITE_P(
    Candidates, Meets,
    testing::Values(
        // Answers without work.
        Attack{"replays_by_pointer", kWrong}, Attack{"replays_by_fingerprint", kWrong},
        Attack{"replays_by_call_count", kWrong, "never written"}, Attack{"computes_in_setup", kWrong},
        Attack{"batches_iterations", kWrong, "never written"}, Attack{"works_in_teardown", kWrong, "never written"},
        Attack{"aliases_a_peers_output", kWrong, "never written"}, Attack{"changes_a_peers_input", kWrong, "changed"},
        Attack{"scans_memory", kWrong, "never written"},
        // Work at the wrong time.
        Attack{"works_on_another_stream", "correct"}, Attack{"works_in_a_thread", "wrong_result|disqualified"},
        Attack{"overwrites_late", "wrong_result|disqualified"}, Attack{"forks_a_writer", "correct"},
        Attack{"answers_at_exit", "correct"},
        // Clocks and symbols: the judge looks at neither.
        Attack{"interposes_symbols", "correct"}, Attack{"patches_got", "correct"},
        // The control socket.
        Attack{"forges_an_answer", "disqualified", "spoke to the judge on its own in run"},
        Attack{"forges_at_load", "disqualified", "spoke to the judge on its own in loading"},
        Attack{"takes_over", kWrong, "never written"}, Attack{"blames_the_environment", "crash|disqualified"},
        Attack{"floods_the_socket", "disqualified", "spoke to the judge on its own in run"},
        Attack{"sends_descriptors", "disqualified", "spoke to the judge on its own in run"},
        Attack{"closes_the_socket", "crash", "closed its socket"},
        // What a worker may see and do.
        Attack{"reads_processes", "correct"}, Attack{"touches_processes", "correct"},
        Attack{"opens_segments", "correct"}, Attack{"reads_files", "correct"}, Attack{"connects", "correct"},
        Attack{"loads_libraries", "correct"}, Attack{"weakens_itself", "correct"},
        Attack{"fills_the_disk", "correct"}, Attack{"bombs_with_forks", "correct"},
        Attack{"bombs_with_memory", "correct|crash"}, Attack{"bombs_with_threads", "correct"},
        Attack{"exhausts_descriptors", "crash"}, Attack{"leaves_things_behind", "correct"},
        // The end of the process, in every way and phase.
        Attack{"exits_at_load", "crash", "in loading"}, Attack{"exits_in_setup", "crash", "status 0.* in setup", 1},
        Attack{"exits_in_setup", "crash", "signal 9", 5}, Attack{"exits_in_run", "crash", "status 0.* in run", 1},
        Attack{"exits_in_run", "crash", "status 0.* in run", 2}, Attack{"exits_in_run", "crash", "status 0.* in run", 3},
        Attack{"exits_in_run", "crash", "signal 6", 4}, Attack{"exits_in_run", "crash", "signal 9", 5},
        Attack{"exits_in_teardown", "crash", "status 0.* in teardown", 2},
        Attack{"exits_in_teardown", "crash", "signal 6", 4},
        // No end.
        Attack{"loops_at_load", "timeout", "loading has not finished"},
        Attack{"loops_on_the_host", "timeout", "setup has not finished", 1},
        Attack{"loops_on_the_host", "timeout", "run has not finished", 2},
        Attack{"loops_on_the_host", "timeout", "teardown has not finished", 3},
        Attack{"loops_on_the_device", "timeout", "setup has not finished", 1},
        Attack{"loops_on_the_device", "timeout", "run has not finished", 2},
        Attack{"loops_on_the_device", "timeout", "teardown has not finished", 3},
        Attack{"stops_itself", "timeout", "run has not finished"}),
    [](const auto& test) { return test.param.name + std::string("_") + std::to_string(test.param.ranks); });

/// A file of our own for each kind of thing that a candidate must not read.
class Secrets {
 public:
  Secrets() {
    std::filesystem::create_directory(kSecrets);
    for (const char* name : {"key", "result.json", "candidate.cu", "prompt.md"}) std::ofstream(kSecrets / name) << "x";
  }
  ~Secrets() { std::filesystem::remove_all(kSecrets); }
};

// The same candidates without a sandbox get through: what hides things is the sandbox, not a fault of the attack.
TEST(WithoutASandbox, FilesAreReached) {
  const Secrets secrets;
  const TestFolder folder;
  const Machine machine;
  const auto source = join("reads_files", folder);
  EXPECT_THAT(evaluate(source, 2, machine, "none").worker_output,
              testing::AllOf(HasSubstr("REACHED /key"), HasSubstr("REACHED /result.json")));
  EXPECT_THAT(evaluate(source, 2, machine, "bubblewrap").worker_output, Not(HasSubstr("REACHED")));
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
  evaluate(source, 2, machine, "bubblewrap");
  EXPECT_FALSE(listener.was_called());
  evaluate(source, 2, machine, "none");
  EXPECT_TRUE(listener.was_called());
}

}  // namespace
}  // namespace pkb::integrity
