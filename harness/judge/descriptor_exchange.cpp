// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/descriptor_exchange.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "harness/error/error.h"

namespace pkb::judge {
namespace {

constexpr int kPatienceMilliseconds = 60'000;

[[noreturn]] void fail(const std::string& fault) {
  throw EnvironmentError({.where = "sockets between judges", .fault = fault, .remedy = {}});
}

void require(bool fine, const char* action) {
  if (!fine) fail(fmt::format("{}: {}", action, std::strerror(errno)));
}

/// The address of `rank` through an open descriptor of the folder: its own path may be longer than an
/// address.
sockaddr_un address_of(const FileDescriptor& folder, int rank) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  fmt::format_to_n(address.sun_path, sizeof address.sun_path - 1, "/proc/self/fd/{}/judge-{}", folder.get(),
                   rank);
  return address;
}

FileDescriptor make_socket() {
  FileDescriptor made(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  require(static_cast<bool>(made), "socket");
  return made;
}

void wait_readable(int fd, int rank) {
  pollfd ready{fd, POLLIN, 0};
  int count;
  while ((count = ::poll(&ready, 1, kPatienceMilliseconds)) < 0 && errno == EINTR) continue;
  if (count <= 0) fail(fmt::format("judge {} does not answer", rank));
}

}  // namespace

DescriptorExchange::DescriptorExchange(MPI_Comm comm, const std::filesystem::path& folder) {
  MPI_Comm_rank(comm, &x_rank);
  MPI_Comm_size(comm, &x_ranks);
  x_peers.resize(static_cast<std::size_t>(x_ranks));
  const FileDescriptor opened(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  require(static_cast<bool>(opened), "run folder");
  const FileDescriptor listener = make_socket();
  const sockaddr_un own = address_of(opened, x_rank);
  require(::bind(listener.get(), reinterpret_cast<const sockaddr*>(&own), sizeof own) == 0, "bind");
  require(::listen(listener.get(), x_ranks) == 0, "listen");
  MPI_Barrier(comm);
  // Each connects to the ranks below it and says who it is, then hears from those above.
  for (int rank = 0; rank < x_rank; ++rank) {
    FileDescriptor socket = make_socket();
    const sockaddr_un address = address_of(opened, rank);
    require(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0,
            "connect");
    worker::Channel peer(std::move(socket));
    if (!peer.send(std::to_string(x_rank))) fail(fmt::format("judge {} is gone", rank));
    x_peers[static_cast<std::size_t>(rank)] = std::move(peer);
  }
  for (int i = x_rank + 1; i < x_ranks; ++i) {
    wait_readable(listener.get(), i);
    FileDescriptor socket(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    require(static_cast<bool>(socket), "accept");
    wait_readable(socket.get(), i);
    worker::Channel peer(std::move(socket));
    const auto name = peer.receive();
    const int rank = name ? std::stoi(name->bytes) : -1;
    if (rank <= x_rank || rank >= x_ranks) fail("a stranger connected");
    x_peers[static_cast<std::size_t>(rank)] = std::move(peer);
  }
  MPI_Barrier(comm);
  ::unlinkat(opened.get(), fmt::format("judge-{}", x_rank).c_str(), 0);
}

std::vector<FileDescriptor> DescriptorExchange::all_gather(int fd) {
  std::vector<FileDescriptor> all(static_cast<std::size_t>(x_ranks));
  const int sent[] = {fd};
  for (int rank = 0; rank < x_ranks; ++rank)
    if (rank != x_rank && !x_peers[static_cast<std::size_t>(rank)].send("fd", sent))
      fail(fmt::format("judge {} is gone", rank));
  for (int rank = 0; rank < x_ranks; ++rank) {
    FileDescriptor& slot = all[static_cast<std::size_t>(rank)];
    if (rank == x_rank) {
      slot = FileDescriptor(::fcntl(fd, F_DUPFD_CLOEXEC, 3));
      continue;
    }
    worker::Channel& peer = x_peers[static_cast<std::size_t>(rank)];
    wait_readable(peer.fd(), rank);
    auto packet = peer.receive();
    if (!packet || packet->descriptors.size() != 1) fail(fmt::format("judge {} is gone", rank));
    slot = std::move(packet->descriptors.front());
  }
  return all;
}

}  // namespace pkb::judge
