// SPDX-License-Identifier: Apache-2.0
#include "harness/sandbox/system_calls.h"

#include <gtest/gtest.h>
#include <linux/sched.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <thread>

namespace pkb::sandbox {
namespace {

/// The error of `call` in a process of its own that has been locked; 0 when it worked.
int error_of(const std::function<long()>& call, const Freedoms& freedoms = {}) {
  const pid_t child = ::fork();
  if (child == 0) {
    forbid_system_calls(freedoms);
    ::_exit(call() < 0 ? errno : 0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

struct Call {
  const char* name;
  int error, error_with_driver, error_with_programs;
  std::function<long()> call;
};
void PrintTo(const Call& call, std::ostream* to) { *to << call.name; }
class Locked : public testing::TestWithParam<Call> {};

TEST_P(Locked, ProcessIsToldSo) {
  EXPECT_EQ(error_of(GetParam().call), GetParam().error);
  EXPECT_EQ(error_of(GetParam().call, {.driver = true}), GetParam().error_with_driver);
  EXPECT_EQ(error_of(GetParam().call, {.programs = true}), GetParam().error_with_programs);
}

long map(int flags) {
  return ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, flags, -1, 0) == MAP_FAILED ? -1 : 0;
}
long start_thread() {
  std::thread([] {}).join();
  return 0;
}
/// A child without end would outlive the test.
long fork_and_end() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  return child;
}

INSTANTIATE_TEST_SUITE_P(
    SystemCalls, Locked,
    testing::Values(
        Call{"fork", EPERM, EPERM, 0, fork_and_end},
        Call{"clone3", ENOSYS, ENOSYS, ENOSYS, [] { return ::syscall(SYS_clone3, nullptr, 0); }},
        Call{"execve", EPERM, EPERM, 0, [] { return ::syscall(SYS_execve, "/bin/true", nullptr, nullptr); }},
        Call{"clone_in_a_namespace", EPERM, EPERM, EPERM,
             [] { return ::syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, nullptr, nullptr, nullptr, 0); }},
        Call{"ptrace", EPERM, EPERM, EPERM, [] { return ::syscall(SYS_ptrace, 0, 0, 0, 0); }},
        Call{"unshare", EPERM, EPERM, EPERM, [] { return ::syscall(SYS_unshare, 0); }},
        Call{"keyctl", EPERM, EPERM, EPERM, [] { return ::syscall(SYS_keyctl, 0, -3, 0); }},
        Call{"shmget", EPERM, EPERM, EPERM, [] { return ::syscall(SYS_shmget, 0, 4096, 0); }},
        Call{"call_of_the_future", ENOSYS, ENOSYS, ENOSYS, [] { return ::syscall(900); }},
        Call{"call_of_x32", ENOSYS, ENOSYS, ENOSYS, [] { return ::syscall(0x40000000 + SYS_getpid); }},
        Call{"socket", EPERM, EPERM, EPERM, [] { return long{::socket(AF_INET, SOCK_STREAM, 0)}; }},
        Call{"unix_socket", EPERM, 0, EPERM, [] { return long{::socket(AF_UNIX, SOCK_STREAM, 0)}; }},
        Call{"netlink_socket", EPERM, 0, EPERM, [] { return long{::socket(AF_NETLINK, SOCK_RAW, 0)}; }},
        Call{"memfd_create", EPERM, 0, EPERM, [] { return long{::memfd_create("x", 0)}; }},
        Call{"shared_memory", EPERM, 0, EPERM, [] { return map(MAP_SHARED | MAP_ANONYMOUS); }},
        // What candidates live on.
        Call{"private_memory", 0, 0, 0, [] { return map(MAP_PRIVATE | MAP_ANONYMOUS); }},
        Call{"thread", 0, 0, 0, start_thread}, Call{"getpid", 0, 0, 0, [] { return long{::getpid()}; }}),
    [](const auto& test) { return test.param.name; });

TEST(Locked, HoldsForThreadsThatRunAlready) {
  const auto call = [] {
    std::thread([] {
      // The filter comes while this one sleeps.
      ::usleep(50'000);
      ::_exit(::syscall(SYS_unshare, 0) < 0 ? errno : 0);
    }).detach();
    forbid_system_calls({});
    ::usleep(5'000'000);
    return 0L;
  };
  const pid_t child = ::fork();
  if (child == 0) ::_exit(static_cast<int>(call()));
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), EPERM);
}

}  // namespace
}  // namespace pkb::sandbox
