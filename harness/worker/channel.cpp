// SPDX-License-Identifier: Apache-2.0
#include "harness/worker/channel.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <cerrno>
#include <cstring>

#include "harness/error/error.h"
#include "harness/worker/protocol.h"

namespace pkb::worker {
namespace {

constexpr std::size_t kMostDescriptors = 253;  // the kernel's SCM_MAX_FD

/// Room for one control message; aligned as CMSG_DATA demands.
struct Control {
  alignas(cmsghdr) char bytes[CMSG_SPACE(kMostDescriptors * sizeof(int))];
};

[[noreturn]] void fail(const char* action) {
  throw EnvironmentError({.where = "control socket",
                          .fault = std::string("cannot ") + action + ": " + std::strerror(errno),
                          .remedy = {}});
}

}  // namespace

std::pair<Channel, Channel> Channel::pair() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) fail("create");
  return {Channel(FileDescriptor(ends[0])), Channel(FileDescriptor(ends[1]))};
}

bool Channel::send(std::string_view bytes, std::span<const int> descriptors) {
  iovec part{const_cast<char*>(bytes.data()), bytes.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  Control control;
  if (!descriptors.empty()) {
    if (descriptors.size() > kMostDescriptors) throw ProtocolError("too many descriptors for a packet");
    message.msg_control = control.bytes;
    message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(header), descriptors.data(), descriptors.size_bytes());
  }
  for (;;) {
    if (::sendmsg(x_socket.get(), &message, MSG_NOSIGNAL) >= 0) return true;
    if (errno == EINTR) continue;
    if (errno == EPIPE || errno == ECONNRESET) return false;
    fail("send");
  }
}

std::optional<Packet> Channel::receive() {
  Packet packet;
  packet.bytes.resize(kLongestPacket);
  iovec part{packet.bytes.data(), packet.bytes.size()};
  Control control;
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes;
  message.msg_controllen = sizeof control.bytes;
  ssize_t length;
  while ((length = ::recvmsg(x_socket.get(), &message, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR) continue;
  if (length < 0 && errno != ECONNRESET) fail("receive");
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); length >= 0 && header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof fd);
      packet.descriptors.emplace_back(fd);
    }
  }
  if (length <= 0) return std::nullopt;
  if ((message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) throw ProtocolError("longer than a packet");
  packet.bytes.resize(static_cast<std::size_t>(length));
  return packet;
}

}  // namespace pkb::worker
