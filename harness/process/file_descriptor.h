// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <utility>

namespace pkb {

/// Owns an open file descriptor; -1 is none.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) : x_fd(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : x_fd(std::exchange(other.x_fd, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(x_fd, other.x_fd);
    return *this;
  }
  ~FileDescriptor() { reset(); }

  int get() const { return x_fd; }
  explicit operator bool() const { return x_fd >= 0; }
  int release() { return std::exchange(x_fd, -1); }
  void reset() {
    if (x_fd >= 0) ::close(std::exchange(x_fd, -1));
  }

 private:
  int x_fd = -1;
};

}  // namespace pkb
