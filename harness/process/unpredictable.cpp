// SPDX-License-Identifier: Apache-2.0
#include "harness/process/unpredictable.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "harness/error/error.h"

namespace pkb::process {

std::uint64_t unpredictable() {
  std::uint64_t bits = 0;
  if (::getentropy(&bits, sizeof bits) != 0)
    throw EnvironmentError({.where = "random numbers", .fault = std::strerror(errno), .remedy = {}});
  return bits;
}

}  // namespace pkb::process
