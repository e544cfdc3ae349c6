// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/shared_line.h"

#include <fcntl.h>

namespace pkb::judge {

SharedLine share_line(DescriptorExchange& exchange) {
  const auto memory = device::virtual_memory();
  // Every rank offers one, since descriptors travel from all to all; the others' end here.
  const device::Segment mine = memory->create(sizeof(timing::StartLine));
  FileDescriptor first = std::move(exchange.all_gather(mine.fd()).front());
  FileDescriptor kept(::fcntl(first.get(), F_DUPFD_CLOEXEC, 0));
  return SharedLine(memory->import(std::move(first), sizeof(timing::StartLine)), std::move(kept));
}

}  // namespace pkb::judge
