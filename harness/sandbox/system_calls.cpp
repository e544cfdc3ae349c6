// SPDX-License-Identifier: Apache-2.0
#include "harness/sandbox/system_calls.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "harness/error/error.h"

namespace pkb::sandbox {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#endif

// What takes a capability is not here: nobody inside has one or can get a user namespace that would give it
// some.
constexpr int kPrograms[] = {
#ifdef SYS_fork
    SYS_fork,
#endif
#ifdef SYS_vfork
    SYS_vfork,
#endif
    SYS_execve,
    SYS_execveat,
};
constexpr int kForbidden[] = {
    // Other processes, as far as one can be seen.
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_kcmp,
    SYS_pidfd_open,
    // Namespaces.
    SYS_unshare,
    SYS_setns,
    // Key rings belong to the user, not to a namespace.
    SYS_add_key,
    SYS_request_key,
    SYS_keyctl,
    // System V memory has no limit of its own; messages and semaphores come with it.
    SYS_shmget,
    SYS_msgget,
    SYS_semget,
    SYS_mq_open,
    // Large and rarely needed parts of the kernel.
    SYS_bpf,
    SYS_perf_event_open,
    SYS_userfaultfd,
    SYS_io_uring_setup,
    SYS_syslog,
};
/// Only a driver may.
constexpr int kOfDrivers[] = {SYS_socket, SYS_memfd_create};
constexpr std::uint32_t kNamespaces =
    CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;
/// Of Linux 6.10: what is newer is not known to be harmless. Architectures share these numbers.
constexpr std::uint32_t kLastKnown = 462;

class Filter {
 public:
  /// Loads a 32-bit word of seccomp_data.
  void load(std::size_t offset) { add(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset)); }
  void load_argument(int index) {
    load(offsetof(seccomp_data, args) +
         sizeof(std::uint64_t) * static_cast<std::size_t>(index));  // its lower half
  }
  void keep_bits(std::uint32_t mask) { add(BPF_ALU | BPF_AND | BPF_K, mask); }
  void answer(std::uint32_t action) { add(BPF_RET | BPF_K, action); }
  // Compares the loaded word; on a match the next `count` instructions run, else they are skipped.
  void if_equal(std::uint32_t value, std::uint8_t count) { add(BPF_JMP | BPF_JEQ | BPF_K, value, 0, count); }
  void if_not_equal(std::uint32_t value, std::uint8_t count) {
    add(BPF_JMP | BPF_JEQ | BPF_K, value, count, 0);
  }
  void if_above(std::uint32_t value, std::uint8_t count) { add(BPF_JMP | BPF_JGT | BPF_K, value, 0, count); }

  const std::vector<sock_filter>& instructions() const { return x_instructions; }

 private:
  void add(int code, std::uint32_t k, std::uint8_t jump_true = 0, std::uint8_t jump_false = 0) {
    x_instructions.push_back({static_cast<std::uint16_t>(code), jump_true, jump_false, k});
  }
  std::vector<sock_filter> x_instructions;
};

constexpr std::uint32_t kRefuse = SECCOMP_RET_ERRNO | EPERM, kAbsent = SECCOMP_RET_ERRNO | ENOSYS;

Filter build(const Freedoms& freedoms) {
  Filter filter;
  filter.load(offsetof(seccomp_data, arch));
  filter.if_not_equal(kArchitecture, 1);
  filter.answer(SECCOMP_RET_KILL_PROCESS);
  filter.load(offsetof(seccomp_data, nr));
  filter.if_above(kLastKnown, 1);  // also the x32 calls, which have bit 30
  filter.answer(kAbsent);
  const auto refuse = [&](std::span<const int> calls) {
    for (const int each : calls) {
      filter.if_equal(static_cast<std::uint32_t>(each), 1);
      filter.answer(kRefuse);
    }
  };
  refuse(kForbidden);
  if (!freedoms.programs) refuse(kPrograms);
  // Its flags lie in memory, where a filter cannot look: libraries then use clone.
  filter.if_equal(SYS_clone3, 1);
  filter.answer(kAbsent);
  filter.if_equal(SYS_clone, 5);
  filter.load_argument(0);
  if (freedoms.programs) {
    filter.keep_bits(kNamespaces);
    filter.if_not_equal(0, 1);
  } else {
    filter.keep_bits(CLONE_THREAD);
    filter.if_equal(0, 1);
  }
  filter.answer(kRefuse);
  filter.answer(SECCOMP_RET_ALLOW);
  if (freedoms.driver) {
    filter.if_equal(SYS_socket, 5);
    filter.load_argument(0);
    filter.if_equal(AF_UNIX, 1);
    filter.answer(SECCOMP_RET_ALLOW);
    filter.if_not_equal(AF_NETLINK, 1);
    filter.answer(kRefuse);
  } else {
    refuse(kOfDrivers);
    filter.if_equal(SYS_mmap, 4);
    filter.load_argument(3);
    filter.keep_bits(MAP_SHARED | MAP_ANONYMOUS);
    filter.if_equal(MAP_SHARED | MAP_ANONYMOUS, 1);
    filter.answer(kRefuse);
  }
  filter.answer(SECCOMP_RET_ALLOW);
  return filter;
}

}  // namespace

void forbid_system_calls(const Freedoms& freedoms) {
  const Filter filter = build(freedoms);
  sock_fprog program{.len = static_cast<unsigned short>(filter.instructions().size()),
                     .filter = const_cast<sock_filter*>(filter.instructions().data())};
  // Bubblewrap has done the first already; without it the second would take a capability.
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) != 0)
    throw EnvironmentError(
        {.where = "sandbox",
         .fault = std::string("system calls cannot be filtered: ") + std::strerror(errno),
         .remedy = "use a kernel with seccomp filters, or run unprotected with --sandbox none"});
}

std::string filter_program(const Freedoms& freedoms) {
  const Filter filter = build(freedoms);
  const auto& instructions = filter.instructions();
  return {reinterpret_cast<const char*>(instructions.data()), instructions.size() * sizeof(sock_filter)};
}

}  // namespace pkb::sandbox
