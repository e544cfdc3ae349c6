// SPDX-License-Identifier: Apache-2.0
#include "harness/process/scheduling.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace pkb::process {

std::chrono::nanoseconds kept_from_processor(pid_t process) {
  std::chrono::nanoseconds longest{0};
  std::error_code gone;  // threads and processes may end meanwhile
  for (const auto& thread :
       std::filesystem::directory_iterator(fmt::format("/proc/{}/task", process), gone)) {
    std::int64_t ran = 0, waited = 0;
    if (std::ifstream(thread.path() / "schedstat") >> ran >> waited)
      longest = std::max(longest, std::chrono::nanoseconds(waited));
    std::ifstream children(thread.path() / "children");
    for (pid_t child = 0; children >> child;) longest = std::max(longest, kept_from_processor(child));
  }
  return longest;
}

}  // namespace pkb::process
