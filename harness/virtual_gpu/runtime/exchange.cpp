// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/runtime/exchange.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>
#include <string>
#include <thread>

extern char** environ;

namespace pkb::virtual_gpu {
namespace {

// Its descriptor is inherited: every process maps the same page.
class SharedPage {
 public:
  SharedPage() : x_descriptor(memfd_create("exchange", 0)) {
    if (x_descriptor < 0 || ftruncate(x_descriptor, 4096) != 0) throw std::runtime_error("no shared memory");
  }
  ~SharedPage() { close(x_descriptor); }
  SharedPage(const SharedPage&) = delete;
  SharedPage& operator=(const SharedPage&) = delete;
  int descriptor() const { return x_descriptor; }

 private:
  int x_descriptor;
};

class Processes {
 public:
  ~Processes() {
    for (const pid_t process : x_running) {
      kill(process, SIGKILL);
      waitpid(process, nullptr, 0);
    }
  }

  void start(std::vector<std::string> command) {
    std::vector<char*> arguments;
    for (std::string& argument : command) arguments.push_back(argument.data());
    arguments.push_back(nullptr);
    pid_t process = 0;
    if (posix_spawn(&process, arguments[0], nullptr, nullptr, arguments.data(), environ) != 0) {
      throw std::runtime_error("cannot start " + command[0]);
    }
    x_running.push_back(process);
  }

  void join(std::chrono::steady_clock::time_point deadline) {
    while (!x_running.empty()) {
      int status = 0;
      const pid_t process = x_running.back();
      const pid_t ended = waitpid(process, &status, WNOHANG);
      if (ended == 0) {
        if (std::chrono::steady_clock::now() > deadline) throw std::runtime_error("the exchange did not end in time");
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        continue;
      }
      x_running.pop_back();
      if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) throw std::runtime_error("a rank of the exchange failed");
    }
  }

 private:
  std::vector<pid_t> x_running;
};

}  // namespace

std::chrono::nanoseconds exchange_round(int ranks, unsigned rounds, std::chrono::seconds deadline) {
  const SharedPage page;
  int result[2];
  if (pipe(result) != 0) throw std::runtime_error("no pipe");
  {
    Processes processes;
    for (int rank = 0; rank < ranks; ++rank) {
      processes.start({PKB_EXCHANGE_RANK, PKB_CONFORMANCE_KERNELS, std::to_string(page.descriptor()),
                       std::to_string(result[1]), std::to_string(rank), std::to_string(ranks), std::to_string(rounds)});
    }
    close(result[1]);
    processes.join(std::chrono::steady_clock::now() + deadline);
  }
  std::int64_t nanoseconds = 0;
  const bool told = read(result[0], &nanoseconds, sizeof(nanoseconds)) == sizeof(nanoseconds);
  close(result[0]);
  if (!told) throw std::runtime_error("rank 0 told no time");
  return std::chrono::nanoseconds(nanoseconds / rounds);
}

}  // namespace pkb::virtual_gpu
