// SPDX-License-Identifier: Apache-2.0
#include "harness/candidate/compiler_view.h"

namespace pkb::candidate {

std::vector<std::string> confined(const CompilerView& view, const sandbox::Means& means) {
  constexpr std::uint64_t kTmpBytes = 1 << 30;
  std::vector<std::string> shown = {"--ro-bind", view.toolkit.string(), view.toolkit.string()};
  for (const auto& [here, there] : view.read_only) shown.insert(shown.end(), {"--ro-bind", here.string(), there});
  shown.insert(shown.end(), {"--bind", view.output.first.string(), view.output.second});
  std::vector<std::string> line = sandbox::walls(
      means, {.system = sandbox::System::compilers, .tmp_bytes = kTmpBytes, .shown = std::move(shown)});
  line.insert(line.end(), {"--seccomp", "3", "--chdir", view.folder, "--"});
  return line;
}

}  // namespace pkb::candidate
