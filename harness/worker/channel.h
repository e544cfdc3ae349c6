// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "harness/process/file_descriptor.h"

namespace pkb::worker {

/// A packet and the descriptors that came with it.
struct Packet {
  std::string bytes;
  std::vector<FileDescriptor> descriptors;
};

/// One end of a SOCK_SEQPACKET socket between two processes.
class Channel {
 public:
  Channel() = default;
  explicit Channel(FileDescriptor socket) : x_socket(std::move(socket)) {}
  /// Two connected ends, both closed on exec.
  static std::pair<Channel, Channel> pair();

  int fd() const { return x_socket.get(); }
  bool is_open() const { return static_cast<bool>(x_socket); }
  void close() { x_socket.reset(); }

  /// False when the other end is gone. @throws EnvironmentError for other failures.
  bool send(std::string_view bytes, std::span<const int> descriptors = {});
  /// Waits for a packet; nothing when the other end is gone. Descriptors are closed on exec.
  /// @throws ProtocolError for a packet that is too long or has more than 253 descriptors.
  std::optional<Packet> receive();

 private:
  FileDescriptor x_socket;
};

}  // namespace pkb::worker
