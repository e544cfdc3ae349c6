// SPDX-License-Identifier: Apache-2.0
#include "harness/process/memory_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace pkb::process {

FileDescriptor memory_file(std::size_t bytes) {
  FileDescriptor file(::memfd_create("pkb-device-memory", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  const bool sealable = static_cast<bool>(file);
  if (!sealable) file = FileDescriptor(::open("/dev/shm", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (!file || ::ftruncate(file.get(), static_cast<off_t>(bytes)) != 0) return {};
  // A process that shrank the file would make those who share it die of SIGBUS.
  if (sealable && ::fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) return {};
  return file;
}

}  // namespace pkb::process
